"""Checked expressions become instructions of programs: one arm for each kind of expression."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from types import MappingProxyType
from typing import Protocol, assert_never

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import node_texts
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.compiler import evidence, inputs, program
from policysched.compiler.devices import device_numbers
from policysched.compiler.metrics import added_load, metric_samples, outages, readings
from policysched.compiler.nodes import label_numbers, node_creation, node_masks
from policysched.compiler.pods import counted_pods, pod_predicates, pod_sets, pod_values
from policysched.framework import cycle_state
from policysched.kernels import programs
from policysched.lang.checked import checked, checked_expr, elapsed_times
from policysched.plugins.kernels import domains

_AMOUNTS = MappingProxyType(
    {
        "allocatable": programs.ALLOCATABLE,
        "requested": programs.REQUESTED,
        "free": programs.FREE,
    }
)
_POD_COUNTS = MappingProxyType(
    {
        "allocatable": programs.ALLOWED_PODS,
        "requested": programs.POD_COUNT,
        "free": programs.FREE_PODS,
    }
)
_OPERATORS = MappingProxyType(
    {
        "+": programs.ADD,
        "-": programs.SUBTRACT,
        "*": programs.MULTIPLY,
        "/": programs.DIVIDE,
    }
)
_FUNCTIONS = MappingProxyType(
    {
        "min": programs.MINIMUM,
        "max": programs.MAXIMUM,
        "abs": programs.ABSOLUTE,
        "floor": programs.FLOOR,
        "ceil": programs.CEILING,
        "mod": programs.MODULO,
    }
)
_COMPARISONS = MappingProxyType(
    {
        "=": programs.EQUAL,
        "!=": programs.UNEQUAL,
        "<": programs.LESS,
        "<=": programs.LESS_OR_EQUAL,
        ">": programs.GREATER,
        ">=": programs.GREATER_OR_EQUAL,
    }
)


class Metrics(Protocol):
    """What a reference to a metric stands for."""

    def samples(self, ref: checked_expr.MetricRef) -> metric_samples.MetricSamples:
        """Return the samples that it reads."""
        ...

    def added(self, ref: checked_expr.MetricRef) -> added_load.AddedLoad | None:
        """Return what just-placed pods add; None if nothing is declared."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """A number, or a condition as 1 and 0; NaN is a missing number or an unknown condition."""

    source: checked_expr.TypedExpr
    program: program.Program

    def evaluate(
        self, nodes: snapshot.NodeView, shape: pod_shape.PodShape, state: cycle_state.CycleState
    ) -> columns.FloatArray:
        """Return float64 (n,) for pods of a shape."""
        found: columns.FloatArray = self.program.run(nodes, shape, state)[0]
        return found


class ExpressionWriter:
    """Writes expressions into a draft, equal ones once."""

    def __init__(
        self,
        metrics: Metrics,
        counters: counted_pods.PodCounters,
        devices: device_numbers.DeviceNumbers,
        table: inputs.InputTable,
        *,
        grows: bool,
    ) -> None:
        """Read metrics from `metrics`; with `grows`, just-placed pods add to them.

        `counters` count pods, and `devices` devices.
        """
        self.draft = program.ProgramDraft()
        self._metrics = metrics
        self._counters = counters
        self._devices = devices
        self._table = table
        self._grows = grows
        self._known: dict[tuple[type, checked_expr.TypedExpr], int] = {}

    def write(self, expr: checked_expr.TypedExpr) -> int:
        """Return the register of an expression."""
        key = (type(expr), expr)
        if key not in self._known:
            self._known[key] = self._write(expr)
        return self._known[key]

    def _write(self, expr: checked_expr.TypedExpr) -> int:
        emit = self.draft.emit
        match expr:
            case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
                return emit(_OPERATORS[operator], self.write(left), self.write(right))
            case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
                return self._chain(_FUNCTIONS[function], arguments)
            case checked_expr.ValueWithFallback(value=value, fallback=fallback):
                return emit(programs.ELSE, self.write(value), self.write(fallback))
            case checked_expr.Compare(comparator=comparator, left=left, right=right):
                bound = elapsed_times.find_time_bound(expr)
                if bound is not None and bound.kind == "nodeAge":
                    return self._node_age(bound)
                return emit(_COMPARISONS[comparator], self.write(left), self.write(right))
            case checked_expr.And(operands=operands):
                return self._chain(programs.AND, operands)
            case checked_expr.Or(operands=operands):
                return self._chain(programs.OR, operands)
            case checked_expr.Not(operand=operand):
                return emit(programs.NOT, self.write(operand))
            case _:
                return self._leaf(expr)

    def _chain(self, operation: int, operands: Sequence[checked_expr.TypedExpr]) -> int:
        """Write an operation on one, two or more operands."""
        first, *others = [self.write(each) for each in operands]
        if not others and operation not in _OF_TWO:
            return self.draft.emit(operation, first)
        for other in others:
            first = self.draft.emit(operation, first, other)
        return first

    def _leaf(
        self,
        expr: checked_expr.Const
        | checked_expr.MetricRef
        | checked_expr.NodeResource
        | checked_expr.PodRequests
        | checked_expr.PodLimits
        | checked_expr.PodPriority
        | checked_expr.ElapsedTime
        | checked_expr.NodeLabelNumber
        | checked_expr.DeviceNumber
        | checked_expr.PlacedPodCount
        | checked_expr.NodeMatch
        | checked_expr.NodeLabelIsPodValue
        | checked_expr.PodMatch,
    ) -> int:
        match expr:
            case checked_expr.Const(value=value):
                return self.draft.emit_constant(float(value))
            case checked_expr.MetricRef():
                return self._metric(expr)
            case checked_expr.NodeResource():
                return self._amount(expr)
            case checked_expr.NodeLabelNumber(key=key):
                read = node_texts.make_annotation_key(key) if expr.of == "annotation" else key
                return self._input(expr, inputs.LabelNumberInput(label_numbers.LabelNumbers(read)))
            case checked_expr.NodeMatch(selector=selector):
                return self._input(expr, inputs.NodeMatchInput(node_masks.lower(selector)))
            case checked_expr.NodeLabelIsPodValue():
                return self._label_comparison(expr)
            case checked_expr.ElapsedTime(kind="nodeAge"):
                return self._age()
            case checked_expr.PlacedPodCount():
                return self.draft.emit_count(self._counters.compile(expr))
            case checked_expr.DeviceNumber():
                return self.draft.emit_device_number(self._devices.compile(expr))
            case _:
                return self.draft.emit_pod_constant(_make_pod_constant(expr))

    def _amount(self, expr: checked_expr.NodeResource) -> int:
        if expr.resource == "pods":
            return self.draft.emit(_POD_COUNTS[expr.kind])
        return self.draft.emit_amount(_AMOUNTS[expr.kind], expr.resource)

    def _label_comparison(self, expr: checked_expr.NodeLabelIsPodValue) -> int:
        """Compare the number of the node's label with the number of the pod's value."""
        self.draft.binds_again = True
        label = self._input(expr.key, inputs.NodeLabelIdInput(expr.key))
        wanted = self.draft.emit_pod_constant(pod_values.make_label_id_reader(expr))
        return self.draft.emit(programs.EQUAL, label, wanted)

    def _age(self) -> int:
        """Compute the age of the node now; results are not kept beyond this moment."""
        created = self._input("created", node_creation.NodeCreationInput())
        moment = self.draft.emit_pod_constant(node_creation.make_moment_reader(0))
        age = self.draft.emit(programs.SUBTRACT, moment, created)
        return self.draft.emit(programs.MAXIMUM, self.draft.emit_constant(0.0), age)

    def _node_age(self, bound: elapsed_times.TimeBound) -> int:
        """Compare the creation of the node with that of nodes that just reach the age."""
        if bound.seconds <= 0:  # no age is negative, not even one that is unknown
            return self.draft.emit_constant(float(bound.holds_after))
        self.draft.binds_again = True
        created = self._input("created", node_creation.NodeCreationInput())
        self.draft.age_bounds.append((self.draft.code[-1][2], bound.seconds))
        moment = self.draft.emit_pod_constant(node_creation.make_moment_reader(bound.seconds))
        has_reached = self.draft.emit(programs.LESS_OR_EQUAL, created, moment)
        return has_reached if bound.holds_after else self.draft.emit(programs.NOT, has_reached)

    def _metric(self, ref: checked_expr.MetricRef) -> int:
        samples = self._metrics.samples(ref)
        self.draft.samples.append(samples)
        measured = self._input((ref.metric, ref.window), inputs.MetricInput(samples))
        added = self._metrics.added(ref) if self._grows else None
        if added is None:
            return measured
        load = self._input((ref.metric, "added"), inputs.AddedLoadInput(added))
        return self.draft.emit(programs.ADD, measured, load)

    def _input(self, key: Hashable, new: inputs.Input) -> int:
        return self.draft.emit(programs.INPUT, self._table.add((type(new), key), new))


_OF_TWO = (programs.MINIMUM, programs.MAXIMUM, programs.AND, programs.OR)


def _make_pod_constant(
    expr: checked_expr.PodRequests
    | checked_expr.PodLimits
    | checked_expr.PodPriority
    | checked_expr.ElapsedTime
    | checked_expr.PodMatch,
) -> program.PodConstant:
    """Return the function that computes a field of the incoming pod."""
    match expr:
        case checked_expr.PodRequests(resource=resource):
            return lambda shape, _: float(shape.get_requested_amount(resource))
        case checked_expr.PodLimits(resource=resource):
            return lambda shape, _: _get_limit(shape, resource)
        case checked_expr.PodPriority():
            return lambda shape, _: float(shape.priority)
        case checked_expr.ElapsedTime(kind="waiting"):
            return lambda shape, _: float(shape.times.waiting_seconds)
        case checked_expr.ElapsedTime():
            return lambda shape, _: float(shape.times.age_seconds)
        case checked_expr.PodMatch(selector=selector):
            matches = pod_predicates.lower(selector)
            return lambda shape, _: float(matches(shape))
        case _:
            assert_never(expr)


def _get_limit(shape: pod_shape.PodShape, resource: str) -> float:
    limit = pod_requests.get_resource_limit(shape.limits, resource)
    return math.nan if limit is None else float(limit)


class Lowering:
    """Lowers the expressions of one profile, which share the samples of its metrics."""

    def __init__(
        self,
        metrics: Metrics,
        counters: counted_pods.PodCounters | None = None,
        *,
        grows: bool = True,
    ) -> None:
        """Read metrics from `metrics`; without `grows`, just-placed pods add nothing to them.

        `counters` count pods; by default, they share nothing with other rules.
        """
        self._metrics = metrics
        self._counters = counters or counted_pods.PodCounters(
            pod_sets.PodSets(), domains.DomainsByKey()
        )
        self._devices = device_numbers.DeviceNumbers()
        self._table = inputs.InputTable()
        self._grows = grows

    def measured(self) -> Lowering:
        """Return one that reads samples alone."""
        return Lowering(self._metrics, self._counters, grows=False)

    def lower(self, expr: checked_expr.TypedExpr) -> Expression:
        """Return the program of a number or a condition."""
        writer = self.begin_program()
        writer.draft.end(programs.STORE, writer.write(expr))
        return Expression(expr, self.finish_program(writer))

    def begin_program(self) -> ExpressionWriter:
        """Return a writer for a program of several results."""
        return ExpressionWriter(
            self._metrics, self._counters, self._devices, self._table, grows=self._grows
        )

    def finish_program(self, writer: ExpressionWriter) -> program.Program:
        """Return the program that was written."""
        return program.Program(writer.draft, self._table)

    def queries(self, expr: checked_expr.TypedExpr) -> tuple[tuple[str | None, ...], ...]:
        """Return what is asked for the metrics that an expression reads, in its order.

        That is the query, the label of nodes, and the source, None for the default one.
        """
        asked = [self._metrics.samples(ref).metric for ref in readings.metric_refs(expr)]
        return tuple((each.promql, each.label, each.source_name) for each in asked)

    def outage(self, expr: checked_expr.TypedExpr) -> outages.Outage:
        """Return what tells whether an expression lost a metric."""
        return outages.Outage(expr, self._metrics.samples)

    def evidence(
        self, head: checked.RuleHead, expr: checked_expr.TypedExpr
    ) -> evidence.RuleEvidence | None:
        """Return what tells what a rule saw of its metrics; None if it reads none."""
        readers = tuple(
            readings.MetricReader(self._metrics.samples(ref), self._metrics.added(ref))
            for ref in readings.metric_refs(expr)
        )
        return evidence.RuleEvidence(head, expr, readers) if readers else None

    def metric_name(self, ref: checked_expr.MetricRef) -> str:
        """Return the name of a reference for messages."""
        return readings.MetricReader(self._metrics.samples(ref), None).name
