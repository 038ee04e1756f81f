"""Writes of a leader: refused once it may have been followed, limited before that."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from policysched import clock as clocks
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.kube import errors
from policysched.kube.events import event_recorder
from policysched.kube.http import client, fence
from policysched.kube.writing import binding, pod_status
from policysched.scheduler import ports
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import Answer, FakeServer, drop, json_body, silence

PATH = "/api/v1/things"
POD = pod_shape.PodShapeCache().make_pod_info(builders.make_pod("web").build())
POD_PATH = "/api/v1/namespaces/default/pods/web"
LAST_WRITES_SECONDS = 4.5


def new_fence(*, is_open: bool) -> tuple[fence.WriteFence, clocks.ManualClock]:
    """Return a fence, open for ten seconds or closed, and its clock."""
    clock = clocks.ManualClock(builders.EPOCH)
    writes = fence.WriteFence(clock, LAST_WRITES_SECONDS)
    if is_open:
        writes.permit_writes_until(10.0)
    return writes, clock


@pytest.mark.parametrize(
    "at_seconds, limit_seconds",
    [
        pytest.param(0.0, 14.5, id="at the start"),
        pytest.param(9.5, 5.0, id="half a second before the end"),
        pytest.param(10.0, None, id="at the end"),
        pytest.param(3600.0, None, id="after a long stop"),
    ],
)
def test_a_write_ends_before_another_one_may_lead(
    at_seconds: float, limit_seconds: float | None
) -> None:
    """A write may take until a fixed time, however late it begins; too late it does not begin."""
    writes, clock = new_fence(is_open=True)
    clock.advance(at_seconds)
    if limit_seconds is None:
        with pytest.raises(errors.FencedWriteError):
            writes.compute_allowed_write_seconds()
    else:
        assert writes.compute_allowed_write_seconds() == pytest.approx(limit_seconds)


def test_it_is_closed_at_first_and_closed_for_good() -> None:
    """Nobody may write who was never elected, or has stepped down."""
    writes, _ = new_fence(is_open=False)
    with pytest.raises(errors.FencedWriteError):
        writes.compute_allowed_write_seconds()
    writes.permit_writes_until(10.0)
    writes.close()
    with pytest.raises(errors.FencedWriteError):
        writes.compute_allowed_write_seconds()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@asynchronous
async def test_nothing_is_sent_over_a_closed_fence(method: str) -> None:
    """All ways to write are held back, with a body and without; reading is not."""
    writes, _ = new_fence(is_open=False)
    async with FakeServer() as server, server.client(fence=writes) as api:
        server.on("GET", PATH, json_body({}))
        for body in (b"{}", b""):
            with pytest.raises(errors.FencedWriteError):
                await api.send_request(method, PATH, body)
        await api.send_request("GET", PATH)
        assert [request.method for request in server.requests] == ["GET"]


@asynchronous
async def test_the_server_is_told_when_to_give_up() -> None:
    """A write names the time that is left; a read, and whoever is not fenced, does not."""
    writes, clock = new_fence(is_open=True)
    clock.advance(9.5)
    async with FakeServer() as server:
        for method in ("GET", "POST"):
            server.on(method, PATH, json_body({}))
        async with server.client(fence=writes) as api:
            await api.send_request("POST", PATH + "?dryRun=All", b"{}")
            await api.send_request(
                "POST", PATH, b"{}", policy=client.CallRetryPolicy(timeout_seconds=2.0)
            )
            await api.send_request("GET", PATH)
        async with server.client() as api:
            await api.send_request("POST", PATH, b"{}")
        assert [dict(request.query) for request in server.requests] == [
            {"dryRun": "All", "timeout": "5.000s"},
            {"timeout": "2.000s"},
            {},
            {},
        ]


@asynchronous
async def test_no_answer_is_awaited_for_longer() -> None:
    """A server that says nothing loses us when the time is over, not at the next full second."""
    clock = clocks.ManualClock(builders.EPOCH)
    writes = fence.WriteFence(clock, 0.05)
    writes.permit_writes_until(0.001)
    async with FakeServer() as server, server.client(fence=writes) as api:
        server.on("POST", PATH, silence)
        with pytest.raises(errors.TransportError, match="no answer in time"):
            await api.send_request(
                "POST", PATH, b"{}", policy=client.CallRetryPolicy(max_attempts=1)
            )


@pytest.mark.parametrize("body", [b"{}", b""], ids=["with a body", "without"])
@asynchronous
async def test_a_process_that_was_stopped_sends_nothing_more(body: bytes) -> None:
    """A write that began in time is held back when the time is over before its bytes leave."""
    clock = clocks.ManualClock(builders.EPOCH)
    began = asyncio.Event()

    class Stopped(fence.WriteFence):
        """Lets all time pass after the first look."""

        def compute_allowed_write_seconds(self) -> float:
            """Look, then stand still for a minute."""
            seconds = super().compute_allowed_write_seconds()
            if not began.is_set():
                began.set()
                clock.advance(60.0)
            return seconds

    stopped = Stopped(clock, LAST_WRITES_SECONDS)
    stopped.permit_writes_until(10.0)
    async with FakeServer() as server, server.client(fence=stopped) as api:
        with pytest.raises(errors.FencedWriteError):
            await api.send_request("DELETE", PATH, body)
        assert server.requests == []
        stopped.permit_writes_until(100.0)
        server.on("DELETE", PATH, json_body({}))
        await api.send_request("DELETE", PATH, body)  # the connection was not spoilt for others


def closing(writes: fence.WriteFence, answer: Answer) -> Answer:
    """Answer, and let the lease be lost meanwhile."""

    async def close_and_answer(request: web.Request) -> web.StreamResponse:
        writes.close()
        return await answer(request)

    return close_and_answer


@pytest.mark.parametrize(
    "node_name, outcome",
    [
        pytest.param("n1", None, id="it was bound"),
        pytest.param(
            "",
            handles.BindError("writes need the leader's lease"),
            id="it was not bound",
        ),
        pytest.param(
            "n2", handles.BindError("the pod is already bound to `n2`"), id="by the next leader"
        ),
    ],
)
@asynchronous
async def test_a_binding_without_an_answer_is_looked_up_but_not_repeated(
    node_name: str, outcome: handles.BindError | None
) -> None:
    """Who has lost the lease asks what became of a binding, and never binds again."""
    writes, _ = new_fence(is_open=True)
    stored = {
        "metadata": {"name": "web", "namespace": "default", "uid": POD.uid},
        "spec": {"nodeName": node_name, "containers": None},
    }
    async with FakeServer() as server, server.client(fence=writes) as api:
        server.on("POST", POD_PATH + "/binding", closing(writes, drop))
        server.on("GET", POD_PATH, json_body(stored))
        assert await binding.ApiBinder(api).bind(POD, "n1") == outcome
        assert [request.method for request in server.requests].count("POST") == 1


@asynchronous
async def test_events_and_conditions_are_dropped_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a former leader wanted to tell is the next one's to tell: no request, no warning."""
    writes, clock = new_fence(is_open=False)
    async with FakeServer() as server, server.client(fence=writes) as api:
        recorder = event_recorder.ApiEventRecorder(api, clock, instance="test")
        status = pod_status.ApiPodStatusWriter(api, clock)
        working = [asyncio.create_task(recorder.run()), asyncio.create_task(status.run())]
        recorder.record(POD, ports.EventType.NORMAL, "Scheduled", "Binding", "note", "policysched")
        status.set_condition(POD, ports.PodCondition("False", "Unschedulable", "no"))
        await recorder.flush()
        await status.flush()
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        assert server.requests == []
        assert (recorder.failed, status.failed) == (0, 0)
    assert caplog.records == []
