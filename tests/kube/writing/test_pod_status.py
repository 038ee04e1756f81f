"""The PodScheduled condition: written once, in order, and never over what is newer."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.kube.http import client
from policysched.kube.writing import pod_status
from policysched.scheduler import ports
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import Answer, FakeServer, drop, json_body, status

PATH = "/api/v1/namespaces/default/pods/web"
STATUS = PATH + "/status"
UNSCHEDULABLE = ports.PodCondition("False", "Unschedulable", "0/5 nodes are available")
GATED = ports.PodCondition("False", "SchedulingGated", "waiting")
SHAPES = pod_shape.PodShapeCache()


def pod(
    *conditions: objects.Condition, name: str = "web", version: str = "7", **status_fields: Any
) -> pod_shape.PodInfo:
    """Return a pod as the watch shows it."""
    builder = builders.make_pod(name).meta(resource_version=version, generation=3)
    return SHAPES.make_pod_info(builder.status(conditions=conditions, **status_fields).build())


def shown(condition: ports.PodCondition) -> objects.Condition:
    """Return a condition as a pod has it."""
    return objects.Condition(
        type="PodScheduled",
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        last_transition_time="2026-01-01T00:00:00Z",
    )


def stored(version: str, uid: str, node_name: str = "") -> Answer:
    """Answer with the pod as the server has it."""
    meta = {"name": "web", "namespace": "default", "uid": uid, "resourceVersion": version}
    return json_body({"metadata": meta, "spec": {"nodeName": node_name, "containers": []}})


def patched(version: str) -> Answer:
    """Answer to a patch with the new version of the pod."""
    return json_body({"metadata": {"resourceVersion": version}})


@contextlib.asynccontextmanager
async def running(server: FakeServer) -> AsyncIterator[pod_status.ApiPodStatusWriter]:
    """Run a writer."""
    async with server.client() as api:
        writer = pod_status.ApiPodStatusWriter(api, server.clock)
        task = asyncio.create_task(writer.run())
        yield writer
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def conditions(server: FakeServer) -> list[dict[str, Any]]:
    """Return the conditions of all patches so far."""
    return [one.body["status"]["conditions"][0] for one in server.requests if one.method == "PATCH"]


@asynchronous
async def test_a_patch_as_it_arrives() -> None:
    """One strategic merge patch, bound to the pod's uid and version, says all that is new."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        one = pod()
        writer.set_condition(one, UNSCHEDULABLE, "n1")
        await writer.flush()
        (request,) = server.requests
        assert request.headers["Content-Type"] == client.STRATEGIC_MERGE_PATCH
        assert request.body == {
            "metadata": {"uid": one.uid, "resourceVersion": "7"},
            "status": {
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/5 nodes are available",
                        "lastTransitionTime": "2026-01-05T12:00:00Z",
                        "observedGeneration": 3,
                    }
                ],
                "nominatedNodeName": "n1",
            },
        }


@pytest.mark.parametrize(
    "known, nominated, is_written",
    [
        pytest.param(pod(), None, True, id="no condition yet"),
        pytest.param(pod(shown(GATED)), None, True, id="another reason"),
        pytest.param(pod(shown(UNSCHEDULABLE)), None, False, id="the same"),
        pytest.param(pod(shown(UNSCHEDULABLE)), "", False, id="the same, no nomination"),
        pytest.param(pod(shown(UNSCHEDULABLE)), "n1", True, id="a nomination besides"),
        pytest.param(
            pod(shown(UNSCHEDULABLE), nominated_node_name="n1"), "n1", False, id="same nomination"
        ),
        pytest.param(
            pod(shown(UNSCHEDULABLE), nominated_node_name="n1"), None, False, id="nomination stays"
        ),
        pytest.param(
            pod(shown(UNSCHEDULABLE), nominated_node_name="n1"), "", True, id="nomination ends"
        ),
    ],
)
@asynchronous
async def test_what_the_pod_has_already_is_not_written(
    known: pod_shape.PodInfo, nominated: str | None, is_written: bool
) -> None:
    """A note that says what the pod shows costs no request."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        writer.set_condition(known, UNSCHEDULABLE, nominated)
        await writer.flush()
        assert len(server.requests) == is_written
        for request in server.requests:
            assert request.body["status"].get("nominatedNodeName") == nominated


@asynchronous
async def test_the_time_of_transition_moves_with_the_status_only() -> None:
    """Another message is no transition: False since when stays as it is."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        shown_error = shown(dataclasses.replace(UNSCHEDULABLE, reason="SchedulerError"))
        writer.set_condition(pod(shown_error), UNSCHEDULABLE)
        await writer.flush()
        assert "lastTransitionTime" not in conditions(server)[0]


@asynchronous
async def test_the_time_of_the_first_attempt_replaces_that_of_the_gates() -> None:
    """Policies read since when a pod waits; a later attempt does not move this time."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        since_seconds = int(builders.EPOCH.timestamp())
        tried = dataclasses.replace(UNSCHEDULABLE, since_seconds=since_seconds)
        writer.set_condition(pod(shown(GATED)), tried)
        await writer.flush()
        assert conditions(server)[0]["lastTransitionTime"] == "2026-01-05T12:00:00Z"
        other = dataclasses.replace(tried, message="0/2 nodes are available.")
        writer.set_condition(pod(shown(UNSCHEDULABLE), name="db"), other)
        await writer.flush()
        assert "lastTransitionTime" not in conditions(server)[1]


@asynchronous
async def test_the_time_of_the_gates_ends_even_if_no_policy_reads_it() -> None:
    """Policies that are loaded later read it."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        writer.set_condition(pod(shown(GATED)), UNSCHEDULABLE)
        await writer.flush()
        assert "lastTransitionTime" in conditions(server)[0]


@asynchronous
async def test_what_was_written_is_known_before_the_watch_shows_it() -> None:
    """Until the watch brings the pod's next version, our own last write counts."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"), patched("9"))
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        writer.set_condition(pod(), UNSCHEDULABLE)  # the same old version 7
        await writer.flush()
        assert len(server.requests) == 1
        writer.set_condition(pod(), GATED)
        await writer.flush()
        second = server.requests[1].body
        assert second["metadata"]["resourceVersion"] == "8"
        assert "lastTransitionTime" not in second["status"]["conditions"][0]


@asynchronous
async def test_what_was_written_long_ago_is_forgotten() -> None:
    """Pods that wait for nodes one after the other leave the writes of a minute."""
    async with FakeServer() as server, running(server) as writer:
        for number in range(200):
            one = pod(name=f"web-{number}")
            server.on("PATCH", f"/api/v1/namespaces/default/pods/web-{number}/status", patched("8"))
            writer.set_condition(one, UNSCHEDULABLE)
            await writer.flush()
            server.clock.advance(10.0)
        assert len(server.requests) == 200
        assert writer.remembered_count == 7


@asynchronous
async def test_a_write_that_others_undid_is_made_again() -> None:
    """If the watch shows something else than we wrote, that counts."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        writer.set_condition(pod(version="9"), UNSCHEDULABLE)
        await writer.flush()
        assert len(server.requests) == 2


@asynchronous
async def test_the_newest_note_wins() -> None:
    """Notes that wait are replaced; a nomination among them is not lost."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        writer.set_condition(pod(), GATED, "n1")
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        (request,) = server.requests
        assert request.body["status"]["conditions"][0]["reason"] == "Unschedulable"
        assert request.body["status"]["nominatedNodeName"] == "n1"


@asynchronous
async def test_one_pod_is_written_in_order() -> None:
    """While a write is in flight the next one for the same pod waits, and then is made."""
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await go_on.wait()
        return web.json_response({"metadata": {"resourceVersion": "8"}})

    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, slow, patched("9"))
        writer.set_condition(pod(), GATED)
        await arrived.wait()
        writer.set_condition(pod(), UNSCHEDULABLE)
        assert writer._queue.empty()  # no other worker gets hold of the pod
        go_on.set()
        await writer.flush()
        assert [one["reason"] for one in conditions(server)] == ["SchedulingGated", "Unschedulable"]


@asynchronous
async def test_workers_are_bounded() -> None:
    """However many pods have news, only some writes are in flight."""
    in_flight = most = 0

    async def slow(_: web.Request) -> web.StreamResponse:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0)
        in_flight -= 1
        return web.json_response({"metadata": {"resourceVersion": "8"}})

    async with FakeServer() as server, running(server) as writer:
        for number in range(50):
            server.on("PATCH", f"/api/v1/namespaces/default/pods/p{number}/status", slow)
            writer.set_condition(pod(name=f"p{number}"), UNSCHEDULABLE)
        await writer.flush()
        assert len(server.requests) == 50
        assert most <= pod_status.WORKERS


@asynchronous
async def test_a_pod_that_changed_is_read_and_written() -> None:
    """When others changed the pod meanwhile, the note is written on its newest version."""
    async with FakeServer() as server, running(server) as writer:
        one = pod()
        server.on("PATCH", STATUS, status(409, "Conflict"), patched("12"))
        server.on("GET", PATH, stored("11", one.uid))
        writer.set_condition(one, UNSCHEDULABLE)
        await writer.flush()
        versions = [
            request.body["metadata"]["resourceVersion"]
            for request in server.requests
            if request.method == "PATCH"
        ]
        assert versions == ["7", "11"]


@pytest.mark.parametrize(
    "newest",
    [
        pytest.param(stored("11", pod().uid, node_name="n1"), id="bound"),
        pytest.param(stored("11", "another-uid"), id="created anew"),
        pytest.param(status(404), id="deleted"),
    ],
)
@asynchronous
async def test_a_note_that_has_become_old_is_dropped(newest: Answer) -> None:
    """A pod that was bound in the meantime is never said to be unschedulable."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, status(409, "Conflict"))
        server.on("GET", PATH, newest)
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        assert [request.method for request in server.requests] == ["PATCH", "GET"]
        assert writer.failed == 0


@asynchronous
async def test_an_outage_is_waited_out() -> None:
    """Failures of the server delay a write, they do not lose it."""
    async with FakeServer() as server, running(server) as writer:
        outage = [status(503), drop, status(500), status(429, retry_after=5), drop, status(503)]
        server.on("PATCH", STATUS, *outage, patched("8"))
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        assert len(server.requests) == 7
        assert writer.failed == 0


@asynchronous
async def test_a_write_that_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged and counted, and the next note is written as if nothing had happened."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, status(403, "Forbidden", "not you"), patched("8"))
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        assert writer.failed == 1
        assert "the status of pod default/web was not written" in caplog.text
        writer.set_condition(pod(), UNSCHEDULABLE)
        await writer.flush()
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "shown_name, node_name, is_written",
    [
        pytest.param("", "n1", True, id="set"),
        pytest.param("n1", "", True, id="taken back"),
        pytest.param("n1", "n1", False, id="the same"),
        pytest.param("", "", False, id="none"),
    ],
)
@asynchronous
async def test_a_nomination_alone(shown_name: str, node_name: str, is_written: bool) -> None:
    """A nomination is written without touching the condition, if it is news."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        writer.nominate(pod(shown(GATED), nominated_node_name=shown_name), node_name)
        await writer.flush()
        assert [request.body["status"] for request in server.requests] == (
            [{"nominatedNodeName": node_name}] if is_written else []
        )


@asynchronous
async def test_a_nomination_and_a_condition_become_one_patch() -> None:
    """Notes about different parts of the status do not push each other out."""
    async with FakeServer() as server, running(server) as writer:
        server.on("PATCH", STATUS, patched("8"))
        writer.set_condition(pod(), UNSCHEDULABLE, "n1")
        writer.nominate(pod(), "n2")
        writer.set_condition(pod(), GATED)
        await writer.flush()
        (request,) = server.requests
        assert request.body["status"]["nominatedNodeName"] == "n2"
        assert request.body["status"]["conditions"][0]["reason"] == "SchedulingGated"


@asynchronous
async def test_a_nomination_that_is_taken_back_in_time_is_not_written() -> None:
    """Notes that cancel each other out cost no request."""
    async with FakeServer() as server, running(server) as writer:
        writer.nominate(pod(), "n1")
        writer.nominate(pod(), "")
        await writer.flush()
        assert server.requests == []
