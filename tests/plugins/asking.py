"""Plugins asked as the framework asks them, with answers in a form that can be compared."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, status
from tests.reference.single_node import Answer


def state_for(pod: pod_shape.PodInfo) -> cycle_state.CycleState:
    """Return a fresh state for a pod under a profile without policies."""
    return cycle_state.CycleState(pod.shape.spec.tolerations)


def answers(found: status.NodeStatuses) -> list[Answer]:
    """Return (code, reasons) for each node, None for those that pass."""
    as_pairs = [None if s.is_success else (s.code.value, s.reasons) for s in found.statuses]
    return [as_pairs[i] for i in found.ids.tolist()]


def alive(snap: snapshot.Snapshot, by_row: list[Any]) -> list[Any]:
    """Return the entries of rows that are nodes."""
    return [by_row[row] for row in np.flatnonzero(snap.is_alive).tolist()]


def rows_of(snap: snapshot.Snapshot, nodes: list[objects.Node]) -> snapshot.NodeView:
    """Return a view of some nodes, in their order."""
    return snap.view_rows(np.array([snap.nodes.row_of[n.name] for n in nodes], np.intp))


def check_at_once(
    plugin: interface.AtOnceScorePlugin,
    pod: pod_shape.PodInfo,
    view: snapshot.NodeView,
    expected: list[int] | None,
) -> None:
    """Check that a plugin gives final scores in one go, too, as often as it is told."""
    found = plugin.score_at_once(state_for(pod), pod, view, 3)
    if isinstance(found, status.Status):
        assert found.is_skip
        assert expected is None
        return
    weighted = [found] * len(view) if isinstance(found, int) else found.tolist()
    assert expected is not None
    assert weighted == [3 * points for points in expected]


@dataclasses.dataclass
class Kept:
    """Answers of one plugin for one shape, patched where its `reads` says that they changed."""

    plugin: Any
    state: cycle_state.CycleState
    by_row: list[Any] = dataclasses.field(default_factory=list)
    node_generation: int = -1
    usage_generation: int = 0
    resource_count: int = 0

    def update(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, point: str) -> list[Any]:
        """Return one answer a row, asking only about rows that changed since the last time.

        Like the framework, forget all that was kept when nodes bring a resource not seen before.
        """
        if len(snap.nodes.resources) != self.resource_count:
            self.resource_count = len(snap.nodes.resources)
            self.state = state_for(pod)
            self.node_generation = -1
        rows = self._changed(snap)
        self.node_generation = snap.nodes.node_changes.generation
        self.usage_generation = snap.nodes.usage_changes.generation
        if rows is None:
            self.by_row = self._ask(pod, snap.view_all_rows(), point)
        else:
            self.by_row += [None] * (snap.size - len(self.by_row))
            asked = self._ask(pod, snap.view_rows(np.array(rows, np.intp)), point)
            for row, answer in zip(rows, asked, strict=True):
                self.by_row[row] = answer
        return self.by_row

    def _ask(self, pod: pod_shape.PodInfo, view: snapshot.NodeView, point: str) -> list[Any]:
        if point == "filter":
            return answers(self.plugin.filter(self.state, pod, view))
        scores: list[int] = self.plugin.score(self.state, pod, view).tolist()
        return scores

    def _changed(self, snap: snapshot.Snapshot) -> list[int] | None:
        if self.node_generation < 0:
            return None
        reads = self.plugin.reads
        nodes = snap.nodes.node_changes.list_changes_since(self.node_generation)
        assert nodes is not None
        if nodes and interface.Reads.ALL_NODES in reads:
            return None
        rows = set(nodes)
        if reads.has_own_pods:
            used = snap.nodes.usage_changes.list_changes_since(self.usage_generation)
            assert used is not None
            rows |= set(used)
        return sorted(rows)
