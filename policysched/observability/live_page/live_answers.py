"""The answers of the page that come from a running scheduler.

Every answer is decoded and encoded again in the forms of `debug_forms`: nothing is forwarded as it
came, and the browser chooses no path.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from policysched import errors
from policysched.lang.words import syntax_words
from policysched.observability import debug_client, decision_page, decision_source
from policysched.observability.live_page import (
    debug_forms,
    decision_rows,
    explain_page,
    name_matches,
    queue_page,
    scheduler_pages,
    version_forms,
)
from policysched.serving import http_server, json_answers, query_parameters

_FORM = 1
_RECORDS = 20
"""Number of attempts that the view of a pod shows."""
_MAX_RECORD_BYTES = 1 << 22
"""Limit of these records, because the check of a megabyte takes a second."""
_EXPLAIN_TURNS = 3
_POD_KEY = re.compile(r"[^/\s]+/[^/\s]+")

_Document = TypeVar("_Document")


class Listing(msgspec.Struct, frozen=True, rename="camel"):
    """A listing of the cluster beside its scheduler.

    Attributes:
        hash: the version of the policies that decide about it; "" without policies.
        at: time of the listing, ISO 8601.
    """

    hash: str
    at: str


class LiveAnswers:
    """Answers about one scheduler."""

    def __init__(
        self,
        scheduler: scheduler_pages.SchedulerPages,
        title: str,
        *,
        listing: Listing | None = None,
    ) -> None:
        """Ask `scheduler`; with a listing, its own answers about nodes, pods and names are used."""
        self._scheduler = scheduler
        self._title = title
        self._listing = listing
        self._nodes: debug_forms.NodeColumnsForm | None = None
        self._nodes_generation = 0

    def make_pages(self, root: str) -> dict[str, http_server.MakePage]:
        """Return the pages, keyed by their path below `root`."""
        route = json_answers.Route
        routes = {
            "status": route(self._make_status),
            "decisions": route(self._make_decisions, takes=("after", "wait")),
            "records": route(self._make_records, needs=("pod",)),
            "queue": route(lambda _: self._read_queue()),
            "versions": route(lambda _: self._read_versions()),
            "policies": route(self._make_policies),
            "now": route(self._make_explanation, needs=("pod",)),
        }
        if self._listing is None:
            routes |= {
                "cluster": route(self._make_cluster, takes=("since",)),
                "node": route(self._make_node, needs=("name",)),
                "find": route(self._make_search, needs=("text",)),
                "explain": route(self._make_explanation, needs=("pod",)),
            }
        return {f"{root}{name}": json_answers.bind_route(each) for name, each in routes.items()}

    async def _read(
        self,
        path: str,
        form: type[_Document],
        query: Mapping[str, str] | None = None,
        wait_seconds: int = 0,
    ) -> _Document:
        """Return the scheduler's page at `path` in its form."""
        body = await self._scheduler.read_body(path, query or {}, wait_seconds)
        try:
            return msgspec.json.decode(body, type=form)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _make_form_error(path) from error

    async def _make_status(self, _: http_server.QueryParameters) -> dict[str, Any]:
        fixed = {"form": _FORM, "kind": "scheduler", "title": self._title, "steps": {}}
        try:
            found = await self._read(debug_forms.STATUS_PATH, debug_forms.StatusDocument)
        except scheduler_pages.SchedulerAnswerError as error:
            if not error.is_page_missing:
                raise
            return {**fixed, **_UNKNOWN_STATUS, "problem": str(error)}
        return {
            **fixed,
            "version": found.version,
            "generation": found.generation if self._listing is None else 1,
            "nodes": found.nodes,
            "placed": found.placed,
            "pending": sum(found.pending.values()),
            "profiles": found.profiles,
            "policies": [found.origin] if found.hash else [],
            "hash": found.hash,
            "decisions": found.decisions,
            "problem": "",
            "listing": self._listing,
            "scheduler": found,
        }

    async def _make_decisions(self, query: http_server.QueryParameters) -> debug_forms.RowsDocument:
        after = query_parameters.parse_count(query, "after")
        wait_seconds = query_parameters.parse_count(
            query, "wait", most=decision_rows.MOST_WAIT_SECONDS
        )
        return await self._read_decisions(after, wait_seconds)

    async def _read_decisions(
        self, after: int = 0, wait_seconds: int = 0
    ) -> debug_forms.RowsDocument:
        asked = {"form": decision_rows.FORM, "after": str(after), "wait": str(wait_seconds)}
        return await self._read(decision_page.PATH, debug_forms.RowsDocument, asked, wait_seconds)

    async def _make_records(self, query: http_server.QueryParameters) -> dict[str, Any]:
        """Return the kept records about one pod, newest first, and its place in the queue."""
        pod = query.get_one("pod")
        if not _POD_KEY.fullmatch(pod):
            raise query_parameters.ParameterError("the parameter `pod` must be NAMESPACE/NAME")
        asked = {"pod": pod, "limit": str(_RECORDS)}
        body = await self._scheduler.read_body(decision_page.PATH, asked)
        if len(body) > _MAX_RECORD_BYTES:
            raise _make_form_error(decision_page.PATH)
        try:
            records = await asyncio.to_thread(
                decision_source.parse_decisions, body, decision_page.PATH
            )
        except errors.InputError as error:
            raise _make_form_error(decision_page.PATH) from error
        return {"pod": pod, "records": [each for each in records if each["pod"] == pod]}

    async def _read_queue(self) -> debug_forms.QueueDocument:
        return await self._read(
            debug_forms.QUEUE_PATH,
            debug_forms.QueueDocument,
            {"limit": str(queue_page.MOST_PODS)},
        )

    async def _read_versions(self) -> version_forms.VersionsDocument:
        return await self._read(debug_forms.VERSIONS_PATH, version_forms.VersionsDocument)

    async def _read_rules(self) -> debug_forms.RulesDocument:
        return await self._read(debug_forms.RULES_PATH, debug_forms.RulesDocument)

    async def _make_policies(self, _: http_server.QueryParameters) -> dict[str, Any]:
        """Return the texts in use, and the rules with what they have rejected."""
        versions, rules = await asyncio.gather(self._read_versions(), self._read_rules())
        in_use = next((each for each in versions.versions if each.in_use), None)
        return {
            "hash": rules.hash,
            "keywords": syntax_words.list_keywords(),
            "since": rules.since,
            "files": [] if in_use is None else in_use.texts,
            "findings": [],
            "warnings": versions.warnings,
            "profiles": rules.profiles,
        }

    async def _make_cluster(self, _: http_server.QueryParameters) -> dict[str, Any]:
        """Return all columns; those that the scheduler did not send again are kept here."""
        found = await self._read_map()
        nodes = self._nodes
        if nodes is None:
            raise scheduler_pages.SchedulerAnswerError("the scheduler sent no nodes")
        return {
            "generation": found.generation,
            "names": nodes.names,
            "state": nodes.state,
            "taints": nodes.taints,
            "labels": nodes.labels,
            "pods": found.usage.pods,
            "resources": found.usage.resources,
            "metrics": found.usage.metrics,
        }

    async def _read_map(self) -> debug_forms.MapDocument:
        known = {} if self._nodes is None else {"since": str(self._nodes_generation)}
        found = await self._read(debug_forms.CLUSTER_PATH, debug_forms.MapDocument, known)
        if found.nodes is not None:
            self._nodes, self._nodes_generation = found.nodes, found.generation
        return found

    async def _make_node(self, query: http_server.QueryParameters) -> debug_forms.NodeDocument:
        asked = {"name": query.get_one("name")}
        with _name_what_is_gone(asked["name"]):
            return await self._read(debug_forms.NODE_PATH, debug_forms.NodeDocument, asked)

    async def _make_explanation(
        self, query: http_server.QueryParameters
    ) -> debug_forms.ExplainDocument:
        """Return the verdicts about a pod that waits; wait for a turn, because others ask too."""
        asked = {"pod": query.get_one("pod")}
        with _name_what_is_gone(asked["pod"]):
            for _ in range(_EXPLAIN_TURNS):
                try:
                    return await self._read_explanation(asked)
                except scheduler_pages.SchedulerAnswerError as error:
                    if error.status != debug_client.TOO_MANY:
                        raise
                await asyncio.sleep(explain_page.PAUSE_SECONDS)
            return await self._read_explanation(asked)

    async def _read_explanation(self, asked: dict[str, str]) -> debug_forms.ExplainDocument:
        return await self._read(debug_forms.EXPLAIN_PATH, debug_forms.ExplainDocument, asked)

    async def _make_search(self, query: http_server.QueryParameters) -> dict[str, Any]:
        """Return waiting and recently decided pods, nodes and rules.

        Other pods are found by their whole name.
        """
        text = query.get_one("text")
        waiting, latest, _, rules = await asyncio.gather(
            self._read_queue(), self._read_decisions(), self._read_map(), self._read_rules()
        )
        matches = name_matches.find_all_matches(
            text,
            pods=dict.fromkeys(
                (
                    *(each.pod for each in waiting.pods),
                    *(each.pod for each in waiting.unserved),
                    *(each.pod for each in latest.rows),
                )
            ),
            nodes=[] if self._nodes is None else self._nodes.names,
            rules=(rule.name for profile in rules.profiles for rule in profile.rules),
        )
        if _POD_KEY.fullmatch(text) and text not in matches["pods"]:
            matches["pods"].append(text)
        return matches


_UNKNOWN_STATUS: dict[str, Any] = {
    "version": "",
    "generation": 0,
    "nodes": 0,
    "placed": 0,
    "pending": None,
    "profiles": [],
    "policies": [],
    "hash": "",
    "decisions": 0,
    "listing": None,
    "scheduler": None,
}
"""The status of a scheduler without /debug/status."""


def _make_form_error(path: str) -> scheduler_pages.SchedulerAnswerError:
    return scheduler_pages.SchedulerAnswerError(
        f"this scheduler is older or newer than the page: its {path} has another form",
        is_page_missing=True,
    )


@contextlib.contextmanager
def _name_what_is_gone(name: str) -> Iterator[None]:
    """Turn the answer that an object is gone into an InputError about its `name`."""
    try:
        yield
    except scheduler_pages.SchedulerAnswerError as error:
        if error.status != debug_client.GONE:
            raise
        raise errors.InputError(f"`{name}`", str(error)) from error
