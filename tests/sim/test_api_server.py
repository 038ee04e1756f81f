from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from policysched import clock as clocks
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles
from policysched.scheduler import ports
from policysched.sim import api_server, faults, virtual_time
from tests import builders

SHAPES = pod_shape.PodShapeCache()


@pytest.fixture
def clock() -> clocks.ManualClock:
    """Return a clock at the epoch of tests."""
    return clocks.ManualClock(builders.EPOCH)


@pytest.fixture
def server(clock: clocks.ManualClock) -> api_server.SimulatedApiServer:
    """Return an API server without objects."""
    return api_server.SimulatedApiServer(clock, random.Random(1))


def _create(
    server: api_server.SimulatedApiServer, builder: builders.PodBuilder
) -> pod_shape.PodInfo:
    return SHAPES.make_pod_info(server.pods.create(builder.build()))


def _bind(
    server: api_server.SimulatedApiServer, pod: pod_shape.PodInfo, node_name: str = "n1"
) -> handles.BindError | None:
    return asyncio.run(server.bind(pod, node_name))


def _condition(server: api_server.SimulatedApiServer, name: str = "a") -> objects.Condition:
    (condition,) = server.pods.get(name, "default").status.conditions
    return condition


def test_a_binding_sets_node_and_condition(server: api_server.SimulatedApiServer) -> None:
    """A bound pod has its node and is PodScheduled."""
    info = _create(server, builders.make_pod("a"))
    assert _bind(server, info) is None
    assert server.pods.get("a", "default").spec.node_name == "n1"
    assert (_condition(server).type, _condition(server).status) == ("PodScheduled", "True")
    assert server.bind_count == 1


@pytest.mark.parametrize(
    "pod, problem",
    [
        pytest.param(builders.make_pod("a").node("n2"), 'assigned to node "n2"', id="bound"),
        pytest.param(builders.make_pod("a").terminating(), "being deleted", id="terminating"),
        pytest.param(builders.make_pod("a").gates("wait"), "schedulingGates", id="gated"),
    ],
)
def test_a_pod_that_cannot_be_bound_is_a_conflict(
    server: api_server.SimulatedApiServer, pod: builders.PodBuilder, problem: str
) -> None:
    """The binding subresource refuses what a real one refuses."""
    refused = _bind(server, _create(server, pod))
    assert refused is not None
    assert problem in refused.message
    assert server.bind_count == 0


def test_the_uid_is_a_precondition(server: api_server.SimulatedApiServer) -> None:
    """A pod that was deleted and made again is not bound by a decision about the old one."""
    old = _create(server, builders.make_pod("a").uid("old"))
    server.pods.delete("a", "default")
    server.pods.create(builders.make_pod("a").uid("new").build())
    refused = _bind(server, old)
    assert refused is not None
    assert "uid in the precondition" in refused.message


def test_a_deleted_pod_is_not_found(server: api_server.SimulatedApiServer) -> None:
    """Binding what is gone fails, and not because of another scheduler."""
    info = _create(server, builders.make_pod("a"))
    server.pods.delete("a", "default")
    assert _bind(server, info) == handles.BindError('pods "a" not found')


def test_planned_failures_come_first(server: api_server.SimulatedApiServer) -> None:
    """`fail_next` refuses exactly so many bindings and leaves the pods alone."""
    info = _create(server, builders.make_pod("a"))
    server.faults = faults.BindFaults(fail_next=2)
    answers = [_bind(server, info) for _ in range(3)]
    assert [answer is None for answer in answers] == [False, False, True]


def test_failures_by_chance_follow_the_seed(clock: clocks.ManualClock) -> None:
    """The same seed refuses the same bindings."""

    def refused(seed: int) -> list[bool]:
        server = api_server.SimulatedApiServer(clock, random.Random(seed))
        server.faults = faults.BindFaults(fail_share=0.5)
        infos = [_create(server, builders.make_pod(f"p{n}")) for n in range(20)]
        return [_bind(server, info) is not None for info in infos]

    assert refused(3) == refused(3)
    assert any(refused(3))
    assert not all(refused(3))


def test_a_lost_answer_leaves_the_pod_bound(server: api_server.SimulatedApiServer) -> None:
    """The scheduler is told of a failure, the cluster has the pod on its node."""
    info = _create(server, builders.make_pod("a"))
    server.faults = faults.BindFaults(lose_answer_share=1.0)
    assert _bind(server, info) is not None
    assert server.pods.get("a", "default").spec.node_name == "n1"


def test_a_slow_binding_waits_in_virtual_time(clock: clocks.ManualClock) -> None:
    """The pod is unbound until the clock has passed the delay."""

    async def scenario() -> list[str]:
        time = virtual_time.VirtualTime(clock)
        server = api_server.SimulatedApiServer(clock, random.Random(1), time.sleep)
        server.faults = faults.BindFaults(delay_seconds=2.0)
        task = asyncio.create_task(server.bind(_create(server, builders.make_pod("a")), "n1"))
        seen = []
        for seconds in (1.0, 1.0):
            await time.advance(seconds)
            seen.append(server.pods.get("a", "default").spec.node_name)
        await task
        return seen

    assert asyncio.run(scenario()) == ["", "n1"]


def test_a_condition_is_written_once_and_keeps_its_transition_time(
    server: api_server.SimulatedApiServer, clock: clocks.ManualClock
) -> None:
    """Only a change of status moves the transition time; an equal condition changes nothing."""
    info = _create(server, builders.make_pod("a"))
    for message in ("no room", "no room", "less room"):
        server.set_condition(info, ports.PodCondition("False", "Unschedulable", message))
        clock.advance(5)
    written = _condition(server)
    assert (written.status, written.reason, written.message) == (
        "False",
        "Unschedulable",
        "less room",
    )
    assert written.last_transition_time == "2026-01-05T12:00:00Z"
    assert server.pods.get("a", "default").metadata.resource_version == "3"


def test_a_nomination_is_written_and_taken_back(server: api_server.SimulatedApiServer) -> None:
    """None leaves the nominated node alone, the empty name removes it."""
    info = _create(server, builders.make_pod("a"))
    condition = ports.PodCondition("False", "Unschedulable", "no room")
    seen = []
    for nominated in ("n1", None, ""):
        server.set_condition(info, condition, nominated)
        seen.append(server.pods.get("a", "default").status.nominated_node_name)
    assert seen == ["n1", "n1", ""]


@pytest.mark.parametrize("is_replaced", [False, True], ids=["gone", "replaced"])
def test_a_condition_of_a_pod_that_is_gone_is_dropped(
    server: api_server.SimulatedApiServer, is_replaced: bool
) -> None:
    """Nobody else's pod gets the condition."""
    info = _create(server, builders.make_pod("a").uid("old"))
    server.pods.delete("a", "default")
    if is_replaced:
        server.pods.create(builders.make_pod("a").uid("new").build())
    server.set_condition(info, ports.PodCondition("False", "Unschedulable", "no room"))
    assert [pod.status.conditions for pod in server.pods] == ([()] if is_replaced else [])


def test_events_are_kept_in_order(
    server: api_server.SimulatedApiServer, clock: clocks.ManualClock
) -> None:
    """What the scheduler records can be read back, with its time."""
    info = _create(server, builders.make_pod("a"))
    for reason in ("FailedScheduling", "Scheduled"):
        server.record(info, ports.EventType.NORMAL, reason, "Binding", "note", "policysched")
        clock.advance(1)
    assert [(e.reason, e.pod, e.at) for e in server.events] == [
        ("FailedScheduling", "default/a", builders.EPOCH),
        ("Scheduled", "default/a", clock.now().replace(second=1)),
    ]


def test_statuses_of_other_conditions_stay(server: api_server.SimulatedApiServer) -> None:
    """PodScheduled is replaced, conditions of others are not."""
    ready = objects.Condition(type="Ready", status="False")
    info = _create(server, builders.make_pod("a").status(conditions=(ready,)))
    server.set_condition(info, ports.PodCondition("False", "Unschedulable", "no room"))
    kinds = [c.type for c in server.pods.get("a", "default").status.conditions]
    assert kinds == ["Ready", "PodScheduled"]
    assert msgspec.structs.asdict(info.pod.status)["conditions"] == (ready,)
