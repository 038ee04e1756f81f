"""The answers of the page that come from a running scheduler.

Every answer is decoded and encoded again in the forms of `debug_forms`: nothing is forwarded as it
came, and the browser chooses no path.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar

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
)
from policysched.serving import http_server, query_numbers

_FORM = 1
_RECORDS = 20
"""Number of attempts that the view of a pod shows."""
_MAX_TEXT_CHARACTERS = 512
_EXPLAIN_TURNS = 3
_POD_KEY = re.compile(r"[^/\s]+/[^/\s]+")
_BAD_GATEWAY, _BAD_REQUEST, _NOT_FOUND = 502, 400, 404

MakeAnswer: TypeAlias = Callable[[http_server.QueryParameters], Awaitable[Any]]
_Document = TypeVar("_Document")


class LiveAnswers:
    """Answers about one scheduler."""

    def __init__(
        self, scheduler: scheduler_pages.SchedulerPages, title: str, *, has_listing: bool
    ) -> None:
        """Ask `scheduler`; with a listing, its own answers about nodes, pods and names are used."""
        self._scheduler = scheduler
        self._title = title
        self._has_listing = has_listing
        self._nodes: debug_forms.NodeColumnsForm | None = None
        self._nodes_generation = 0

    def make_pages(self, root: str) -> dict[str, http_server.MakePage]:
        """Return the pages, keyed by their path below `root`."""
        pages = {
            "status": _make_page(self._make_status),
            "decisions": _make_page(self._make_decisions, "after", "wait"),
            "records": _make_page(self._make_records, "pod"),
            "queue": _make_page(lambda _: self._read_queue()),
            "versions": _make_page(lambda _: self._read_versions()),
            "policies": _make_page(self._make_policies),
        }
        if not self._has_listing:
            pages |= {
                "cluster": _make_page(self._make_cluster, "since"),
                "node": _make_page(self._make_node, "name"),
                "find": _make_page(self._make_search, "text"),
                "explain": _make_page(self._make_explanation, "pod"),
            }
        return {f"{root}{name}": page for name, page in pages.items()}

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
            raise scheduler_pages.SchedulerAnswerError(
                f"this scheduler is older or newer than the page: its {path} has another form",
                is_page_missing=True,
            ) from error

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
            "generation": 1 if self._has_listing else found.generation,
            "nodes": found.nodes,
            "placed": found.placed,
            "pending": sum(found.pending.values()),
            "profiles": found.profiles,
            "policies": [found.origin] if found.hash else [],
            "hash": found.hash,
            "decisions": found.decisions,
            "problem": "",
            "hasListing": self._has_listing,
            "scheduler": found,
        }

    async def _make_decisions(self, query: http_server.QueryParameters) -> debug_forms.RowsDocument:
        after = query_numbers.parse_count(query, "after")
        wait_seconds = query_numbers.parse_count(
            query, "wait", most=decision_rows.MOST_WAIT_SECONDS
        )
        asked = {"form": decision_rows.FORM, "after": str(after), "wait": str(wait_seconds)}
        return await self._read(decision_page.PATH, debug_forms.RowsDocument, asked, wait_seconds)

    async def _make_records(self, query: http_server.QueryParameters) -> dict[str, Any]:
        """Return the kept records about one pod, newest first, and its place in the queue."""
        pod = _parse_text(query, "pod")
        if not _POD_KEY.fullmatch(pod):
            raise query_numbers.ParameterError("the parameter `pod` must be NAMESPACE/NAME")
        asked = {"pod": pod, "limit": str(_RECORDS)}
        body = await self._scheduler.read_body(decision_page.PATH, asked)
        records = decision_source.parse_decisions(body, decision_page.PATH)
        return {"pod": pod, "records": [each for each in records if each["pod"] == pod]}

    async def _read_queue(self) -> debug_forms.QueueDocument:
        return await self._read(
            debug_forms.QUEUE_PATH,
            debug_forms.QueueDocument,
            {"limit": str(queue_page.MOST_PODS)},
        )

    async def _read_versions(self) -> debug_forms.VersionsDocument:
        return await self._read(debug_forms.VERSIONS_PATH, debug_forms.VersionsDocument)

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
        return await self._read(
            debug_forms.NODE_PATH, debug_forms.NodeDocument, {"name": _parse_text(query, "name")}
        )

    async def _make_explanation(
        self, query: http_server.QueryParameters
    ) -> debug_forms.ExplainDocument:
        """Return the verdicts about a pod that waits; wait for a turn, because others ask too."""
        asked = {"pod": _parse_text(query, "pod")}
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
        """Return waiting pods, nodes and rules; other pods are found by their whole name."""
        text = _parse_text(query, "text")
        waiting, _, rules = await asyncio.gather(
            self._read_queue(), self._read_map(), self._read_rules()
        )
        folded = text.casefold()
        pods = name_matches.find_matches([each.pod for each in waiting.pods], folded)
        if _POD_KEY.fullmatch(text) and text not in pods:
            pods.append(text)
        names = {rule.name for profile in rules.profiles for rule in profile.rules}
        nodes = [] if self._nodes is None else self._nodes.names
        return {
            "pods": pods,
            "nodes": name_matches.find_matches(nodes, folded),
            "rules": name_matches.find_matches(sorted(names), folded),
        }


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
    "hasListing": False,
    "scheduler": None,
}
"""The status of a scheduler without /debug/status."""


def _make_page(make: MakeAnswer, *parameters: str) -> http_server.MakePage:
    """Return the page of an answer that knows these `parameters`."""

    async def make_page(query: http_server.QueryParameters) -> http_server.HttpPage:
        try:
            query_numbers.refuse_unknown(query, parameters)
            return _make_json_answer(await make(query))
        except query_numbers.ParameterError as error:
            return _make_json_answer({"error": str(error)}, _BAD_REQUEST)
        except scheduler_pages.SchedulerAnswerError as error:
            is_gone = error.status == debug_client.GONE
            return _make_json_answer({"error": str(error)}, _NOT_FOUND if is_gone else _BAD_GATEWAY)
        except errors.InputError as error:
            return _make_json_answer({"error": str(error)}, _NOT_FOUND)

    return make_page


def _make_json_answer(answer: object, status: int = debug_client.OK) -> http_server.HttpPage:
    return http_server.HttpPage(
        msgspec.json.encode(answer), http_server.JSON, status, is_compressed=True
    )


def _parse_text(query: http_server.QueryParameters, name: str) -> str:
    text = query.get_one(name)
    if not 0 < len(text) <= _MAX_TEXT_CHARACTERS:
        raise query_numbers.ParameterError(f"the parameter `{name}` is missing or too long")
    return text
