"""Expressions in the form that runs: each node evaluates to a column on the nodes of a batch.

Every node keeps the checked expression it was lowered from, for plans and faults.
"""

from __future__ import annotations

import dataclasses
from typing import Generic, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from policysched.cluster import columns, pod_requests, pod_shape, snapshot
from policysched.compiler import (
    column,
    kept,
    label_numbers,
    metric_samples,
    node_masks,
    pod_predicates,
)
from policysched.compiler.kernels import arithmetic, compare, logic
from policysched.framework import cycle_state
from policysched.lang import checked_expr

_PODS = "pods"
_FEW_NODES = 8
"""For so few nodes an expression is evaluated as fast as what is kept of it is patched and read."""
ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """What an expression is evaluated on: some nodes, for one incoming pod.

    `state` learns when values that hold for a limited time end. Values are kept unless `keeps` is
    False: for nodes that are not those of the cluster.
    """

    nodes: snapshot.NodeView
    shape: pod_shape.PodShape
    state: cycle_state.CycleState
    keeps: bool = True


class PhysicalExpr(Protocol, Generic[ResultT_co]):
    """A node of the plan."""

    @property
    def source(self) -> checked_expr.TypedExpr:
        """What it was lowered from."""
        ...

    def evaluate(self, batch: Batch) -> ResultT_co:
        """Return the column on the nodes of the batch; to be called inside `arithmetic.quiet()`."""
        ...


NumberExpr: TypeAlias = PhysicalExpr[column.Numbers]
TruthExpr: TypeAlias = PhysicalExpr[column.Truths]


@dataclasses.dataclass(frozen=True, slots=True)
class Kept(Generic[column.ColumnT]):
    """An expression that does not read the pod: its column outlives the pod."""

    inner: PhysicalExpr[column.ColumnT]
    kept: kept.KeptColumn[column.ColumnT]

    @property
    def source(self) -> checked_expr.TypedExpr:
        """What it was lowered from."""
        return self.inner.source

    def evaluate(self, batch: Batch) -> column.ColumnT:
        """Return the column, computed only where something changed since the last time."""
        if not batch.keeps:
            return self.inner.evaluate(batch)
        if len(batch.nodes) <= _FEW_NODES:
            return self.inner.evaluate(batch)

        def compute(nodes: snapshot.NodeView, state: cycle_state.CycleState) -> column.ColumnT:
            return self.inner.evaluate(Batch(nodes, batch.shape, state))

        return self.kept.on(batch.nodes, batch.state, compute)


def evaluate(expr: PhysicalExpr[ResultT_co], batch: Batch) -> ResultT_co:
    """Return the column of a whole expression; NumPy does not warn of what counts as missing."""
    with arithmetic.quiet():
        return expr.evaluate(batch)


# --- numbers -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    source: checked_expr.TypedExpr
    value: column.Numbers

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the constant."""
        return self.value


@dataclasses.dataclass(frozen=True, slots=True)
class Metric:
    """A metric's valid samples."""

    source: checked_expr.TypedExpr
    samples: metric_samples.MetricSamples

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return what the metric says about the nodes."""
        current = self.samples.current(batch.nodes.snapshot)
        if current.valid_until is not None:
            batch.state.expire_at(current.valid_until)
        return column.at_rows(current.numbers, batch.nodes.rows)


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Allocatable, requested or free amounts of one resource."""

    source: checked_expr.NodeResource

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the amounts; 0 of a resource that no node and no pod has."""
        return column.Numbers(self._amounts(batch.nodes).astype(np.float64), column.ALWAYS)

    def _amounts(self, nodes: snapshot.NodeView) -> columns.IntArray:
        match self.source.kind:
            case "allocatable":
                return self._allocatable(nodes)
            case "requested":
                return self._requested(nodes)
            case "free":
                return self._allocatable(nodes) - self._requested(nodes)

    def _allocatable(self, nodes: snapshot.NodeView) -> columns.IntArray:
        if self.source.resource == _PODS:
            return nodes.allowed_pods
        return _column_of(nodes, nodes.allocatable, self.source.resource)

    def _requested(self, nodes: snapshot.NodeView) -> columns.IntArray:
        if self.source.resource == _PODS:
            return nodes.pod_count
        return _column_of(nodes, nodes.requested, self.source.resource)


def _column_of(
    nodes: snapshot.NodeView, amounts: columns.IntArray, resource: str
) -> columns.IntArray:
    index = nodes.snapshot.nodes.resources.find(resource)
    if index is None or index >= amounts.shape[1]:
        return np.zeros(len(nodes), np.int64)
    return amounts[:, index]


@dataclasses.dataclass(frozen=True, slots=True)
class PodRequest:
    """What the incoming pod requests of one resource."""

    source: checked_expr.PodRequests

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the amount."""
        return column.constant(batch.shape.requests.amounts.get(self.source.resource, 0))


@dataclasses.dataclass(frozen=True, slots=True)
class PodLimit:
    """What the incoming pod is limited to of one resource."""

    source: checked_expr.PodLimits

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the amount, missing where there is no limit."""
        limit = pod_requests.limit(batch.shape.limits, self.source.resource)
        return column.MISSING if limit is None else column.constant(limit)


@dataclasses.dataclass(frozen=True, slots=True)
class Priority:
    """The priority of the incoming pod."""

    source: checked_expr.PodPriority

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the number."""
        return column.constant(batch.shape.priority)


@dataclasses.dataclass(frozen=True, slots=True)
class LabelNumber:
    """A node label read as a decimal number."""

    source: checked_expr.TypedExpr
    numbers: label_numbers.LabelNumbers

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the numbers, missing where there is none."""
        return self.numbers.on(batch.nodes)


@dataclasses.dataclass(frozen=True, slots=True)
class Arithmetic:
    """A sum, difference, product or quotient."""

    source: checked_expr.TypedExpr
    operation: arithmetic.Binary
    left: NumberExpr
    right: NumberExpr

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the result."""
        return self.operation(self.left.evaluate(batch), self.right.evaluate(batch))


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function of numbers."""

    source: checked_expr.TypedExpr
    function: arithmetic.Function
    arguments: tuple[NumberExpr, ...]

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the result."""
        return self.function([argument.evaluate(batch) for argument in self.arguments])


@dataclasses.dataclass(frozen=True, slots=True)
class Fallback:
    """A number, and what stands for it where it is missing."""

    source: checked_expr.TypedExpr
    value: NumberExpr
    fallback: NumberExpr

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the result."""
        value = self.value.evaluate(batch)
        if value.is_valid is column.ALWAYS or value.is_valid.all():
            return column.Numbers(value.values, column.ALWAYS)
        return arithmetic.coalesce(value, self.fallback.evaluate(batch))


# --- conditions ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two numbers."""

    source: checked_expr.TypedExpr
    comparison: compare.Comparison
    left: NumberExpr
    right: NumberExpr

    def evaluate(self, batch: Batch) -> column.Truths:
        """Return where it holds."""
        left, right = self.left.evaluate(batch), self.right.evaluate(batch)
        return compare.compare(self.comparison, left, right)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMatches:
    """A selector on the node."""

    source: checked_expr.TypedExpr
    selector: node_masks.NodeMask

    def evaluate(self, batch: Batch) -> column.Truths:
        """Return which nodes match."""
        return column.definite(self.selector.mask(batch.nodes))


@dataclasses.dataclass(frozen=True, slots=True)
class PodMatches:
    """A selector on the incoming pod."""

    source: checked_expr.TypedExpr
    selector: pod_predicates.PodPredicate

    def evaluate(self, batch: Batch) -> column.Truths:
        """Return whether the pod matches, the same for all nodes."""
        matches = np.bool_(self.selector(batch.shape))
        return column.definite(cast("columns.BoolArray", matches))


@dataclasses.dataclass(frozen=True, slots=True)
class AllOf:
    """Kleene and; what is the same on all nodes comes first and may settle it."""

    source: checked_expr.TypedExpr
    operands: tuple[TruthExpr, ...]

    def evaluate(self, batch: Batch) -> column.Truths:
        """Return the conjunction."""
        found = []
        for operand in self.operands:
            found.append(operand.evaluate(batch))
            if found[-1].is_false is column.ALWAYS:
                return found[-1]
        return logic.all_of(found)


@dataclasses.dataclass(frozen=True, slots=True)
class AnyOf:
    """Kleene or; what is the same on all nodes comes first and may settle it."""

    source: checked_expr.TypedExpr
    operands: tuple[TruthExpr, ...]

    def evaluate(self, batch: Batch) -> column.Truths:
        """Return the disjunction."""
        found = []
        for operand in self.operands:
            found.append(operand.evaluate(batch))
            if found[-1].is_true is column.ALWAYS:
                return found[-1]
        return logic.any_of(found)


@dataclasses.dataclass(frozen=True, slots=True)
class Negation:
    """Kleene not."""

    source: checked_expr.TypedExpr
    operand: TruthExpr

    def evaluate(self, batch: Batch) -> column.Truths:
        """Return the negation."""
        return logic.negation(self.operand.evaluate(batch))
