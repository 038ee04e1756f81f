"""List and watch against a server that misbehaves in all the ways servers do."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Sequence

import pytest
from aiohttp import web

from policysched.cluster.objects import objects
from policysched.kube import errors
from policysched.kube.reading import reflector, resources
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import (
    Answer,
    FakeServer,
    json_body,
    line,
    node,
    object_list,
    raw,
    status,
    status_object,
    stream,
)

PATH = resources.NODES.path
GONE = line("ERROR", status_object(410, "Expired", "too old resource version: 5 (9)"))
GONE_WATCH = stream(GONE)


def nodes(*versions: int, list_version: int = 10, continue_token: str = "") -> Answer:
    """Answer with a list of the nodes n1, n2… in these versions."""
    items: list[object] = [node(f"n{version}", version) for version in versions]
    return json_body(object_list(items, str(list_version), continue_token))


def bookmark(version: int) -> bytes:
    """Return the line of a bookmark."""
    return line("BOOKMARK", {"kind": "Node", "metadata": {"resourceVersion": str(version)}})


class Recorder:
    """A sink that writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.upserted = asyncio.Event()

    def replace(self, objects: Sequence[objects.Node], /) -> None:
        """Write down the names."""
        self.calls.append(("replace", " ".join(one.name for one in objects)))

    def upsert(self, obj: objects.Node, /) -> None:
        """Write down name and version."""
        self.calls.append(("upsert", f"{obj.name}@{obj.metadata.resource_version}"))
        self.upserted.set()

    def delete(self, obj: objects.Node, /) -> None:
        """Write down name and version."""
        self.calls.append(("delete", f"{obj.name}@{obj.metadata.resource_version}"))


class Bench:
    """A reflector of nodes between a fake server and a recorder."""

    def __init__(self, server: FakeServer, nodes_reflector: reflector.Reflector[objects.Node]):
        self.server = server
        self.reflector = nodes_reflector
        self.sink: Recorder = nodes_reflector._sink  # type: ignore[assignment]  # made below

    def watched_from(self) -> list[str]:
        """Return the resource versions of all watches so far."""
        return [
            request.query["resourceVersion"]
            for request in self.server.requests
            if "watch" in request.query
        ]

    def lists(self) -> list[dict[str, str]]:
        """Return the queries of all lists so far."""
        return [dict(one.query) for one in self.server.requests if "watch" not in one.query]


@contextlib.asynccontextmanager
async def bench(*answers: Answer, stall_seconds: float = 5.0) -> AsyncIterator[Bench]:
    """Set up a reflector whose requests get these answers."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, *answers)
        yield Bench(
            server,
            reflector.Reflector(
                api,
                resources.NODES,
                Recorder(),
                rng=random.Random(1),
                sleep=server.sleeps,
                stall_seconds=stall_seconds,
            ),
        )


@asynchronous
async def test_list_then_watch() -> None:
    """The sink gets the collection, then every change in order; the watch asks for bookmarks."""
    changes = [
        line("ADDED", node("n3", 11)),
        line("MODIFIED", node("n1", 12)),
        line("DELETED", node("n2", 13)),
    ]
    async with bench(nodes(1, 2), stream(*changes)) as b:
        assert not b.reflector.synced.is_set()
        await b.reflector.list_or_watch_once()
        assert b.reflector.synced.is_set()
        assert b.sink.calls == [
            ("replace", "n1 n2"),
            ("upsert", "n3@11"),
            ("upsert", "n1@12"),
            ("delete", "n2@13"),
        ]
        query = b.server.requests[1].query
        assert query["allowWatchBookmarks"] == "true"
        assert query["resourceVersion"] == "10"
        assert 300 <= int(query["timeoutSeconds"]) <= 600
        assert b.server.sleeps == []


@asynchronous
async def test_pages() -> None:
    """A long list is read page by page and handed over once."""
    answers = [nodes(1, 2, continue_token="c1"), nodes(3, continue_token="c2"), nodes(4)]
    async with bench(*answers) as b:
        await b.reflector.list_once()
        assert b.sink.calls == [("replace", "n1 n2 n3 n4")]
        assert b.lists() == [
            {"limit": "500"},
            {"limit": "500", "continue": "c1"},
            {"limit": "500", "continue": "c2"},
        ]


@asynchronous
async def test_pages_that_expire() -> None:
    """When the next page is gone, the whole list is read at once; the sink sees one list."""
    async with bench(nodes(1, continue_token="c1"), status(410, "Expired"), nodes(1, 2)) as b:
        await b.reflector.list_once()
        assert b.sink.calls == [("replace", "n1 n2")]
        assert b.lists()[2] == {}


@asynchronous
async def test_a_watch_that_ends_is_resumed() -> None:
    """The server ends watches now and then: the next one continues after the last event."""
    async with bench(
        nodes(1), stream(line("MODIFIED", node("n1", 15))), stream(bookmark(20)), stream(GONE)
    ) as b:
        for _ in range(3):
            await b.reflector.list_or_watch_once()
        assert b.watched_from() == ["10", "15", "20"]
        assert b.server.sleeps == []
        assert len(b.lists()) == 1


@asynchronous
async def test_bookmarks_move_the_version_and_nothing_else() -> None:
    """A bookmark is not news for the sink, but the next watch starts there."""
    async with bench(nodes(1), stream(bookmark(500)), stream(bookmark(501))) as b:
        await b.reflector.list_or_watch_once()
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1")]
        assert b.watched_from() == ["10", "500"]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(stream(GONE), id="error event"),
        pytest.param(status(410, "Expired"), id="status"),
        pytest.param(status(504, "Timeout", cause="ResourceVersionTooLarge"), id="future version"),
    ],
)
@asynchronous
async def test_a_version_that_is_gone(gone: Answer) -> None:
    """410 leads to a new list at once, which the sink compares with what it has."""
    async with bench(nodes(1, 2), gone, nodes(2, 3, list_version=90), stream(bookmark(91))) as b:
        await b.reflector.list_or_watch_once()
        assert isinstance(b.reflector.last_error, errors.ResourceVersionGoneError)
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1 n2"), ("replace", "n2 n3")]
        assert b.watched_from() == ["10", "90"]
        assert b.server.sleeps == []
        assert b.reflector.last_error is None


@asynchronous
async def test_a_version_that_is_always_gone() -> None:
    """A server that answers every watch with 410 is not asked without pauses."""
    async with bench(
        nodes(1), stream(GONE), nodes(1), stream(GONE), nodes(1), stream(GONE), nodes(1)
    ) as b:
        for _ in range(3):
            await b.reflector.list_or_watch_once()
        first, second = b.server.sleeps
        assert 0 < first < second


@asynchronous
async def test_a_stream_cut_within_a_line() -> None:
    """Whole events count, the cut one does not: the next watch brings it again."""
    whole, cut = line("MODIFIED", node("n1", 11)), line("MODIFIED", node("n1", 12))[:40]
    async with bench(
        nodes(1), stream(whole, cut, cut=True), stream(line("MODIFIED", node("n1", 12)))
    ) as b:
        await b.reflector.list_or_watch_once()
        assert isinstance(b.reflector.last_error, errors.TransportError)
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1"), ("upsert", "n1@11"), ("upsert", "n1@12")]
        assert b.watched_from() == ["10", "11"]
        assert len(b.server.sleeps) == 1


@asynchronous
async def test_a_stream_that_ends_within_a_line() -> None:
    """A proper end in the middle of a line is no event either."""
    whole, cut = line("MODIFIED", node("n1", 11)), line("MODIFIED", node("n1", 12))[:40]
    async with bench(nodes(1), stream(whole + cut), stream(bookmark(12))) as b:
        await b.reflector.list_or_watch_once()
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1"), ("upsert", "n1@11")]
        assert b.watched_from() == ["10", "11"]


@asynchronous
async def test_one_event_in_many_chunks() -> None:
    """An event that arrives in pieces is one event."""
    text = line("MODIFIED", node("n1", 11))
    pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
    async with bench(nodes(1), stream(*pieces)) as b:
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1"), ("upsert", "n1@11")]


@asynchronous
async def test_a_huge_object() -> None:
    """An object of megabytes, longer than every buffer on the way, arrives like any other."""
    huge = node("n1", 11)
    huge["metadata"]["annotations"] = {"blob": "x" * 5_000_000}
    async with bench(nodes(1), stream(line("MODIFIED", huge) + bookmark(12))) as b:
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1"), ("upsert", "n1@11")]
        assert b.reflector._resource_version == "12"


@asynchronous
async def test_a_stream_that_stalls() -> None:
    """A watch that says nothing for too long is given up and resumed."""
    silent = stream(line("MODIFIED", node("n1", 11)), hang=True)
    async with bench(nodes(1), silent, stream(bookmark(12)), stall_seconds=0.05) as b:
        await b.reflector.list_or_watch_once()
        await b.reflector.list_or_watch_once()
        assert b.watched_from() == ["10", "11"]


@pytest.mark.slow
@asynchronous
async def test_a_collection_in_which_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    """A watch without news is no failure: no pause before the next one, no complaint."""
    silent = stream(hang=True)
    news = stream(line("MODIFIED", node("n1", 11)))
    async with bench(nodes(1), *[silent] * 8, news, stall_seconds=0.25) as b:
        for _ in range(9):
            await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1"), ("upsert", "n1@11")]
        assert b.watched_from() == ["10"] * 9
        assert b.server.sleeps == []
        assert b.reflector.last_error is None
        assert caplog.messages == []


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"{{{{\n", id="no JSON"),
        pytest.param(b"\x00\xff\xfe\n", id="binary"),
        pytest.param(b'{"hello":"world"}\n', id="no event"),
    ],
)
@asynchronous
async def test_garbage_in_the_stream(garbage: bytes) -> None:
    """What came before the garbage counts; then a new watch is begun, after a pause."""
    good = line("MODIFIED", node("n1", 11))
    async with bench(nodes(1), stream(good + garbage + good), stream(bookmark(12))) as b:
        await b.reflector.list_or_watch_once()
        await b.reflector.list_or_watch_once()
        assert b.sink.calls[1:] in ([("upsert", "n1@11")], [("upsert", "n1@11")] * 2)
        assert b.watched_from() == ["10", "11"]


@asynchronous
async def test_an_object_that_cannot_be_understood(caplog: pytest.LogCaptureFixture) -> None:
    """It is passed over for good: the next watch starts behind it."""
    broken = node("n2", 12) | {"spec": "none"}
    events = line("MODIFIED", node("n1", 11)) + line("ADDED", broken)
    async with bench(nodes(1), stream(events), stream(bookmark(13))) as b:
        await b.reflector.list_or_watch_once()
        await b.reflector.list_or_watch_once()
        assert b.watched_from() == ["10", "12"]
        assert b.reflector.skipped_count == 1
        assert "cannot be decoded: ADDED of a Node" in caplog.text


@asynchronous
async def test_pauses_grow_until_something_arrives() -> None:
    """While the server fails, pauses grow; the first event makes them short again."""
    failures = [status(503)] * 4
    async with bench(
        nodes(1), *failures, stream(line("MODIFIED", node("n1", 11)), cut=True), status(503)
    ) as b:
        for _ in range(5):
            await b.reflector.list_or_watch_once()
        *growing, after_event = b.server.sleeps
        assert growing == sorted(growing)
        assert growing[-1] > 0.8
        assert after_event <= 0.2


@asynchronous
async def test_a_list_that_fails() -> None:
    """Without a list there is no watch, and the sink hears nothing."""
    async with bench(status(500), raw(b"<html>"), nodes(1), stream(bookmark(11))) as b:
        await b.reflector.list_or_watch_once()
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == []
        assert not b.reflector.synced.is_set()
        assert isinstance(b.reflector.last_error, errors.UndecodableAnswerError)
        await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1")]
        assert len(b.server.sleeps) == 2


@asynchronous
async def test_a_list_without_a_version() -> None:
    """A watch cannot start from nowhere: such a list is not taken."""
    async with bench(json_body({"metadata": {}, "items": []})) as b:
        with pytest.raises(errors.UndecodableAnswerError, match="no resourceVersion"):
            await b.reflector.list_once()
        assert b.sink.calls == []


@asynchronous
async def test_watches_that_end_at_once() -> None:
    """A server that ends each watch before it brings anything is not asked without pauses."""
    async with bench(nodes(1), stream()) as b:
        for _ in range(3):
            await b.reflector.list_or_watch_once()
        assert len(b.server.sleeps) == 3
        assert b.server.sleeps == sorted(b.server.sleeps)


@asynchronous
async def test_a_server_that_refuses_again_and_again() -> None:
    """If a watch fails and fails with a server that is there, the list is read anew."""
    failures = [status(500)] * reflector.RELIST_FAILURES
    async with bench(nodes(1), *failures, nodes(1, 2), stream(bookmark(11))) as b:
        for _ in range(reflector.RELIST_FAILURES + 1):
            await b.reflector.list_or_watch_once()
        assert b.sink.calls == [("replace", "n1"), ("replace", "n1 n2")]


@asynchronous
async def test_a_server_that_is_away_is_not_listed_again() -> None:
    """A lost connection says nothing about our version: however long, the watch is resumed."""
    cuts = [stream(cut=True)] * (reflector.RELIST_FAILURES * 2)
    async with bench(nodes(1), *cuts, stream(bookmark(11))) as b:
        for _ in range(len(cuts) + 1):
            await b.reflector.list_or_watch_once()
        assert len(b.lists()) == 1
        assert set(b.watched_from()) == {"10"}


@asynchronous
async def test_others_run_while_events_pour_in() -> None:
    """A stream that never runs dry does not keep the event loop for itself."""
    many = [line("MODIFIED", node("n1", version)) * 50 for version in range(11, 31)]
    async with bench(nodes(1), stream(*many)) as b:
        await b.reflector.list_once()
        watching = asyncio.create_task(b.reflector.watch_once())
        seen = set()
        while not watching.done():
            seen.add(len(b.sink.calls))
            await asyncio.sleep(0)
        assert len(b.sink.calls) == 1001
        assert len(seen) > 2


@asynchronous
async def test_run_ends_when_it_is_cancelled() -> None:
    """`run` follows the collection until its task is cancelled."""
    async with bench(nodes(1), stream(line("MODIFIED", node("n1", 11)), hang=True)) as b:
        running = asyncio.create_task(b.reflector.run())
        await b.reflector.synced.wait()
        await b.sink.upserted.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@asynchronous
async def test_a_fault_of_the_sink_is_not_hidden() -> None:
    """An exception from the sink is a bug: it ends `run` instead of being tried again."""

    class Faulty(Recorder):
        def upsert(self, obj: objects.Node, /) -> None:
            raise ZeroDivisionError

    async with FakeServer() as server, server.client() as api:
        server.on("GET", PATH, nodes(1), stream(line("ADDED", node("n2", 11))))
        following = reflector.Reflector(api, resources.NODES, Faulty(), rng=random.Random(1))
        with pytest.raises(ZeroDivisionError):
            await following.run()


@asynchronous
async def test_pods_are_followed_until_they_end() -> None:
    """As with kube-scheduler, pods that have ended are left out by the server."""
    async with FakeServer() as server, server.client() as api:
        server.on("GET", resources.PODS.path, json_body(object_list([])), stream(bookmark(2)))
        following = reflector.Reflector(api, resources.PODS, Ignore(), rng=random.Random(1))
        await following.list_or_watch_once()
        selectors = {request.query["fieldSelector"] for request in server.requests}
        assert selectors == {"status.phase!=Succeeded,status.phase!=Failed"}
        assert len(server.requests) == 2


class Ignore:
    """A sink of pods that forgets everything."""

    def replace(self, objects: Sequence[objects.Pod], /) -> None:
        """Forget."""

    def upsert(self, obj: objects.Pod, /) -> None:
        """Forget."""

    def delete(self, obj: objects.Pod, /) -> None:
        """Forget."""


def telling(arrived: asyncio.Event, answer: Answer) -> Answer:
    """Answer, and tell that the request has arrived."""

    async def tell_and_answer(request: web.Request) -> web.StreamResponse:
        arrived.set()
        return await answer(request)

    return tell_and_answer


@pytest.mark.parametrize(
    "watch",
    [
        pytest.param(stream(line("ADDED", node("n2", 11)), hang=True), id="while it watches"),
        pytest.param(status(503), id="while it pauses"),
    ],
)
@asynchronous
async def test_refresh_lists_anew(watch: Answer) -> None:
    """A collection that was asked for after the call arrives, and is followed from there."""
    first_watch, second_watch = asyncio.Event(), asyncio.Event()
    answers = (
        nodes(1),
        telling(first_watch, watch),
        nodes(1, 2, 3, list_version=20),
        telling(second_watch, stream(hang=True)),
    )
    async with bench(*answers) as b:

        async def sleep_for_ever(_: float) -> None:
            await asyncio.Event().wait()

        b.reflector._sleep = sleep_for_ever
        running = asyncio.create_task(b.reflector.run())
        await first_watch.wait()
        await b.reflector.relist()
        assert b.sink.calls[-1] == ("replace", "n1 n2 n3")
        await second_watch.wait()
        assert b.watched_from() == ["10", "20"]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynchronous
async def test_a_list_that_was_under_way_does_not_count_as_a_refresh() -> None:
    """It may be older than the call; another one is made."""
    under_way = asyncio.Event()
    answers = (nodes(1), GONE_WATCH, telling(under_way, nodes(1)), nodes(1, 2), stream(hang=True))
    async with bench(*answers) as b:
        running = asyncio.create_task(b.reflector.run())
        await under_way.wait()
        await b.reflector.relist()
        assert b.sink.calls[-1] == ("replace", "n1 n2")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynchronous
async def test_changes_that_arrive_together_with_a_refresh_do_not_replace_it() -> None:
    """They are taken in, and the collection is listed nevertheless."""
    watching = asyncio.Event()
    answers = (
        nodes(1),
        telling(watching, stream(hang=True)),
        nodes(1, 2, list_version=20),
        stream(hang=True),
    )
    async with bench(*answers) as b:
        running = asyncio.create_task(b.reflector.run())
        await watching.wait()
        refreshing = asyncio.create_task(b.reflector.relist())
        await asyncio.sleep(0)
        b.reflector._dispatch_events(
            b.reflector._decoder.decode_events(line("ADDED", node("n2", 11)))
        )
        await refreshing
        assert b.sink.calls[1:] == [("upsert", "n2@11"), ("replace", "n1 n2")]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
