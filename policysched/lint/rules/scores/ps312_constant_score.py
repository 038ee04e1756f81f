"""PS312: a score that is the same for every node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from policysched.lang.checked import checked, checked_expr
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import ranges, rule_conditions

_OF_NODES = (
    checked_expr.MetricRef,
    checked_expr.NodeResource,
    checked_expr.NodeLabelNumber,
    checked_expr.PlacedPodCount,
    checked_expr.DeviceNumber,
    checked_expr.NodeMatch,
    checked_expr.NodeLabelIsPodValue,
)


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    metrics = {metric.key: metric for metric in about.program.metrics}
    for policy in about.program.policies:
        for each in policy.rules:
            if isinstance(each, checked.ExpressionScoreRule):
                why = _explain_equal_points(each, metrics)
                if why:
                    yield _make_finding(each, why)


def _explain_equal_points(
    each: checked.ExpressionScoreRule, metrics: rule_conditions.Metrics
) -> str:
    """Return the reason why all nodes get the same points, or "" if their points can differ."""
    if not any(_depends_on_node(part) for part in checked_expr.walk_expressions(each.value)):
        return "it does not depend on the node"
    if each.value.unit is None:
        return ""  # PS302 and PS310 report constant conditions
    found = ranges.find_value_range(each.value, metrics)
    if found.is_single:
        return f"its value is always {found.low:g}"
    points = _compute_constant_points(each.normalization, found)
    if points is not None:
        return f"all values from {found.low:g} to {found.high:g} get {points:g} points here"
    return ""


def _depends_on_node(part: checked_expr.TypedExpr) -> bool:
    if isinstance(part, checked_expr.ElapsedTime):
        return part.kind == "nodeAge"
    return isinstance(part, _OF_NODES)


def _compute_constant_points(
    normalization: checked.Normalization | None, found: ranges.ValueRange
) -> float | None:
    """Return the points that all values in a range get, or None if their points differ."""
    match normalization:
        case checked.LinearNormalization(low=low, high=high):
            if found.high <= low:
                return 0.0
            return 100.0 if found.low >= high else None
        case checked.ShapeNormalization(points=points):
            return _compute_constant_shape_points(points, found)
        case _:
            return None


def _compute_constant_shape_points(
    points: tuple[tuple[float, int], ...], found: ranges.ValueRange
) -> float | None:
    """Return the points of a shape if they are constant over the range."""
    bends = [value for value, _ in points if found.low < value < found.high]
    heights = {
        _interpolate_shape_points(points, value) for value in (found.low, *bends, found.high)
    }
    return heights.pop() if len(heights) == 1 else None


def _interpolate_shape_points(points: tuple[tuple[float, int], ...], value: float) -> float:
    """Return the points of a value: linear between two points, constant outside the shape."""
    for (left, low), (right, high) in itertools.pairwise(points):
        if left <= value < right:
            return low + (high - low) * (value - left) / (right - left)
    return float(points[0][1] if value < points[0][0] else points[-1][1])


def _make_finding(each: checked.ExpressionScoreRule, why: str) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS312",
        f"every node gets the same points from this score: {why}",
        each.value.span,
        notes=("equal points for all nodes do not influence the decision",),
        help="score a value that differs between nodes, within the bounds of `normalize`",
    )


RULE = rule.LintRule("PS312", diagnostics.Severity.WARNING, _find_violations)
