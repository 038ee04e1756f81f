"""The page follows a process that is no scheduler, or a scheduler that somebody has taken over.

Whatever it sends becomes an answer, or one line that says what is wrong; `ui` goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pathlib
from collections.abc import AsyncIterator, Mapping

import pytest

from policysched import errors
from policysched.observability import debug_client
from policysched.observability.live_page import live_answers, scheduler_pages
from policysched.serving import http_server
from tests.kube.asynchronous import asynchronous
from tests.observability import page_answers
from tests.page import hostile_answers, running_scheduler
from tests.realcluster import process
from tests.scheduler import fakes

QUESTIONS: dict[str, dict[str, str]] = {
    "status": {},
    "decisions": {"after": "0"},
    "records": {"pod": "default/late"},
    "queue": {},
    "versions": {},
    "policies": {},
    "cluster": {},
    "node": {"name": "n1"},
    "find": {"text": "a"},
    "explain": {"pod": "default/late"},
}
"""Every question of the page about a scheduler, with parameters."""


class _Scheduler:
    """Sends what it has been told to send; see `scheduler_pages.SchedulerPages`.

    Attributes:
        bodies: what it sends, keyed by path and, for decisions, by their form.
    """

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        self.bodies = dict(bodies)

    async def read_body(self, path: str, query: Mapping[str, str], _: int = 0) -> bytes:
        """Return what is sent as the page at `path`."""
        return self.bodies[_name_page(path, query)]


def _name_page(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?form={query['form']}" if "form" in query else path


class _Recorder:
    """Reads the pages of a scheduler, and keeps what it sends."""

    def __init__(self, pages: Mapping[str, http_server.MakePage]) -> None:
        self.pages = scheduler_pages.OwnPages(pages)
        self.bodies: dict[str, bytes] = {}

    async def read_body(self, path: str, query: Mapping[str, str], _: int = 0) -> bytes:
        """Return the page at `path`."""
        body = await self.pages.read_body(path, query)
        self.bodies[_name_page(path, query)] = body
        return body


async def _ask(
    scheduler: scheduler_pages.SchedulerPages, name: str, /, **parameters: str
) -> http_server.HttpPage:
    live = live_answers.LiveAnswers(scheduler, "the scheduler")
    return await page_answers.ask_page(live.make_pages("/api/")[f"/api/{name}"], **parameters)


def _check_answer(page: http_server.HttpPage) -> None:
    """Check that the page is an answer, or one short line about an error."""
    document = json.loads(page.body, parse_constant=pytest.fail)
    if page.status == 200:
        return
    assert page.status in (404, 502)
    assert "\n" not in document["error"]
    assert len(document["error"]) < 300


@pytest.fixture(scope="module")
def bodies() -> dict[str, bytes]:
    """What a real scheduler sends, keyed by page."""
    with running_scheduler.RunningScheduler() as made:

        async def add_node(world: fakes.World) -> None:
            world.add_node("n1", pods=1)

        made.do(add_node)
        made.schedule("a", "late")
        made.change(running_scheduler.enter_stage)
        recorder = _Recorder(made.joined.pages)

        async def ask(_: fakes.World) -> None:
            for name, parameters in QUESTIONS.items():
                page = await _ask(recorder, name, **parameters)
                assert page.status == 200, page.body

        made.do(ask)
    return recorder.bodies


@pytest.mark.parametrize("body", hostile_answers.BODIES.values(), ids=hostile_answers.BODIES)
@asynchronous
async def test_what_is_no_page_is_one_line(bodies: dict[str, bytes], body: bytes) -> None:
    """For every question, and the line names the page."""
    for name, parameters in QUESTIONS.items():
        page = await _ask(_Scheduler(dict.fromkeys(bodies, body)), name, **parameters)
        _check_answer(page)
        text = json.loads(page.body)["problem" if name == "status" else "error"]
        assert text.startswith("this scheduler is older or newer than the page: its /debug/"), name


@pytest.mark.parametrize("value", hostile_answers.ANYTHING, ids=lambda value: repr(value)[:20])
@asynchronous
async def test_any_value_in_any_field_is_an_answer_or_one_line(
    bodies: dict[str, bytes], value: object
) -> None:
    """A type that does not fit is refused, and whatever fits is passed on."""
    asked = 0
    for path, body in bodies.items():
        document = json.loads(body)
        for place in hostile_answers.list_places(document):
            changed = hostile_answers.replace_value(document, place, value)
            scheduler = _Scheduler({**bodies, path: json.dumps(changed).encode()})
            for name, parameters in QUESTIONS.items():
                if name in _READERS[path]:
                    _check_answer(await _ask(scheduler, name, **parameters))
                    asked += 1
    assert asked > 100


_READERS = {
    "/debug/status": ("status",),
    "/debug/decisions?form=rows": ("decisions",),
    "/debug/decisions": ("records",),
    "/debug/queue": ("queue", "find"),
    "/debug/versions": ("versions", "policies"),
    "/debug/rules": ("policies", "find"),
    "/debug/cluster": ("cluster", "find"),
    "/debug/node": ("node",),
    "/debug/explain": ("explain",),
}
"""The questions for which each page is read."""


@asynchronous
async def test_records_of_many_megabytes_are_not_checked(bodies: dict[str, bytes]) -> None:
    """The check would take minutes."""
    document = json.loads(bodies["/debug/decisions"])
    document["decisions"][0]["message"] = "x" * (5 << 20)
    scheduler = _Scheduler({**bodies, "/debug/decisions": json.dumps(document).encode()})
    page = await _ask(scheduler, "records", pod="default/late")
    assert page.status == 502
    assert b"its /debug/decisions has another form" in page.body


@contextlib.asynccontextmanager
async def _sending(*parts: bytes) -> AsyncIterator[str]:
    """Serve a head and then the parts again and again, until the client has enough."""
    closed: list[asyncio.Event] = []

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended = asyncio.Event()
        closed.append(ended)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.writelines(parts)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()
        ended.set()

    port = process.free_port()
    async with await asyncio.start_server(send, "127.0.0.1", port):
        yield f"http://127.0.0.1:{port}"
        for each in closed:
            await each.wait()


@asynchronous
async def test_a_body_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size, and, however slowly it comes, by its time; so no thread waits for ever."""
    for limit, value, text in (
        ("_MAX_ANSWER_BYTES", 100_000, "the answer has more than 100,000 bytes"),
        ("_BODY_SECONDS", 0.01, "the answer takes more than 0.01 s"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(debug_client, limit, value)
            async with _sending(b"[") as url:
                client = debug_client.DebugClient(url, debug_client.DebugServerCredentials())
                with pytest.raises(errors.RemoteError, match=text):
                    await asyncio.to_thread(client.ask, "/debug/queue", {})


def test_a_redirect_gets_no_token(tmp_path: pathlib.Path) -> None:
    """The other server is not even asked."""
    token = tmp_path / "token"
    token.write_text(running_scheduler.TOKEN)
    with running_scheduler.RunningScheduler() as other, running_scheduler.RunningScheduler() as own:
        page = http_server.HttpPage(b"", status=302, headers={"Location": f"{other.url}/debug/"})
        own.change(lambda joined: joined.pages.update({"/debug/queue": lambda _: page}))
        access = debug_client.DebugServerCredentials(str(token))
        answer = debug_client.DebugClient(own.url, access).ask("/debug/queue", {})
        assert (answer.status, own.guard.asked, other.guard.asked) == (302, 1, 0)
