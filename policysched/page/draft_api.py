"""The paths below `/api/` about policies that the user edits in the page: language and plan."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TypeVar

import msgspec

from policysched import clock as clocks
from policysched.page import draft_language, local_access, page_source, plan_jobs, text_forms
from policysched.serving import http_server, json_answers, query_parameters

_MAX_WAIT_SECONDS = 20
_Question = TypeVar("_Question")


class PlanQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The edited policies to compare with those in use, both keyed by name.

    The page says which policies are in use, because a scheduler that it follows has its own.
    """

    texts: dict[str, str]
    in_use: dict[str, str]


class DraftApi:
    """Answers questions about edited policies; each kind of work has a thread of its own."""

    def __init__(
        self,
        source: page_source.PageSource,
        texts: text_forms.TextForms,
        clock: clocks.Clock,
    ) -> None:
        """Answer about edits of the policies of `source`."""
        self._source = source
        self._texts = texts
        self._language = draft_language.DraftLanguage(clock)
        self._jobs = plan_jobs.PlanJobs(clock)
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "language")

    def make_pages(self) -> dict[str, http_server.MakePage]:
        """Return the pages, keyed by path."""
        plan = json_answers.Route(self._wait_for_plan, needs=("job",), takes=("wait",))
        rows = json_answers.Route(self._list_plan_rows, needs=("job", "group"), takes=("after",))
        text = json_answers.Route(self._make_plan_text, needs=("job", "form"))
        return {
            f"{local_access.DATA_ROOT}plan": json_answers.bind_route(plan),
            f"{local_access.DATA_ROOT}plan-rows": json_answers.bind_route(rows),
            f"{local_access.DATA_ROOT}plan-text": json_answers.bind_route(text),
        }

    def make_posts(self) -> dict[str, http_server.TakePost]:
        """Return the questions that contain policies, keyed by path. They change nothing."""
        return {
            f"{local_access.DATA_ROOT}language": self._take_language_question,
            f"{local_access.DATA_ROOT}plan": self._take_plan_question,
        }

    def close(self) -> None:
        """End the threads; answers in progress are dropped."""
        self._jobs.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    # --- language ---------------------------------------------------------------------------------

    async def _take_language_question(self, body: bytes) -> http_server.HttpPage:
        async def make() -> json_answers.Document:
            question = _read_question(body, draft_language.LanguageQuestion)
            view = self._source.get_view() if self._source.has_cluster else None
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._language.answer, question, view)

        return await json_answers.answer(make)

    # --- plan -------------------------------------------------------------------------------------

    async def _take_plan_question(self, body: bytes) -> http_server.HttpPage:
        async def make() -> json_answers.Document:
            question = _read_question(body, PlanQuestion)
            job = self._jobs.start(self._source.get_view(), question.in_use, question.texts)
            return {"job": job.number}

        return await json_answers.answer(make)

    async def _wait_for_plan(self, given: http_server.QueryParameters) -> json_answers.Document:
        wait_seconds = query_parameters.parse_count(given, "wait", most=_MAX_WAIT_SECONDS)
        job = await self._jobs.wait(query_parameters.parse_count(given, "job"), wait_seconds)
        return job.describe()

    async def _list_plan_rows(self, given: http_server.QueryParameters) -> json_answers.Document:
        job, group, after = (
            query_parameters.parse_count(given, each) for each in ("job", "group", "after")
        )
        return {"rows": self._jobs.get_rows(job, group, after)}

    async def _make_plan_text(self, given: http_server.QueryParameters) -> json_answers.Document:
        report = self._jobs.get_report(query_parameters.parse_count(given, "job"))
        forms = {"text": self._texts.format_plan, "markdown": self._texts.format_plan_markdown}
        return {"text": forms[given.get_one("form")](report)}


def _read_question(body: bytes, kind: type[_Question]) -> _Question:
    """Return the question in a body.

    Raises:
        ValueError: the body is not such a question.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:  # includes ValidationError
        raise ValueError(f"the question is not valid: {error}") from error
