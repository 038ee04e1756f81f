"""What plugins behind the choice of a node do to a simulation."""

from __future__ import annotations

import random

import pytest

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, interface, profile, runtime, status
from policysched.offline import allocations, offline_cluster, simulating
from policysched.plugins import default_preemption, node_resources_fit, priority_sort
from policysched.profiles import profile_choice
from tests import builders


class EvictsTheFirst:
    """Makes room by the pod that came first."""

    name = "EvictsTheFirst"

    def __init__(self, victims: tuple[pod_shape.PodInfo, ...]) -> None:
        self.victims = victims

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Name the victims, or say that there are none."""
        if not self.victims:
            return interface.PostFilterResult(status.unschedulable(self.name, "nobody to evict"))
        victims, self.victims = self.victims, ()
        return interface.PostFilterResult(status.SUCCESS, "n1", victims)


class Refuses:
    """Refuses at one extension point and keeps books of what it was told."""

    name = "Refuses"

    def __init__(self, point: str) -> None:
        self.point = point
        self.undone: list[str] = []

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Refuse at Reserve."""
        return self._answer("reserve")

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Take note."""
        self.undone.append(node_name)

    def permit(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> tuple[status.Status, float]:
        """Refuse at Permit, or ask to wait."""
        if self.point == "wait":
            return status.Status(status.Code.WAIT), 10.0
        return self._answer("permit"), 0.0

    def _answer(self, point: str) -> status.Status:
        if point == self.point:
            return status.unschedulable(self.name, f"refused at {point}")
        return status.SUCCESS


def _cluster(*pods: builders.PodBuilder) -> offline_cluster.OfflineCluster:
    """One node with four cores, a pod on it that takes three, and pods that wait."""
    cluster = offline_cluster.make_empty_cluster(builders.EPOCH)
    cluster.cache.set_node(builders.make_node("n1").capacity(cpu="4", memory="8Gi").build())
    old = cluster.shapes.make_pod_info(
        builders.make_pod("old").requests(cpu="3").node("n1").build()
    )
    cluster.cache.add_pod(old)
    cluster.placed[old.key] = old
    cluster.pending = [cluster.shapes.make_pod_info(pod.build()) for pod in pods]
    return cluster


def _simulate(
    cluster: offline_cluster.OfflineCluster, *plugins: interface.Plugin
) -> list[simulating.SimulatedPlacement]:
    fit = node_resources_fit.NodeResourcesFit()
    made = profile.Profile("p", (priority_sort.PrioritySort(), fit, *plugins), {})
    choice = profile_choice.ProfileChoice({"p": runtime.Framework(made, None)})
    return list(simulating.simulate_placements(cluster, choice))


def test_a_preempting_pod_takes_the_place_of_its_victims() -> None:
    """Victims are named and gone; the next pod finds no more of them."""
    big = builders.make_pod("big").requests(cpu="4")
    cluster = _cluster(big, builders.make_pod("late").requests(cpu="2"))
    first, second = _simulate(cluster, EvictsTheFirst((cluster.placed["default/old"],)))
    assert (first.node, first.victims, first.feasible) == ("n1", ["default/old"], 1)
    assert (second.node, second.victims) == (None, [])
    assert second.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert second.reasons == ("Insufficient cpu",)


@pytest.mark.parametrize("point", ["reserve", "permit"])
def test_a_refusal_after_the_choice_leaves_the_pod_pending(point: str) -> None:
    """Its room is free again for the next pod, and the plugin is told to undo."""
    refusing = Refuses(point)
    pods = [builders.make_pod(name).requests(cpu="1") for name in ("a", "b")]
    cluster = _cluster(*pods)
    placements = _simulate(cluster, refusing)
    assert [(p.node, p.message) for p in placements] == [(None, f"refused at {point}")] * 2
    assert refusing.undone == ["n1", "n1"]
    assert cluster.cache.pod_count == 1


def test_waiting_for_permission_counts_as_permission() -> None:
    """Nobody can answer in a file, so the pod is taken to be allowed."""
    (placed,) = _simulate(_cluster(builders.make_pod("a").requests(cpu="1")), Refuses("wait"))
    assert placed.node == "n1"


def test_what_is_allocated_counts_all_pods() -> None:
    """Pods that were there and pods that were placed, of every resource that a node has."""
    cluster = _cluster(builders.make_pod("a").requests(cpu="500m"))
    _simulate(cluster)
    found = {each.resource: each for each in allocations.list_allocations(cluster.cache)}
    assert found["cpu"] == allocations.ResourceAllocation("cpu", 3500, 4000)
    assert found["memory"] == allocations.ResourceAllocation("memory", 0, 8 * 2**30)


def _preempting(
    rng: random.Random | None, *pods: builders.PodBuilder
) -> tuple[offline_cluster.OfflineCluster, list[simulating.SimulatedPlacement]]:
    """Simulate with DefaultPreemption; return the cluster afterwards too."""
    cluster = _cluster(*pods)
    cluster.cache.set_node(builders.make_node("n2").capacity(cpu="4", memory="8Gi").build())
    for info in cluster.pending:
        cluster.cache.nominated.nominate(info, info.pod.status.nominated_node_name)
    handle = handles.Handle(Binds(), budgets=cluster.cache.budgets, rng=rng)
    plugins = (
        priority_sort.PrioritySort(),
        node_resources_fit.NodeResourcesFit(),
        default_preemption.DefaultPreemption(handle),
    )
    framework = runtime.Framework(profile.Profile("test", plugins, {}), rng)
    choice = profile_choice.ProfileChoice({"test": framework})
    return cluster, list(simulating.simulate_placements(cluster, choice))


class Binds:
    """A binder that nobody asks."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Refuse."""
        return handles.BindError(f"{pod.key} is not bound to {node_name}")


def test_a_preempting_pod_goes_where_room_was_made() -> None:
    """The victims are told, gone, and the most important one comes first."""
    low = builders.make_pod("low").requests(cpu="2").priority(1)
    cluster, placements = _preempting(
        None,
        low,
        builders.make_pod("mid").requests(cpu="2").priority(2),
        builders.make_pod("high").requests(cpu="4").priority(10),
        builders.make_pod("top").requests(cpu="4").priority(10),
    )
    told = [(p.pod.removeprefix("default/"), p.node, p.victims) for p in placements]
    assert told == [
        ("high", "n2", []),
        ("top", "n1", ["default/old"]),
        ("mid", None, []),
        ("low", None, []),
    ]
    assert [p.feasible for p in placements] == [1, 1, 0, 0]
    assert placements[1].best == ["n1"]
    assert cluster.cache.get_pod("uid-default-old") is None
    assert placements[2].message == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_nomination_gives_way_to_a_preempting_pod() -> None:
    """A pod of less priority loses the room that was kept for it, and is placed elsewhere."""
    cluster, placements = _preempting(
        None,
        builders.make_pod("waits").requests(cpu="1").priority(1).nominated("n1"),
        builders.make_pod("fills").requests(cpu="4").priority(20),
        builders.make_pod("takes").requests(cpu="4").priority(10),
    )
    assert [(p.node, p.victims) for p in placements] == [
        ("n2", []),
        ("n1", ["default/old"]),
        (None, []),
    ]
    assert len(cluster.cache.nominated) == 0


def test_room_is_kept_for_nominated_pods() -> None:
    """A pod of equal priority that comes first must leave the room, and the other one takes it."""
    _, placements = _preempting(
        None,
        builders.make_pod("first").requests(cpu="4").priority(1),
        builders.make_pod("nominated").requests(cpu="4").priority(1).nominated("n2"),
    )
    assert [(p.node, p.feasible, p.victims) for p in placements] == [
        ("n1", 1, ["default/old"]),
        ("n2", 1, []),
    ]
