"""Events: their form, their order, and what happens when there are too many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from policysched.cluster.pods import pod_shape
from policysched.kube.events import event_recorder, event_series
from policysched.kube.http import client
from policysched.scheduler import ports
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import Answer, FakeServer, drop, json_body, status

EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
CREATED = json_body({"metadata": {}}, 201)
SHAPES = pod_shape.PodShapeCache()


def pod(name: str = "web") -> pod_shape.PodInfo:
    """Return a pod."""
    return SHAPES.make_pod_info(builders.make_pod(name).meta(resource_version="7").build())


class Sweeps:
    """Stands in for the pause between two looks for ended series: a test lets it pass."""

    def __init__(self) -> None:
        self._passed: asyncio.Queue[None] = asyncio.Queue()
        self.asked: list[float] = []

    async def __call__(self, seconds: float) -> None:
        """Wait until the test says that the time is over."""
        self.asked.append(seconds)
        await self._passed.get()

    async def let_pass(self) -> None:
        """End one pause and let what follows it happen."""
        self._passed.put_nowait(None)
        for _ in range(3):
            await asyncio.sleep(0)


class Bench:
    """A recorder that runs, and shorter ways to use it."""

    def __init__(self, server: FakeServer, recorder: event_recorder.ApiEventRecorder) -> None:
        self.server = server
        self.recorder = recorder
        self.sweeps: Sweeps = recorder._sleep  # type: ignore[assignment]  # made below

    def record(
        self,
        name: str = "web",
        note: str = "0/5 nodes are available",
        equal_by: str | None = None,
    ) -> None:
        """Record a failure to schedule a pod."""
        self.recorder.record(
            pod(name),
            ports.EventType.WARNING,
            "FailedScheduling",
            "Scheduling",
            note,
            "policysched",
            equal_by=equal_by,
        )

    def bodies(self, method: str = "POST") -> list[dict[str, Any]]:
        """Return what was sent by this method so far."""
        return [one.body for one in self.server.requests if one.method == method]


@contextlib.asynccontextmanager
async def bench(*posts: Answer, queue_limit: int = 100) -> AsyncIterator[Bench]:
    """Run a recorder on a server that answers POSTs so."""
    async with FakeServer() as server, server.client() as api:
        server.on("POST", EVENTS, *posts)
        recorder = event_recorder.ApiEventRecorder(
            api,
            server.clock,
            instance="policysched-host",
            sleep=Sweeps(),
            queue_limit=queue_limit,
        )
        task = asyncio.create_task(recorder.run())
        yield Bench(server, recorder)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynchronous
async def test_an_event_as_it_arrives() -> None:
    """An event has everything that events.k8s.io/v1 asks for, and names pod and scheduler."""
    async with bench(CREATED) as b:
        b.recorder.record(
            pod(), ports.EventType.NORMAL, "Scheduled", "Binding", "it fits", "my-scheduler"
        )
        await b.recorder.flush()
        (event,) = b.bodies()
        prefix, _, number = event["metadata"].pop("name").rpartition(".")
        assert prefix == "web"
        assert int(number, 16) // 1000 == builders.EPOCH.timestamp() * 1_000_000
        assert event == {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": "default"},
            "eventTime": "2026-01-05T12:00:00.000000+00:00",
            "reportingController": "my-scheduler",
            "reportingInstance": "policysched-host",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": "default",
                "name": "web",
                "uid": pod().uid,
                "resourceVersion": "7",
            },
            "note": "it fits",
            "type": "Normal",
        }


@asynchronous
async def test_repetitions_are_counted() -> None:
    """The second equal event becomes a count on the first; so do all later ones, now and then."""
    async with bench(CREATED) as b:
        b.record()
        await b.recorder.flush()
        name = b.bodies()[0]["metadata"]["name"]
        b.server.on("PATCH", f"{EVENTS}/{name}", json_body({}))
        b.server.clock.advance(10)
        b.record()
        await b.recorder.flush()
        for _ in range(30):
            b.server.clock.advance(10)
            b.record()
            await b.recorder.flush()
        assert len(b.bodies()) == 1
        counts = [patch["series"]["count"] for patch in b.bodies("PATCH")]
        assert counts == [2, 32]
        assert b.bodies("PATCH")[0] == {
            "series": {"count": 2, "lastObservedTime": "2026-01-05T12:00:10.000000+00:00"}
        }
        assert b.server.requests[-1].headers["Content-Type"] == client.MERGE_PATCH


@asynchronous
async def test_repetitions_before_the_first_is_written() -> None:
    """Equal events that find the first one still waiting become one with a count."""
    async with bench(CREATED) as b:
        for _ in range(3):
            b.record()
        await b.recorder.flush()
        (event,) = b.bodies()
        assert event["series"]["count"] == 3


@asynchronous
async def test_details_that_change_make_no_new_event() -> None:
    """Where something else than the note is compared, the first note stays and the count grows."""
    async with bench(CREATED) as b:
        for value in ("81%", "85%", "97%"):
            b.record(note=f"0/5 nodes are available. cpu_busy {value}", equal_by="0/5")
        b.record(note="0/6 nodes are available. cpu_busy 97%", equal_by="0/6")
        await b.recorder.flush()
        counts = {e["note"]: e.get("series", {}).get("count", 1) for e in b.bodies()}
        assert counts == {
            "0/5 nodes are available. cpu_busy 81%": 3,
            "0/6 nodes are available. cpu_busy 97%": 1,
        }


@asynchronous
async def test_an_event_of_the_cluster_is_about_its_namespace() -> None:
    """What concerns no object stands where cluster components live."""
    async with bench(CREATED) as b:
        b.server.on("POST", EVENTS.replace("/default/", "/kube-system/"), CREATED)
        b.recorder.record_event_without_object(
            "Warning", "MetricsSourceDown", "QueryingMetrics", "it is down"
        )
        await b.recorder.flush()
        (event,) = b.bodies()
    regarding = {key: event["regarding"][key] for key in ("kind", "namespace", "name")}
    assert regarding == {"kind": "Namespace", "namespace": "kube-system", "name": "kube-system"}
    assert event["metadata"]["namespace"] == "kube-system"
    assert (event["type"], event["reason"]) == ("Warning", "MetricsSourceDown")
    assert event["reportingController"] == "policysched"


@asynchronous
async def test_different_events_stay_apart() -> None:
    """Another note, another pod or a pause of six minutes makes another event."""
    async with bench(CREATED) as b:
        b.record()
        b.record(note="0/6 nodes are available")
        b.record(name="db")
        b.server.clock.advance(event_series.FINISH.total_seconds())
        b.record()
        await b.recorder.flush()
        names = {event["metadata"]["name"] for event in b.bodies()}
        assert len(names) == 4
        assert all("series" not in event for event in b.bodies())


@asynchronous
async def test_the_final_count_is_written() -> None:
    """When a series has ended, what the server was not told yet is told."""
    async with bench(CREATED) as b:
        b.record()
        await b.recorder.flush()
        b.server.on("PATCH", f"{EVENTS}/{b.bodies()[0]['metadata']['name']}", json_body({}))
        for _ in range(3):
            b.record()
            await b.recorder.flush()
        b.server.clock.advance(event_series.FINISH.total_seconds())
        await b.sweeps.let_pass()
        await b.recorder.flush()
        assert [patch["series"]["count"] for patch in b.bodies("PATCH")] == [2, 4]
        assert b.sweeps.asked[0] < event_series.FINISH.total_seconds()


@asynchronous
async def test_an_event_that_the_server_has_forgotten() -> None:
    """Events live for an hour: a count for one that is gone creates it again."""
    async with bench(CREATED) as b:
        b.record()
        await b.recorder.flush()
        name = b.bodies()[0]["metadata"]["name"]
        b.server.on("PATCH", f"{EVENTS}/{name}", status(404))
        b.record()
        await b.recorder.flush()
        again = b.bodies()[1]
        assert again["metadata"]["name"] == name
        assert again["series"]["count"] == 2


@asynchronous
async def test_events_of_one_pod_are_in_order() -> None:
    """However slow the server is, a pod's events arrive in the order of their occurrence."""

    async def slow(_: web.Request) -> web.StreamResponse:
        for _turn in range(5):
            await asyncio.sleep(0)
        return web.json_response({}, status=201)

    async with bench(slow) as b:
        for number in range(30):
            b.record(name=f"p{number % 3}", note=str(number))
        waiting = [lane.qsize() for lane in b.recorder._lanes]
        assert all(count % 10 == 0 for count in waiting)  # all of a pod in one lane
        await b.recorder.flush()
        for name in ("p0", "p1", "p2"):
            notes = [
                int(event["note"]) for event in b.bodies() if event["regarding"]["name"] == name
            ]
            assert notes == sorted(notes)
            assert len(notes) == 10


@asynchronous
async def test_too_many_events() -> None:
    """What finds no room is dropped and counted; nothing blocks, and later ones are written."""
    async with bench(CREATED, queue_limit=10) as b:
        for number in range(25):
            b.record(note=str(number))
        assert b.recorder.dropped == 15
        assert b.recorder.waiting_count == 10
        await b.recorder.flush()
        b.record(note="later")
        await b.recorder.flush()
        assert [event["note"] for event in b.bodies()] == [*map(str, range(10)), "later"]


@pytest.mark.parametrize(
    "note, kept",
    [
        pytest.param("x" * 1024, "x" * 1024, id="just fits"),
        pytest.param("x" * 1025, "x" * 1020 + " ...", id="too long"),
        pytest.param("ü" * 600, "ü" * 510 + " ...", id="two bytes a character"),
        pytest.param("x" + "😀" * 300, "x" + "😀" * 254 + " ...", id="cut between characters"),
    ],
)
@asynchronous
async def test_long_notes_are_cut(note: str, kept: str) -> None:
    """The server takes 1,024 bytes; characters are not cut in two."""
    async with bench(CREATED) as b:
        b.record(note=note)
        await b.recorder.flush()
        (event,) = b.bodies()
        assert event["note"] == kept
        assert len(kept.encode()) <= 1024


@asynchronous
async def test_names_of_events() -> None:
    """The longest pod name leaves room for the time, and two events never share a name."""
    async with bench(CREATED) as b:
        b.record(name="a" * 229 + "-" + "b" * 20)
        b.record(name="a" * 229 + "-" + "b" * 20, note="another")
        await b.recorder.flush()
        names = [event["metadata"]["name"] for event in b.bodies()]
        assert len(set(names)) == 2
        assert all(len(name) <= 253 and "-." not in name for name in names)


@asynchronous
async def test_an_outage_is_waited_out() -> None:
    """Lost answers do not lose or double an event: its name says that it is there already."""
    async with bench(drop, status(503), status(429), status(409, "AlreadyExists")) as b:
        b.record()
        await b.recorder.flush()
        assert len({event["metadata"]["name"] for event in b.bodies()}) == 1
        assert b.recorder.failed == 0


@asynchronous
async def test_refused_events_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Events that the server refuses are counted, and logged once, not once an event."""
    async with bench(status(403, "Forbidden", "no events from you")) as b:
        for number in range(5):
            b.record(note=str(number))
        await b.recorder.flush()
        assert b.recorder.failed == 5
        assert caplog.text.count("events are not written") == 1


@asynchronous
async def test_refusals_among_other_events_are_told_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One namespace that ends, while events of others are written, does not fill the log."""
    refused = status(403, "Forbidden", "the namespace is being terminated")
    async with bench(refused, CREATED, refused, CREATED, refused) as b:
        told = []
        for number in range(5):
            if number == 4:
                b.server.clock.advance(300)
            b.record(note=str(number))
            await b.recorder.flush()
            told.append(caplog.text.count("events are not written"))
        assert told == [1, 1, 1, 1, 2]
        assert b.recorder.failed == 3
