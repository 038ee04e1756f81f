"""Expressions in the form that runs: each node evaluates to a column on the nodes of a batch.

Every node keeps the checked expression it was lowered from, for plans and faults. It says the same
in two ways: `evaluate` on many nodes at once, `at` on a single one, where arrays do not pay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.compiler import (
    column,
    kept,
    label_numbers,
    metric_samples,
)
from policysched.compiler.kernels import arithmetic, scalar
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr

_PODS = "pods"
_FEW_NODES = 8
"""For so few nodes an expression is evaluated as fast as what is kept of it is patched and read."""
ResultT_co = TypeVar("ResultT_co", covariant=True)
AtT_co = TypeVar("AtT_co", covariant=True)


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


@dataclasses.dataclass(slots=True)
class OneNode:
    """The same for one node."""

    node: snapshot.NodeRow
    shape: pod_shape.PodShape
    state: cycle_state.CycleState


class PhysicalExpr(Protocol, Generic[ResultT_co, AtT_co]):
    """A node of the plan."""

    @property
    def source(self) -> checked_expr.TypedExpr:
        """What it was lowered from."""
        ...

    def evaluate(self, batch: Batch) -> ResultT_co:
        """Return the column on the nodes of the batch; to be called inside `arithmetic.quiet()`."""
        ...

    def at(self, one: OneNode) -> AtT_co | None:
        """Return what it is on one node, None where it is missing or unknown."""
        ...


NumberExpr: TypeAlias = PhysicalExpr[column.Numbers, float]
TruthExpr: TypeAlias = PhysicalExpr[column.Truths, bool]


@dataclasses.dataclass(frozen=True, slots=True)
class Kept(Generic[column.ColumnT, AtT_co]):
    """An expression that does not read the pod: its column outlives the pod."""

    inner: PhysicalExpr[column.ColumnT, AtT_co]
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

    def at(self, one: OneNode) -> AtT_co | None:
        """Return what it is on one node."""
        return self.inner.at(one)


def evaluate(expr: PhysicalExpr[ResultT_co, AtT_co], batch: Batch) -> ResultT_co:
    """Return the column of a whole expression; NumPy does not warn of what counts as missing."""
    with arithmetic.quiet():
        return expr.evaluate(batch)


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    source: checked_expr.TypedExpr
    number: float
    value: column.Numbers

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the constant."""
        return self.value

    def at(self, one: OneNode) -> float:
        """Return the constant."""
        return self.number


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

    def at(self, one: OneNode) -> float | None:
        """Return what the metric says about the node."""
        current = self.samples.current(one.node.snapshot)
        if current.valid_until is not None:
            one.state.expire_at(current.valid_until)
        values, is_valid = current.numbers
        row = one.node.row
        return values.item(row) if is_valid is column.ALWAYS or is_valid[row] else None


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Allocatable, requested or free amounts of one resource."""

    source: checked_expr.NodeResource

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the amounts; 0 of a resource that no node and no pod has."""
        return column.Numbers(self._amounts(batch.nodes).astype(np.float64), column.ALWAYS)

    def at(self, one: OneNode) -> float:
        """Return the amount."""
        return float(_AMOUNTS[self.source.kind](one.node, self.source))

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


_AMOUNTS: Mapping[str, Callable[[snapshot.NodeRow, checked_expr.NodeResource], int]] = (
    MappingProxyType(
        {
            "allocatable": lambda node, source: node.allocatable_of(source.resource),
            "requested": lambda node, source: node.requested_of(source.resource),
            "free": lambda node, source: node.free_of(source.resource),
        }
    )
)


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

    def at(self, one: OneNode) -> float:
        """Return the amount."""
        return float(one.shape.requests.amounts.get(self.source.resource, 0))


@dataclasses.dataclass(frozen=True, slots=True)
class PodLimit:
    """What the incoming pod is limited to of one resource."""

    source: checked_expr.PodLimits

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the amount, missing where there is no limit."""
        limit = pod_requests.get_resource_limit(batch.shape.limits, self.source.resource)
        return column.MISSING if limit is None else column.constant(limit)

    def at(self, one: OneNode) -> float | None:
        """Return the amount, None where there is no limit."""
        limit = pod_requests.get_resource_limit(one.shape.limits, self.source.resource)
        return None if limit is None else float(limit)


@dataclasses.dataclass(frozen=True, slots=True)
class Priority:
    """The priority of the incoming pod."""

    source: checked_expr.PodPriority

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the number."""
        return column.constant(batch.shape.priority)

    def at(self, one: OneNode) -> float:
        """Return the number."""
        return float(one.shape.priority)


@dataclasses.dataclass(frozen=True, slots=True)
class LabelNumber:
    """A node label read as a decimal number."""

    source: checked_expr.TypedExpr
    numbers: label_numbers.LabelNumbers

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the numbers, missing where there is none."""
        return self.numbers.on(batch.nodes)

    def at(self, one: OneNode) -> float | None:
        """Return the number, None where there is none."""
        return self.numbers.at(one.node)


@dataclasses.dataclass(frozen=True, slots=True)
class Arithmetic:
    """A sum, difference, product or quotient."""

    source: checked_expr.TypedExpr
    operation: arithmetic.Binary
    on_one: scalar.Binary
    left: NumberExpr
    right: NumberExpr

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the result."""
        return self.operation(self.left.evaluate(batch), self.right.evaluate(batch))

    def at(self, one: OneNode) -> float | None:
        """Return the result on one node."""
        left = self.left.at(one)
        if left is None:
            return None
        right = self.right.at(one)
        return None if right is None else self.on_one(left, right)


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A function of numbers."""

    source: checked_expr.TypedExpr
    function: arithmetic.Function
    on_one: scalar.Function
    arguments: tuple[NumberExpr, ...]

    def evaluate(self, batch: Batch) -> column.Numbers:
        """Return the result."""
        return self.function([argument.evaluate(batch) for argument in self.arguments])

    def at(self, one: OneNode) -> float | None:
        """Return the result on one node."""
        found = [argument.at(one) for argument in self.arguments]
        known = [number for number in found if number is not None]
        return self.on_one(known) if len(known) == len(found) else None


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

    def at(self, one: OneNode) -> float | None:
        """Return the result on one node."""
        value = self.value.at(one)
        return self.fallback.at(one) if value is None else value
