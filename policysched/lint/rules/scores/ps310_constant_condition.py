"""PS310: a condition that is true for all values, or false for all values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from policysched import amounts, units
from policysched.lang.checked import checked_expr, rule_parts
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import ranges, rule_conditions

_CONDITIONS = (checked_expr.Compare, checked_expr.And, checked_expr.Or, checked_expr.Not)


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    metrics = {metric.key: metric for metric in about.program.metrics}
    for policy in about.program.policies:
        for each in policy.rules:
            for expr in rule_parts.list_rule_expressions(each):
                for part in _find_constant_parts(expr, metrics):
                    if not _is_metric_against_constant(part):
                        yield _make_finding(about, part, metrics)


def _find_constant_parts(
    expr: checked_expr.TypedExpr, metrics: rule_conditions.Metrics
) -> Iterator[checked_expr.TypedExpr]:
    """Yield the smallest parts of a condition that are always true or always false."""
    inner = [
        part
        for child in checked_expr.list_operands(expr)
        for part in _find_constant_parts(child, metrics)
    ]
    yield from inner
    if inner or not isinstance(expr, _CONDITIONS):
        return
    if rule_conditions.evaluate_for_all_values(expr, metrics) is not None:
        yield expr


def _is_metric_against_constant(part: checked_expr.TypedExpr) -> bool:
    """Return whether PS302 reports the part, because it compares a metric with a constant."""
    match part:
        case checked_expr.Compare(
            left=checked_expr.MetricRef(grows=False), right=checked_expr.Const()
        ):
            return True
        case _:
            return False


def _make_finding(
    about: rule_input.LintInput, part: checked_expr.TypedExpr, metrics: rule_conditions.Metrics
) -> diagnostics.Diagnostic:
    """Return the finding for a constant condition; name the two parts that decide it, if any."""
    is_true = rule_conditions.evaluate_for_all_values(part, metrics)
    says = "true" if is_true else "false"
    pair = _find_deciding_pair(part, metrics)
    if pair is None:
        return diagnostics.Diagnostic(
            "PS310",
            f"`{_format_condition_part(about, part)}` is {says} for all possible values",
            part.span,
            notes=_make_range_notes(part, metrics),
            help="remove this condition, or compare with a value that distinguishes nodes",
        )
    first, second = pair
    word = "cover all values between them" if is_true else "exclude each other"
    return diagnostics.Diagnostic(
        "PS310",
        f"this condition is always {says}: "
        f"`{_format_condition_part(about, first)}` and "
        f"`{_format_condition_part(about, second)}` {word}",
        second.span,
        secondary=(diagnostics.SpanLabel(first.span, "the other part"),),
        help=f"did you mean `{'and' if is_true else 'or'}`?",
    )


def _find_deciding_pair(
    part: checked_expr.TypedExpr, metrics: rule_conditions.Metrics
) -> tuple[checked_expr.TypedExpr, checked_expr.TypedExpr] | None:
    """Return two operands that decide the condition, if two suffice."""
    if not isinstance(part, checked_expr.And | checked_expr.Or):
        return None
    for pair in itertools.combinations(part.operands, 2):
        if (
            rule_conditions.evaluate_for_all_values(
                _make_condition_of_operands(part, pair), metrics
            )
            is not None
        ):
            return pair
    return None


def _make_condition_of_operands(
    part: checked_expr.And | checked_expr.Or,
    operands: tuple[checked_expr.TypedExpr, ...],
) -> checked_expr.TypedExpr:
    """Return a condition of the same kind with fewer operands."""
    return type(part)(operands, part.span)


def _make_range_notes(
    part: checked_expr.TypedExpr, metrics: rule_conditions.Metrics
) -> tuple[str, ...]:
    if not isinstance(part, checked_expr.Compare):
        return ()
    sides = [ranges.find_value_range(side, metrics) for side in (part.left, part.right)]
    left, right = (_format_range(each, part.left.unit or units.NUMBER) for each in sides)
    return (f"the left side is {left}, the right side {right}",)


def _format_range(values: ranges.ValueRange, unit: units.Unit) -> str:
    low, high = (_format_bound(each, unit) for each in (values.low, values.high))
    if values.is_single:
        return low
    return f"{low} or more" if values.high == math.inf else f"from {low} to {high}"


def _format_bound(value: float, unit: units.Unit) -> str:
    """Return a bound in the notation of policies; a ratio is a plain number, as for `between`."""
    if unit.is_dimensionless or not math.isfinite(value):
        return f"{value:g}"
    return amounts.format_policy_amount(
        value / (units.CORES_SCALE if unit == units.CORES else 1.0), unit
    )


def _format_condition_part(about: rule_input.LintInput, part: checked_expr.TypedExpr) -> str:
    return " ".join(about.texts[part.span.file].slice(part.span).split())


RULE = rule.LintRule("PS310", diagnostics.Severity.WARNING, _find_violations)
