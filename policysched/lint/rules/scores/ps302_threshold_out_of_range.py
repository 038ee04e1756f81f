"""PS302: a threshold that no value of the metric crosses, or that every value crosses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from policysched import amounts
from policysched.lang.checked import checked, checked_expr, rule_parts
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import ranges


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    metrics = {metric.key: metric for metric in about.program.metrics}
    for policy in about.program.policies:
        for each in policy.rules:
            for expr in rule_parts.list_rule_expressions(each):
                for part in checked_expr.walk_expressions(expr):
                    if isinstance(part, checked_expr.Compare):
                        yield from _diagnose_constant_comparison(part, metrics)


def _diagnose_constant_comparison(
    compare: checked_expr.Compare, metrics: Mapping[str, checked.CheckedMetric]
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if a metric is compared with a constant outside its range."""
    match compare:
        case checked_expr.Compare(
            left=checked_expr.MetricRef(metric=key, grows=False),
            right=checked_expr.Const() as bound,
        ) if key in metrics:
            found = ranges.find_metric_range(metrics[key])
            answer = _evaluate_over_range(compare.comparator, bound.value, found.low, found.high)
            if answer is not None:
                yield _make_finding(metrics[key], bound, compare, answer)
        case _:
            pass


def _evaluate_over_range(comparator: str, bound: float, low: float, high: float) -> bool | None:
    """Return the result of a comparison for all values from `low` to `high`; None if it varies."""
    match comparator:
        case ">":
            return False if bound >= high else True if bound < low else None
        case ">=":
            return False if bound > high else True if bound <= low else None
        case "<":
            return False if bound <= low else True if bound > high else None
        case "<=":
            return False if bound < low else True if bound >= high else None
        case _:
            return None


def _make_finding(
    metric: checked.CheckedMetric,
    bound: checked_expr.Const,
    compare: checked_expr.Compare,
    answer: bool,  # noqa: FBT001 - the result of the comparison, not an option
) -> diagnostics.Diagnostic:
    """Return the finding for a comparison whose result is always `answer`."""
    says = "true" if answer else "false"
    return diagnostics.Diagnostic(
        "PS302",
        f"this comparison of `{metric.name}` is {says} for every possible value",
        bound.span,
        secondary=(diagnostics.SpanLabel(compare.left.span, "this metric"),),
        help=f"its values are {_format_metric_range(metric)}; choose a threshold in this range",
    )


def _format_metric_range(metric: checked.CheckedMetric) -> str:
    """Return the range of values that a metric can have, in its unit."""
    found = ranges.find_metric_range(metric)
    low, high = (amounts.format_amount(end, metric.unit) for end in (found.low, found.high))
    if math.isinf(found.low):
        return f"at most {high}"
    return f"at least {low}" if math.isinf(found.high) else f"from {low} to {high}"


RULE = rule.LintRule("PS302", diagnostics.Severity.WARNING, _find_violations)
