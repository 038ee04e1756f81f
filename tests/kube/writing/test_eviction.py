"""Evictions as they arrive at the API server, and what its answers mean."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.kube import errors
from policysched.kube.http import client
from policysched.kube.writing import eviction
from policysched.scheduler import ports
from tests import builders
from tests.kube.asynchronous import asynchronous
from tests.kube.fake_server import Answer, FakeServer, drop, json_body, status

PATH = "/api/v1/namespaces/default/pods/web"
STATUS = PATH + "/status"
CONDITION = ports.PodCondition("True", "PreemptionByScheduler", "s: preempting to …")
SHAPES = pod_shape.PodShapeCache()
DONE = json_body({"metadata": {"resourceVersion": "8"}})


def victim(*conditions: objects.Condition) -> pod_shape.PodInfo:
    """Return a pod as the watch shows it."""
    builder = builders.make_pod("web").node("n1").meta(resource_version="7", generation=3)
    return SHAPES.make_pod_info(builder.status(conditions=conditions).build())


async def evict(server: FakeServer, pod: pod_shape.PodInfo | None = None) -> bool:
    """Evict a pod."""
    async with server.client() as api:
        return await eviction.ApiPodEvictor(api, server.clock).evict(pod or victim(), CONDITION)


@asynchronous
async def test_an_eviction_as_it_arrives() -> None:
    """First the condition says why, then the pod is deleted; both calls are bound to its uid."""
    async with FakeServer() as server:
        server.on("PATCH", STATUS, DONE)
        server.on("DELETE", PATH, DONE)
        assert await evict(server)
        marking, deleting = server.requests
        assert marking.headers["Content-Type"] == client.STRATEGIC_MERGE_PATCH
        assert marking.body == {
            "metadata": {"uid": "uid-default-web"},
            "status": {
                "conditions": [
                    {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "PreemptionByScheduler",
                        "message": "s: preempting to …",
                        "lastTransitionTime": "2026-01-05T12:00:00Z",
                        "observedGeneration": 3,
                    }
                ]
            },
        }
        assert deleting.body == {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "uid-default-web"},
        }


@asynchronous
async def test_a_pod_is_marked_once() -> None:
    """A victim that shows the condition since an attempt before is only deleted."""
    shown = objects.Condition(
        type="DisruptionTarget",
        status="True",
        reason=CONDITION.reason,
        message=CONDITION.message,
    )
    async with FakeServer() as server:
        server.on("DELETE", PATH, DONE)
        assert await evict(server, victim(shown))
        assert [one.method for one in server.requests] == ["DELETE"]


ANOTHER = json_body({"metadata": {"name": "web", "uid": "uid-of-another"}})
THE_SAME = json_body({"metadata": {"name": "web", "uid": "uid-default-web"}})


@pytest.mark.parametrize(
    "marked, deleted, read",
    [
        pytest.param([status(404)], [], [], id="gone"),
        pytest.param([DONE], [status(404)], [], id="gone meanwhile"),
        pytest.param([status(409)], [], [ANOTHER], id="another pod of that name"),
        pytest.param([DONE], [status(409)], [ANOTHER], id="replaced meanwhile"),
        pytest.param([status(409)], [], [status(404)], id="gone after the conflict"),
    ],
)
@asynchronous
async def test_a_pod_that_is_gone_is_no_failure(
    marked: list[Answer], deleted: list[Answer], read: list[Answer]
) -> None:
    """Somebody else has made the room already, and nobody else is deleted by mistake."""
    async with FakeServer() as server:
        server.on("PATCH", STATUS, *marked)
        for method, answers in (("DELETE", deleted), ("GET", read)):
            if answers:
                server.on(method, PATH, *answers)
        assert not await evict(server)
        assert len(server.requests) == len(marked) + len(deleted) + len(read)


@pytest.mark.parametrize(
    "marked, deleted, read, kind",
    [
        pytest.param([status(409)], [], THE_SAME, errors.ConflictError, id="a busy pod"),
        pytest.param([DONE], [status(409)], THE_SAME, errors.ConflictError, id="a webhook objects"),
        pytest.param(
            [DONE], [status(409)], status(403), errors.ForbiddenError, id="not allowed to read"
        ),
    ],
)
@asynchronous
async def test_a_conflict_about_the_same_pod_is_a_failure(
    marked: list[Answer], deleted: list[Answer], read: Answer, kind: type[Exception]
) -> None:
    """A pod that the server still has, or may have, is not taken for gone."""
    async with FakeServer() as server:
        server.on("PATCH", STATUS, *marked)
        server.on("GET", PATH, read)
        if deleted:
            server.on("DELETE", PATH, *deleted)
        with pytest.raises(kind):
            await evict(server)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(drop, id="answer lost"),
        pytest.param(status(500), id="server error"),
        pytest.param(status(429, retry_after=1), id="too many requests"),
    ],
)
@asynchronous
async def test_passing_trouble_is_waited_out(trouble: Answer) -> None:
    """Both calls may be made twice, so they are repeated until they are answered."""
    async with FakeServer() as server:
        server.on("PATCH", STATUS, trouble, DONE)
        server.on("DELETE", PATH, trouble, DONE)
        assert await evict(server)
        assert [one.method for one in server.requests] == ["PATCH", "PATCH", "DELETE", "DELETE"]


@pytest.mark.parametrize(
    "marked, deleted, kind",
    [
        pytest.param([status(403)], [], errors.ForbiddenError, id="not allowed to mark"),
        pytest.param([DONE], [status(403)], errors.ForbiddenError, id="not allowed to delete"),
        pytest.param([DONE], [status(500)], errors.ServerError, id="an outage"),
    ],
)
@asynchronous
async def test_lasting_trouble_is_told(
    marked: list[Answer], deleted: list[Answer], kind: type[Exception]
) -> None:
    """A pod that may still be there is not taken for evicted."""
    async with FakeServer() as server:
        server.on("PATCH", STATUS, *marked)
        server.on("DELETE", PATH, *deleted)
        with pytest.raises(kind):
            await evict(server)
