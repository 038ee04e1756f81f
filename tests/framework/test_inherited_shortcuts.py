"""Third-party plugins that inherit from built-in ones and answer otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, profile, runtime, status
from policysched.plugins import node_resources_fit
from policysched.plugins.inter_pod_affinity import inter_pod_affinity
from policysched.plugins.volume_zone import volume_zone
from tests import builders

_NEVER = status.unschedulable("Mine", "never")


class Refuses(node_resources_fit.NodeResourcesFit):
    """Lets pods with the label `refused` nowhere."""

    name = "Mine"

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Look at the label alone."""
        return _refused(pod, nodes)


class RefusesWithoutVolumes(volume_zone.VolumeZone):
    """The same; only pods with volumes concern the plugin that it inherits from."""

    name = "Mine"

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Want to be asked about all nodes."""
        return interface.ALL_NODES

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Look at the label alone."""
        return _refused(pod, nodes)


class Numbers(node_resources_fit.NodeResourcesFit):
    """Scores the number in the name of a node."""

    name = "Mine"

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Read the name."""
        return np.array([int(node.name[1:]) if node else 0 for node in nodes.objects()], np.int64)


class WritesItself:
    """Has a writer of its own beside `filter`, and answers otherwise by it."""

    name = "Mine"
    reads = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject no node."""
        return status.NodeStatuses.passing(len(nodes))

    def make_filter_writer(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> Any:
        """Reject the first row."""
        return RejectsFirstRow()


class RejectsFirstRow:
    """A writer of answers."""

    def write(self, snap: snapshot.Snapshot, rows: Any, out: Any) -> None:
        """Write 1 for the first row."""
        out[rows] = rows == 0

    def describe(self, snap: snapshot.Snapshot, rows: Any, codes: Any) -> status.NodeStatuses:
        """Reject what has a code."""
        return status.NodeStatuses.where(codes != 0, _NEVER)


class Lenient(inter_pod_affinity.InterPodAffinity):
    """Lets pods everywhere in spite of terms."""

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject no node."""
        return status.NodeStatuses.passing(len(nodes))


def _refused(pod: pod_shape.PodInfo, nodes: snapshot.NodeView) -> status.NodeStatuses:
    is_refused = np.full(len(nodes), "refused" in pod.pod.metadata.labels)
    return status.NodeStatuses.where(is_refused, _NEVER)


class World:
    """Five nodes, and a framework with a single plugin."""

    def __init__(self, plugin: interface.Plugin) -> None:
        self.built = builders.make_cache()
        for number in range(5):
            node = builders.make_node(f"n{number}").capacity(cpu="4", memory="8Gi", pods="9")
            self.built.cache.set_node(node.labels(rack="r").build())
        made = profile.Profile("test", (plugin,), {"Mine": 1})
        self._framework = runtime.Framework(made, None)

    def schedule(self, pod: builders.PodBuilder) -> runtime.ScheduleResult:
        """Return the outcome for a pod."""
        return self._framework.schedule_pod(self.built.info(pod), self.built.cache.snapshot())

    def place(self, name: str, node_name: str, **labels: str) -> None:
        """Place a pod, so that a single row changes."""
        pod = _pod(name, **labels).node(node_name)
        self.built.cache.add_pod(self.built.info(pod))


def _pod(name: str, **labels: str) -> builders.PodBuilder:
    return builders.make_pod(name).requests(cpu="1").labels(labels)


@pytest.mark.parametrize("kind", [Refuses, RefusesWithoutVolumes])
def test_a_filter_that_is_overridden_is_asked_about_single_rows_too(kind: Any) -> None:
    """No pod gets in, neither the first nor, after a node has changed, those equal to it."""
    world = World(kind())
    for number in range(3):
        assert world.schedule(_pod(f"p{number}", refused="yes")).node_name is None
        world.place(f"placed-{number}", "n1")


def test_answers_of_an_overridden_filter_are_not_shared_by_what_the_other_one_reads() -> None:
    """Pods with equal requests get answers of their own."""
    world = World(Refuses())
    assert world.schedule(_pod("a")).node_name is not None
    assert world.schedule(_pod("b", refused="yes")).node_name is None


def test_a_score_that_is_overridden_is_asked_about_single_rows_too() -> None:
    """Points stay what the third-party plugin says, whatever is placed."""
    world = World(Numbers())
    for number in range(3):
        scores = world.schedule(_pod(f"p{number}")).scores
        assert scores is not None
        assert scores.totals.tolist() == [0, 100, 200, 300, 400]
        world.place(f"placed-{number}", "n1")


def test_a_writer_of_a_third_party_is_not_asked() -> None:
    """Third-party plugins answer by `filter` and `score` alone, where their faults are caught."""
    world = World(WritesItself())
    assert world.schedule(_pod("a")).feasible_count == 5
    world.place("placed", "n1")
    assert world.schedule(_pod("b")).feasible_count == 5


def test_an_overridden_filter_decides_beside_nominated_pods() -> None:
    """Anti-affinity that a third-party plugin ignores keeps nobody away from a nominated pod."""
    world = World(Lenient())
    apart = builders.pod_term("rack", {"app": "web"})
    nominated = _pod("first", app="web").rejects_pods(apart).priority(10)
    world.built.cache.nominated.nominate(world.built.info(nominated), "n1")
    assert world.schedule(_pod("second", app="web").rejects_pods(apart)).feasible_count == 5
