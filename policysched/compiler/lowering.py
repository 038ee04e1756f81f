"""Checked expressions become physical ones: one arm per kind of node.

Whatever does not read the incoming pod, and costs more than a look-up, is wrapped in `Kept` at the
highest place possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from policysched.cluster import snapshot
from policysched.compiler import (
    added_load,
    column,
    conditions,
    evidence,
    expressions,
    fallbacks,
    kept,
    label_numbers,
    metric_samples,
    node_masks,
    outages,
    physical,
    pod_predicates,
    readings,
)
from policysched.compiler.kernels import arithmetic, compare, scalar
from policysched.lang.checked import checked, checked_expr

_LOOK_UPS = (checked_expr.Const, checked_expr.MetricRef, checked_expr.NodeResource)


class Metrics(Protocol):
    """What a reference to a metric stands for."""

    def samples(self, ref: checked_expr.MetricRef) -> metric_samples.MetricSamples:
        """Return the samples that it reads."""
        ...

    def added(self, ref: checked_expr.MetricRef) -> added_load.AddedLoad | None:
        """Return what just-placed pods add; None if nothing is declared."""
        ...


class Lowering:
    """Lowers the expressions of one profile, which share the samples of its metrics."""

    def __init__(self, metrics: Metrics, *, keeps: bool = True, grows: bool = True) -> None:
        """Read metrics from `metrics`.

        Without `keeps` nothing outlives a pod, without `grows` just-placed pods add nothing.
        """
        self._metrics = metrics
        self._inside_kept = Lowering(metrics, keeps=False, grows=grows) if keeps else self
        self._keeps = keeps
        self._grows = grows

    def measured(self) -> Lowering:
        """Return one that goes by samples alone and keeps nothing."""
        return Lowering(self._metrics, keeps=False, grows=False)

    def queries(self, expr: checked_expr.TypedExpr) -> tuple[tuple[str | None, ...], ...]:
        """Return what is asked for the metrics that an expression reads, in its order.

        That is the query, the label of nodes, and the source, None for the default one.
        """
        asked = [self._metrics.samples(ref).metric for ref in readings.metric_refs(expr)]
        return tuple((each.promql, each.label, each.source_name) for each in asked)

    def outage(self, expr: checked_expr.TypedExpr) -> outages.Outage:
        """Return what tells whether an expression lost a metric."""
        return outages.Outage(expr, self._metrics.samples)

    def when_usage_is_ignored(
        self, expr: checked_expr.TypedExpr
    ) -> Callable[[snapshot.Snapshot], bool] | None:
        """Return what tells whether an expression does not follow from usage now; None for never.

        Just-placed pods count as usage.
        """
        return fallbacks.when_usage_is_ignored(expr, self._metrics.samples)

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

    def number(self, expr: checked_expr.TypedExpr) -> physical.NumberExpr:
        """Return the plan of a number."""
        if self._keeps and _is_worth_keeping(expr):
            numbers = kept.KeptColumn[column.Numbers](expressions.reads(expr))
            return physical.Kept(self._inside_kept.number(expr), numbers)
        return self._number(expr)

    def _number(self, expr: checked_expr.TypedExpr) -> physical.NumberExpr:
        match expr:
            case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
                return physical.Arithmetic(
                    expr,
                    arithmetic.OPERATORS[operator],
                    scalar.OPERATORS[operator],
                    self.number(left),
                    self.number(right),
                )
            case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
                lowered = tuple(self.number(argument) for argument in arguments)
                many, one = arithmetic.FUNCTIONS[function], scalar.FUNCTIONS[function]
                return physical.Function(expr, many, one, lowered)
            case checked_expr.ValueWithFallback(value=value, fallback=fallback):
                return physical.Fallback(expr, self.number(value), self.number(fallback))
            case (
                checked_expr.Compare()
                | checked_expr.NodeMatch()
                | checked_expr.PodMatch()
                | checked_expr.And()
                | checked_expr.Or()
                | checked_expr.Not()
            ):
                msg = f"{expr.span}: a condition where a number belongs"
                raise TypeError(msg)
            case _:
                return self._leaf(expr)

    def _leaf(
        self,
        expr: checked_expr.Const
        | checked_expr.MetricRef
        | checked_expr.NodeResource
        | checked_expr.PodRequests
        | checked_expr.PodLimits
        | checked_expr.PodPriority
        | checked_expr.NodeLabelNumber,
    ) -> physical.NumberExpr:
        match expr:
            case checked_expr.Const(value=value):
                return physical.Literal(expr, float(value), column.constant(value))
            case checked_expr.MetricRef():
                return self._metric(expr)
            case checked_expr.NodeResource():
                return physical.Resource(expr)
            case checked_expr.PodRequests():
                return physical.PodRequest(expr)
            case checked_expr.PodLimits():
                return physical.PodLimit(expr)
            case checked_expr.PodPriority():
                return physical.Priority(expr)
            case checked_expr.NodeLabelNumber(key=key):
                return physical.LabelNumber(expr, label_numbers.LabelNumbers(key))
            case _:
                assert_never(expr)

    def _metric(self, ref: checked_expr.MetricRef) -> physical.NumberExpr:
        metric = physical.Metric(ref, self._metrics.samples(ref))
        added = self._metrics.added(ref) if self._grows else None
        return metric if added is None else added_load.Grown(metric, added)

    def condition(self, expr: checked_expr.TypedExpr) -> physical.TruthExpr:
        """Return the plan of a condition."""
        if self._keeps and _is_worth_keeping(expr):
            truths = kept.KeptColumn[column.Truths](expressions.reads(expr))
            return physical.Kept(self._inside_kept.condition(expr), truths)
        return self._condition(expr)

    def _condition(self, expr: checked_expr.TypedExpr) -> physical.TruthExpr:
        match expr:
            case checked_expr.Compare(comparator=comparator, left=left, right=right):
                return conditions.Comparison(
                    expr,
                    compare.COMPARISONS[comparator],
                    scalar.COMPARISONS[comparator],
                    self.number(left),
                    self.number(right),
                )
            case checked_expr.NodeMatch(selector=selector):
                return conditions.NodeMatches(expr, node_masks.lower(selector))
            case checked_expr.PodMatch(selector=selector):
                return conditions.PodMatches(expr, pod_predicates.lower(selector))
            case checked_expr.And(operands=operands):
                return conditions.AllOf(expr, tuple(self.condition(each) for each in operands))
            case checked_expr.Or(operands=operands):
                return conditions.AnyOf(expr, tuple(self.condition(each) for each in operands))
            case checked_expr.Not(operand=operand):
                return conditions.Negation(expr, self.condition(operand))
            case (
                checked_expr.Const()
                | checked_expr.MetricRef()
                | checked_expr.NodeResource()
                | checked_expr.PodRequests()
                | checked_expr.PodLimits()
                | checked_expr.PodPriority()
                | checked_expr.NodeLabelNumber()
                | checked_expr.ArithmeticOperation()
                | checked_expr.NumberFunctionCall()
                | checked_expr.ValueWithFallback()
            ):
                msg = f"{expr.span}: a number where a condition belongs"
                raise TypeError(msg)
            case _:
                assert_never(expr)


def _is_worth_keeping(expr: checked_expr.TypedExpr) -> bool:
    reads = expressions.reads(expr)
    is_look_up = isinstance(expr, _LOOK_UPS)
    return bool(reads) and not is_look_up and not checked_expr.reads_pod(expr)
