"""The paths below `/api/` that the page asks for data, each with the parameters that it knows.

All answers are JSON. They are made one after the other in one thread, because a decider may be used
by only one thread at a time; meanwhile the event loop serves files.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

import policysched
from policysched import clock as clocks
from policysched import errors
from policysched.page import (
    cluster_page,
    node_page,
    page_source,
    pending_page,
    pod_page,
    policies_page,
)
from policysched.serving import http_server

ROOT = "/api/"
_FORM = 1
"""Increases when an answer changes so that an older page cannot read it."""
_MOST_DECISIONS = 200
_MAX_TEXT_CHARACTERS = 512
"""Limit of a parameter; names of Kubernetes have at most 253 characters."""
_MAX_BODY_BYTES = 4096

Parameters: TypeAlias = Mapping[str, str]
MakeAnswer: TypeAlias = Callable[[Parameters], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class TextForms:
    """Functions of the command line that format a report as its text, so that both say the same.

    Attributes:
        format_pod: formats the report of `explain pod`.
    """

    format_pod: Callable[[Mapping[str, Any]], str]


@dataclasses.dataclass(frozen=True, slots=True)
class _Route:
    """How an answer is made: the function, and the names of its required and other parameters."""

    make: MakeAnswer
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


class PageApi:
    """Answers the requests of the page about one source."""

    def __init__(
        self, source: page_source.PageSource, texts: TextForms, clock: clocks.Clock
    ) -> None:
        """Answer about `source`."""
        self._source = source
        self._texts = texts
        self._clock = clock
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "page")
        self._routes = {
            "status": _Route(self._make_status),
            "cluster": _Route(self._make_cluster, takes=("since",)),
            "node": _Route(self._make_node, needs=("name",)),
            "pending": _Route(self._make_pending),
            "decisions": _Route(self._make_decisions, takes=("after",)),
            "explain": _Route(self._make_pod, needs=("pod",)),
            "compare": _Route(self._make_pod_node, needs=("pod", "node")),
            "study": _Route(self._make_study, needs=("pod",)),
            "policies": _Route(self._make_policies),
            "find": _Route(self._make_search, needs=("text",)),
            "text": _Route(self._make_text, needs=("pod",)),
        }

    def make_pages(self) -> dict[str, http_server.MakePage]:
        """Return the pages, keyed by path."""
        return {f"{ROOT}{name}": self._bind(route) for name, route in self._routes.items()}

    def make_posts(self) -> http_server.PostRoutes:
        """Return the only request that changes something: a step of the demo."""
        return http_server.PostRoutes({f"{ROOT}step": self._take_step}, _MAX_BODY_BYTES)

    def close(self) -> None:
        """End the thread; answers in progress are dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _bind(self, route: _Route) -> http_server.MakePage:
        async def make_page(query: http_server.QueryParameters) -> http_server.HttpPage:
            given = _read_parameters(query, route)
            if isinstance(given, http_server.HttpPage):
                return given
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, _answer, route.make, given)

        return make_page

    async def _take_step(self, body: bytes) -> http_server.HttpPage:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._thread, _answer, self._step_and_report, {"name": body.decode(errors="replace")}
        )

    # --- answers ----------------------------------------------------------------------------------

    def _make_status(self, _: Parameters) -> dict[str, Any]:
        source = self._source
        view = source.get_view()
        cluster = view.decider.cluster
        return {
            "form": _FORM,
            "version": policysched.__version__,
            "kind": source.kind,
            "title": source.title,
            "steps": dict(source.steps),
            "generation": view.generation,
            "nodes": cluster.cache.nodes.alive_count,
            "placed": len(cluster.placed),
            "pending": len(cluster.pending),
            "profiles": list(view.decider.profiles.by_name),
            "policies": [each.name for each in view.policies],
            "hash": view.decider.policy_set.content_hash,
            "decisions": view.decisions[-1].number if view.decisions else 0,
        }

    def _make_cluster(self, given: Parameters) -> dict[str, Any]:
        since = _parse_count(given, "since")
        return cluster_page.make_cluster_page(self._source.get_view(), since)

    def _make_node(self, given: Parameters) -> dict[str, Any]:
        return node_page.make_node_page(self._source.get_view(), given["name"])

    def _make_pending(self, _: Parameters) -> dict[str, Any]:
        return pending_page.make_pending_page(self._source.get_view(), self._clock)

    def _make_decisions(self, given: Parameters) -> dict[str, Any]:
        after = _parse_count(given, "after")
        view = self._source.get_view()
        new = [each for each in view.decisions if each.number > after]
        return {
            "next": new[-1].number if new else after,
            "missed": max(0, len(new) - _MOST_DECISIONS),
            "rows": [dataclasses.asdict(each) for each in new[-_MOST_DECISIONS:]],
        }

    def _make_pod(self, given: Parameters) -> dict[str, Any]:
        view = self._source.get_view()
        return {"generation": view.generation, **pod_page.make_pod_page(view.decider, given["pod"])}

    def _make_pod_node(self, given: Parameters) -> dict[str, Any]:
        decider = self._source.get_view().decider
        if decider.cluster.cache.get_node(given["node"]) is None:
            raise LookupError(given["node"])
        return pod_page.make_pod_node_page(decider, given["pod"], given["node"])

    def _make_study(self, given: Parameters) -> dict[str, Any]:
        decider = self._source.get_view().decider
        return pod_page.make_study_page(decider, given["pod"], self._clock)

    def _make_policies(self, _: Parameters) -> dict[str, Any]:
        return policies_page.make_policies_page(self._source.get_view())

    def _make_search(self, given: Parameters) -> dict[str, Any]:
        return pending_page.make_search_page(self._source.get_view(), given["text"])

    def _make_text(self, given: Parameters) -> dict[str, Any]:
        decider = self._source.get_view().decider
        report = pod_page.make_pod_report(decider, given["pod"], self._clock)
        return {"text": self._texts.format_pod(report)}

    def _step_and_report(self, given: Parameters) -> dict[str, Any]:
        self._source.take_step(given["name"])
        return self._make_status({})


def _answer(make: MakeAnswer, given: Parameters) -> http_server.HttpPage:
    """Return an answer, or an error that the page shows."""
    try:
        return _make_json_answer(make(given))
    except LookupError as error:
        return _make_json_answer({"error": f"`{error.args[0]}` does not exist"}, 404)
    except errors.InputError as error:
        return _make_json_answer({"error": str(error)}, 404)
    except ValueError as error:
        return _make_json_answer({"error": str(error)}, 400)


def _make_json_answer(answer: object, status: int = 200) -> http_server.HttpPage:
    return http_server.HttpPage(orjson.dumps(answer), http_server.JSON, status, is_compressed=True)


def _read_parameters(
    query: http_server.QueryParameters, route: _Route
) -> dict[str, str] | http_server.HttpPage:
    """Return the parameters, or the answer about the first one that is wrong."""
    known = (*route.needs, *route.takes)
    unknown = [name for name in query.list_names() if name not in known]
    if unknown:
        return _make_json_answer({"error": f"the parameter `{unknown[0]}` is unknown"}, 400)
    given = {name: query.get_one(name) for name in known if name in query}
    for name in route.needs:
        if not given.get(name):
            return _make_json_answer({"error": f"the parameter `{name}` is missing"}, 400)
    for name, value in given.items():
        if len(value) > _MAX_TEXT_CHARACTERS:
            return _make_json_answer({"error": f"the parameter `{name}` is too long"}, 400)
    return given


def _parse_count(given: Parameters, name: str) -> int:
    """Return a parameter as a number that is not negative; 0 if it is absent.

    Raises:
        ValueError: it is no such number.
    """
    text = given.get(name, "0")
    if not text.isascii() or not text.isdigit() or len(text) > len(str(2**53)):
        raise ValueError(f"the parameter `{name}` is not a number: `{text}`")
    return int(text)
