"""Checked expressions become physical ones: one arm per kind of node.

Whatever does not read the incoming pod, and costs more than a look-up, is wrapped in `Kept` at the
highest place possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from policysched.compiler import (
    column,
    expressions,
    kept,
    label_numbers,
    metric_samples,
    node_masks,
    physical,
    pod_predicates,
)
from policysched.compiler.kernels import arithmetic, compare
from policysched.lang import checked_expr

_LOOK_UPS = (checked_expr.Const, checked_expr.MetricRef, checked_expr.NodeResource)


class Lowering:
    """Lowers the expressions of one profile, which share the samples of its metrics."""

    def __init__(
        self, samples: Mapping[str, metric_samples.MetricSamples], *, keeps: bool = True
    ) -> None:
        """Read metrics by key from `samples`; without `keeps` nothing outlives a pod."""
        self._samples = samples
        self._inside_kept = Lowering(samples, keeps=False) if keeps else self
        self._keeps = keeps

    def samples_of(self, expr: checked_expr.TypedExpr) -> tuple[metric_samples.MetricSamples, ...]:
        """Return the metrics that an expression reads."""
        return tuple(self._samples[key] for key in checked_expr.metrics_of(expr))

    def number(self, expr: checked_expr.TypedExpr) -> physical.NumberExpr:
        """Return the plan of a number."""
        if self._keeps and _is_worth_keeping(expr):
            numbers = kept.KeptColumn[column.Numbers](expressions.reads(expr))
            return physical.Kept(self._inside_kept.number(expr), numbers)
        return self._number(expr)

    def _number(self, expr: checked_expr.TypedExpr) -> physical.NumberExpr:
        match expr:
            case checked_expr.Const(value=value):
                return physical.Literal(expr, column.constant(value))
            case checked_expr.MetricRef(metric=key):
                return physical.Metric(expr, self._samples[key])
            case checked_expr.NodeResource():
                return physical.Resource(expr)
            case checked_expr.PodRequests():
                return physical.PodRequest(expr)
            case checked_expr.PodPriority():
                return physical.Priority(expr)
            case checked_expr.NodeLabelNumber(key=key):
                return physical.LabelNumber(expr, label_numbers.LabelNumbers(key))
            case checked_expr.Arithmetic(operator=operator, left=left, right=right):
                operation = arithmetic.OPERATORS[operator]
                return physical.Arithmetic(expr, operation, self.number(left), self.number(right))
            case checked_expr.Call(function=function, arguments=arguments):
                lowered = tuple(self.number(argument) for argument in arguments)
                return physical.Function(expr, arithmetic.FUNCTIONS[function], lowered)
            case (
                checked_expr.Compare()
                | checked_expr.NodeTest()
                | checked_expr.PodTest()
                | checked_expr.And()
                | checked_expr.Or()
                | checked_expr.Not()
            ):
                msg = f"{expr.span}: a condition where a number belongs"
                raise TypeError(msg)
            case _:
                assert_never(expr)

    def condition(self, expr: checked_expr.TypedExpr) -> physical.TruthExpr:
        """Return the plan of a condition."""
        if self._keeps and _is_worth_keeping(expr):
            truths = kept.KeptColumn[column.Truths](expressions.reads(expr))
            return physical.Kept(self._inside_kept.condition(expr), truths)
        return self._condition(expr)

    def _condition(self, expr: checked_expr.TypedExpr) -> physical.TruthExpr:
        match expr:
            case checked_expr.Compare(comparator=comparator, left=left, right=right):
                comparison = compare.COMPARISONS[comparator]
                return physical.Comparison(expr, comparison, self.number(left), self.number(right))
            case checked_expr.NodeTest(selector=selector):
                return physical.NodeMatches(expr, node_masks.lower(selector))
            case checked_expr.PodTest(selector=selector):
                return physical.PodMatches(expr, pod_predicates.lower(selector))
            case checked_expr.And(operands=operands):
                return physical.AllOf(expr, tuple(self.condition(each) for each in operands))
            case checked_expr.Or(operands=operands):
                return physical.AnyOf(expr, tuple(self.condition(each) for each in operands))
            case checked_expr.Not(operand=operand):
                return physical.Negation(expr, self.condition(operand))
            case (
                checked_expr.Const()
                | checked_expr.MetricRef()
                | checked_expr.NodeResource()
                | checked_expr.PodRequests()
                | checked_expr.PodPriority()
                | checked_expr.NodeLabelNumber()
                | checked_expr.Arithmetic()
                | checked_expr.Call()
            ):
                msg = f"{expr.span}: a number where a condition belongs"
                raise TypeError(msg)
            case _:
                assert_never(expr)


def _is_worth_keeping(expr: checked_expr.TypedExpr) -> bool:
    reads = expressions.reads(expr)
    is_look_up = isinstance(expr, _LOOK_UPS)
    return bool(reads) and not is_look_up and not expressions.reads_pod(expr)
