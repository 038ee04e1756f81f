"""The paths below `/api/` that the page asks for data, each with the parameters that it knows.

All answers are JSON. They are made one after the other in one thread, because a decider may be used
by only one thread at a time; meanwhile the event loop serves files.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

import policysched
from policysched import clock as clocks
from policysched.page import local_access, page_source, policies_page, text_forms
from policysched.serving import http_server, json_answers, query_parameters

_FORM = 1
"""Increases when an answer changes so that an older page cannot read it."""
_NO_DECISIONS: json_answers.Document = {"startedAt": "", "next": 0, "missed": 0, "rows": []}

MakeAnswer: TypeAlias = Callable[[http_server.QueryParameters], json_answers.Document]


class PageApi:
    """Answers the requests of the page about one source."""

    def __init__(
        self, source: page_source.PageSource, texts: text_forms.TextForms, clock: clocks.Clock
    ) -> None:
        """Answer about `source`."""
        self._source = source
        self._texts = texts
        self._clock = clock
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "page")
        self._routes = {
            "status": self._make_route(self._make_status),
            "cluster": self._make_route(self._make_cluster, takes=("since",)),
            "node": self._make_route(self._make_node, needs=("name",)),
            "pending": self._make_route(self._make_pending),
            "decisions": self._make_route(self._make_decisions, takes=("after",)),
            "records": self._make_route(self._make_records, needs=("pod",)),
            "explain": self._make_route(self._make_pod, needs=("pod",)),
            "compare": self._make_route(self._make_pod_node, needs=("pod", "node")),
            "study": self._make_route(self._make_study, needs=("pod",)),
            "policies": self._make_route(self._make_policies),
            "rule-effects": self._make_route(self._make_rule_effects),
            "find": self._make_route(self._make_search, needs=("text",)),
            "text": self._make_route(self._make_text, needs=("pod",)),
        }

    def make_pages(self) -> dict[str, http_server.MakePage]:
        """Return the pages, keyed by path."""
        return {
            f"{local_access.DATA_ROOT}{name}": json_answers.bind_route(route)
            for name, route in self._routes.items()
        }

    def make_posts(self) -> dict[str, http_server.TakePost]:
        """Return the only request that changes something, a step of the demo, keyed by path."""
        return {f"{local_access.DATA_ROOT}step": self._take_step}

    def close(self) -> None:
        """End the thread; answers in progress are dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _make_route(
        self, make: MakeAnswer, needs: tuple[str, ...] = (), takes: tuple[str, ...] = ()
    ) -> json_answers.Route:
        async def make_in_thread(
            given: http_server.QueryParameters,
        ) -> json_answers.Document:
            return await asyncio.get_running_loop().run_in_executor(self._thread, make, given)

        return json_answers.Route(make_in_thread, needs, takes)

    async def _take_step(self, body: bytes) -> http_server.HttpPage:
        async def make() -> json_answers.Document:
            name = body.decode(errors="replace")
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._step_and_report, name)

        return await json_answers.answer(make)

    # --- answers ----------------------------------------------------------------------------------

    def _make_status(self, _: http_server.QueryParameters) -> dict[str, Any]:
        return self._describe_status()

    def _describe_status(self) -> dict[str, Any]:
        source = self._source
        view = source.get_view()
        return {
            "form": _FORM,
            "version": policysched.__version__,
            "kind": source.kind,
            "title": source.title,
            "steps": dict(source.steps),
            "generation": view.generation,
            "shows": view.answers.shows,
            **view.answers.make_status(),
            "policies": [each.name for each in view.policies],
            "decisions": 0 if source.decisions is None else source.decisions.count,
        }

    def _make_cluster(self, given: http_server.QueryParameters) -> dict[str, Any]:
        since = query_parameters.parse_count(given, "since")
        view = self._source.get_view()
        if since == view.generation:
            return {"generation": view.generation}
        return {"generation": view.generation, **view.answers.make_map()}

    def _make_node(self, given: http_server.QueryParameters) -> dict[str, Any]:
        return self._source.get_view().answers.make_node(given.get_one("name"))

    def _make_pending(self, _: http_server.QueryParameters) -> dict[str, Any]:
        view = self._source.get_view()
        return {"generation": view.generation, **view.answers.make_pending(self._clock)}

    def _make_decisions(self, given: http_server.QueryParameters) -> json_answers.Document:
        rows, after = self._source.decisions, query_parameters.parse_count(given, "after")
        return _NO_DECISIONS if rows is None else msgspec.Raw(rows.encode_rows(after))

    def _make_records(self, given: http_server.QueryParameters) -> dict[str, Any]:
        rows, pod = self._source.decisions, given.get_one("pod")
        return {"pod": pod, "records": [] if rows is None else rows.make_records(pod)}

    def _make_pod(self, given: http_server.QueryParameters) -> dict[str, Any]:
        view = self._source.get_view()
        explained = view.answers.make_explanation(given.get_one("pod"))
        return {"generation": view.generation, **explained}

    def _make_pod_node(self, given: http_server.QueryParameters) -> dict[str, Any]:
        answers = self._source.get_view().answers
        return answers.make_comparison(given.get_one("pod"), given.get_one("node"))

    def _make_study(self, given: http_server.QueryParameters) -> dict[str, Any]:
        return self._source.get_view().answers.make_study(given.get_one("pod"), self._clock)

    def _make_policies(self, _: http_server.QueryParameters) -> dict[str, Any]:
        view = self._source.get_view()
        files = [policies_page.describe_text(each) for each in view.policies]
        read = self._source.policy_files
        return {
            "files": files,
            "reading": None if read is None else read.describe(),
            **view.answers.make_policies(),
        }

    def _make_rule_effects(self, _: http_server.QueryParameters) -> dict[str, Any]:
        return self._source.get_view().answers.make_rule_effects(self._clock)

    def _make_search(self, given: http_server.QueryParameters) -> dict[str, Any]:
        return self._source.get_view().answers.find_names(given.get_one("text"))

    def _make_text(self, given: http_server.QueryParameters) -> dict[str, Any]:
        answers = self._source.get_view().answers
        forms = {"pods": self._texts.format_pod, "bindings": self._texts.format_binding}
        return {
            "text": forms[answers.shows](answers.make_report(given.get_one("pod"), self._clock))
        }

    def _step_and_report(self, name: str) -> dict[str, Any]:
        self._source.take_step(name)
        return self._describe_status()
