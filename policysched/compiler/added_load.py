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

from policysched.cluster import columns, just_placed, pod_shape, snapshot
from policysched.compiler import column, physical
from policysched.compiler.kernels import arithmetic, scalar
from policysched.framework import cycle_state, interface, shape_answers
from policysched.lang import checked_expr

_shape_index = operator.attrgetter("index")
_MAX_SHAPES = 128
"""Costs of so many shapes are kept: a vector of all nodes each."""


class AddedLoad:
    """The load that just-placed pods add to one metric, on all nodes."""

    def __init__(self, cost: physical.NumberExpr, seconds: float, scale: float) -> None:
        """Let each pod add `cost` / `scale` for `seconds` after it was scheduled."""
        self.seconds = seconds
        self._recent: just_placed.JustPlaced | None = None
        self._version = shape_answers.Version(interface.Reads.NODE | interface.Reads.USAGE)
        self._added: columns.FloatArray = np.zeros(0)
        self._costs = _Costs(cost, scale)

    def current(self, snap: snapshot.Snapshot) -> columns.FloatArray:
        """Return float64 (N,), in the scale of the query; not to be written to."""
        recent = snap.placed.recent
        if recent is not self._recent:
            self._recent = recent
            self._version = shape_answers.Version(interface.Reads.NODE | interface.Reads.USAGE)
        changed = self._version.changed_rows(snap)
        if changed is None:
            self._added = np.zeros(snap.size)
            self._put(snap, recent.rows(self.seconds))
        elif len(changed):
            if len(self._added) < snap.size:
                self._added = np.append(self._added, np.zeros(snap.size - len(self._added)))
            self._put(snap, changed.tolist())
        return self._added

    def pod_counts(self, nodes: snapshot.NodeView) -> npt.NDArray[np.int64]:
        """Return int64 (n,): how many pods count on each node; for people, not for rules."""
        recent = nodes.snapshot.placed.recent
        counts = [len(recent.on(self.seconds, row)) for row in nodes.row_numbers.tolist()]
        return np.array(counts, np.int64)

    def _put(self, snap: snapshot.Snapshot, rows: Iterable[int]) -> None:
        """Add up what the pods on rows add, shape by shape, in the same order each time."""
        recent = snap.placed.recent
        costs = self._costs
        costs.forget_changed(snap)
        for row in rows:
            pods = recent.shapes_on(self.seconds, row)
            is_any_order_equal = len(pods) <= 2  # noqa: PLR2004 - a + b is b + a
            load = 0.0
            for shape in pods if is_any_order_equal else sorted(pods, key=_shape_index):
                load += pods[shape] * costs.of(shape, row, snap)
            self._added[row] = load


class _Costs:
    """What a pod of each shape adds on each node, computed once for all nodes.

    It follows from the pod and from what nodes are, which changes rarely; the shapes that came last
    are kept.
    """

    def __init__(self, cost: physical.NumberExpr, scale: float) -> None:
        self._cost = cost
        self._scale = scale
        self._version = shape_answers.Version(interface.Reads.NODE)
        self._kept: dict[pod_shape.PodShape, columns.FloatArray] = {}
        self._nodes: columns.NodeColumns | None = None

    def of(self, shape: pod_shape.PodShape, row: int, snap: snapshot.Snapshot) -> float:
        """Return what it adds on the node of a row, 0 where that is missing or negative."""
        costs = self._kept.get(shape)
        if costs is None or len(costs) <= row:
            costs = self._kept[shape] = self._compute(shape, snap)
            if len(self._kept) > _MAX_SHAPES:
                del self._kept[next(iter(self._kept))]
        return costs.item(row)

    def forget_changed(self, snap: snapshot.Snapshot) -> None:
        """Forget everything if a node changed since the last time; to be called before `of`."""
        if snap.nodes is not self._nodes:
            self._nodes = snap.nodes
            self._version = shape_answers.Version(interface.Reads.NODE)
        changed = self._version.changed_rows(snap)
        if changed is None or len(changed):
            self._kept.clear()

    def _compute(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> columns.FloatArray:
        batch = physical.Batch(snap.all_rows(), shape, cycle_state.CycleState(), keeps=False)
        values, is_valid = physical.evaluate(self._cost, batch)
        costs = np.where(is_valid, values, 0.0)
        return column.on_each(np.maximum(costs, 0.0) / self._scale, snap.size)


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
        node = one.node
        return scalar.add(measured, self.added.current(node.snapshot).item(node.row))
