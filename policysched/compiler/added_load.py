"""What pods that were just placed add to a metric of their node (`placed adds … for 2m`).

A pod is placed at once and measured much later; in between its expected load stands for it, so
that a burst does not meet one node that looks idle. The sums are kept by row and made anew, from
the pods that count there, whenever the usage of the row changes: nothing is subtracted, so nothing
drifts.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.metrics import recent_placements
from policysched.cluster.pods import pod_shape
from policysched.compiler import column, physical
from policysched.compiler.kernels import arithmetic, scalar
from policysched.framework import cycle_state, interface, shape_answers
from policysched.lang.checked import checked_expr

_shape_index = operator.attrgetter("index")
_MAX_COSTS = 100_000
"""So many costs are kept, of a shape on a node each."""


class AddedLoad:
    """The load that just-placed pods add to one metric, on all nodes."""

    def __init__(self, cost: physical.NumberExpr, seconds: float, scale: float) -> None:
        """Let each pod add `cost` / `scale` for `seconds` after it was scheduled."""
        self.seconds = seconds
        self._recent: recent_placements.RecentPlacements | None = None
        self._version = shape_answers.Version(interface.Reads.NODE | interface.Reads.USAGE)
        self._added: columns.FloatArray = np.zeros(0)
        self._costs = _Costs(cost, scale)

    def current(self, snap: snapshot.Snapshot) -> columns.FloatArray:
        """Return float64 (N,), in the scale of the query; not to be written to."""
        recent = snap.placed.recent
        if recent is not self._recent:
            self._version = shape_answers.Version(interface.Reads.NODE | interface.Reads.USAGE)
        changed = self._version.changed_rows(snap)
        self._recent = None  # begins anew if something raises
        if changed is None:
            self._added = np.zeros(snap.size)
            self._put(snap, recent.get_rows(self.seconds))
        elif len(changed):
            if len(self._added) < snap.size:
                self._added = np.append(self._added, np.zeros(snap.size - len(self._added)))
            self._put(snap, changed.tolist())
        self._recent = recent
        return self._added

    def at(self, node: snapshot.NodeRow) -> float:
        """Return what is added on one node, without asking which others changed."""
        self._costs.forget_changed(node.snapshot)
        return self._load(node.snapshot, node.row)

    def pod_counts(self, nodes: snapshot.NodeView) -> npt.NDArray[np.int64]:
        """Return int64 (n,): how many pods count on each node; for people, not for rules."""
        recent = nodes.snapshot.placed.recent
        counts = [len(recent.get_pods(self.seconds, row)) for row in nodes.row_numbers.tolist()]
        return np.array(counts, np.int64)

    def _put(self, snap: snapshot.Snapshot, rows: Iterable[int]) -> None:
        self._costs.forget_changed(snap)
        for row in rows:
            self._added[row] = self._load(snap, row)

    def _load(self, snap: snapshot.Snapshot, row: int) -> float:
        """Add up what the pods on a row add, shape by shape, in the same order each time."""
        pods = snap.placed.recent.count_shapes(self.seconds, row)
        is_any_order_equal = len(pods) <= 2  # noqa: PLR2004 - a + b is b + a
        load = 0.0
        for shape in pods if is_any_order_equal else sorted(pods, key=_shape_index):
            load += pods[shape] * self._costs.of(shape, row, snap)
        return load


class _Costs:
    """What a pod of each shape adds on each node, computed once.

    It follows from the pod and from what nodes are, which changes rarely.
    """

    def __init__(self, cost: physical.NumberExpr, scale: float) -> None:
        self._cost = cost
        self._scale = scale
        self._version = shape_answers.Version(interface.Reads.NODE)
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
            one = physical.OneNode(snap.view_row(row), shape, cycle_state.CycleState())
            cost = on_row[shape] = max(self._cost.at(one) or 0.0, 0.0) / self._scale
            self._count += 1
        return cost

    def forget_changed(self, snap: snapshot.Snapshot) -> None:
        """Forget everything if a node changed since the last time; to be called before `of`."""
        if snap.nodes is not self._nodes:
            self._nodes = snap.nodes
            self._version = shape_answers.Version(interface.Reads.NODE)
        changed = self._version.changed_rows(snap)
        if changed is None or len(changed) or self._count > _MAX_COSTS:
            self._kept.clear()
            self._count = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Grown:
    """A metric with what just-placed pods add to it; what is missing stays missing."""

    metric: physical.Metric
    added: AddedLoad

    @property
    def source(self) -> checked_expr.TypedExpr:
        """What it was lowered from."""
        return self.metric.source

    def evaluate(self, batch: physical.Batch) -> column.Numbers:
        """Return the sum."""
        added = self.added.current(batch.nodes.snapshot)[batch.nodes.rows]
        return arithmetic.add(self.metric.evaluate(batch), column.Numbers(added, column.ALWAYS))

    def at(self, one: physical.OneNode) -> float | None:
        """Return the sum on one node."""
        measured = self.metric.at(one)
        if measured is None:
            return None
        return scalar.add(measured, self.added.at(one.node))
