"""What pods that were just placed add to a metric of their node (`placed adds … for 2m`).

A pod is placed at once and measured much later; in between its expected load stands for it, so
that a burst does not meet one node that looks idle. The sums are kept by row and made anew, from
the pods that count there, whenever the usage of the row changes: nothing is subtracted, so nothing
drifts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape

Cost: TypeAlias = Callable[[pod_shape.PodShape, snapshot.NodeView], float]
"""What a pod of a shape adds on the only node of a view; NaN if it is missing."""
_shape_index = operator.attrgetter("index")
_MAX_COSTS = 100_000
"""So many costs are kept, of a shape on a node each."""


class AddedLoad:
    """The load that just-placed pods add to one metric, on all nodes."""

    def __init__(self, cost: Cost, seconds: float, scale: float) -> None:
        """Let each pod add `cost` / `scale` for `seconds` after it was scheduled."""
        self.seconds = seconds
        self._costs = _Costs(cost, scale)

    def compute(self, nodes: snapshot.NodeView) -> columns.FloatArray:
        """Return float64 (n,), in the scale of the query."""
        snap = nodes.snapshot
        if isinstance(nodes.rows, slice):
            added = np.zeros(snap.size)
            for row in snap.placed.recent.get_rows(self.seconds):
                added[row] = self.compute_row(snap, row)
            return added
        return np.array([self.compute_row(snap, row) for row in nodes.rows.tolist()])

    def compute_row(self, snap: snapshot.Snapshot, row: int) -> float:
        """Return the added load of one row: a sum over its pods by shape, in a fixed order."""
        self._costs.forget_changed(snap)
        pods = snap.placed.recent.count_pods_by_shape(self.seconds, row)
        is_any_order_equal = len(pods) <= 2  # noqa: PLR2004 - a + b is b + a
        load = 0.0
        for shape in pods if is_any_order_equal else sorted(pods, key=_shape_index):
            load += pods[shape] * self._costs.of(shape, row, snap)
        return load

    def pod_counts(self, nodes: snapshot.NodeView) -> npt.NDArray[np.int64]:
        """Return int64 (n,): how many pods count on each node; for people, not for rules."""
        recent = nodes.snapshot.placed.recent
        counts = [len(recent.get_pods(self.seconds, row)) for row in nodes.row_numbers.tolist()]
        return np.array(counts, np.int64)


class _Costs:
    """What a pod of each shape adds on each node, computed once.

    It follows from the pod and from what nodes are, which changes rarely.
    """

    def __init__(self, cost: Cost, scale: float) -> None:
        self._cost = cost
        self._scale = scale
        self._node_generation = -1
        self._kept: dict[int, dict[pod_shape.PodShape, float]] = {}
        self._count = 0
        self._nodes: columns.NodeColumns | None = None

    def of(self, shape: pod_shape.PodShape, row: int, snap: snapshot.Snapshot) -> float:
        """Return what it adds on the node of a row, 0 where that is missing or negative."""
        on_row = self._kept.get(row)
        if on_row is None:
            on_row = self._kept[row] = {}
        cost = on_row.get(shape)
        if cost is None:
            found = self._cost(shape, snap.view_rows(np.array([row], np.intp)))
            cost = on_row[shape] = (max(0.0, found)) / self._scale  # NaN is missing
            self._count += 1
        return cost

    def forget_changed(self, snap: snapshot.Snapshot) -> None:
        """Forget everything if a node changed since the last time; to be called before `of`."""
        generation = snap.nodes.node_changes.generation
        is_same = snap.nodes is self._nodes and generation == self._node_generation
        if not is_same or self._count > _MAX_COSTS:
            self._kept.clear()
            self._count = 0
            self._nodes, self._node_generation = snap.nodes, generation
