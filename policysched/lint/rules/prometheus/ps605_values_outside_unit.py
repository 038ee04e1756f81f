"""PS605: values outside the range of the declared unit or of `between`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each query with finite values outside the expected bounds."""
    facts = about.prometheus
    if facts is None:
        return
    for each in about.metric_queries:
        answer = facts.queries.get(each.query.text)
        values = [series.value for series in answer.series] if answer is not None else []
        finite = [value for value in values if value is not None and math.isfinite(value)]
        low, high = _get_expected_bounds(each.metric, about.thresholds.max_ratio)
        outside = [value for value in finite if not low <= value <= high]
        if outside:
            farthest = max(outside, key=lambda value: abs(value - min(max(value, low), high)))
            yield diagnostics.Diagnostic(
                "PS605",
                f"{len(outside)} of {len(finite)} values of `{each.metric.name}` are outside "
                f"the range of {_describe_expected_bounds(each.metric)}, such as {farthest:g}",
                each.span,
                help="correct the unit, the bounds or the query (a percentage is not a ratio)",
            )


def _get_expected_bounds(metric: checked.CheckedMetric, max_ratio: float) -> tuple[float, float]:
    """Return the bounds of the expected values, in the scale of the query."""
    low = -math.inf if metric.unit.is_dimensionless and not metric.unit.is_ratio else 0.0
    high = max_ratio if metric.unit.is_ratio else math.inf
    return (
        low if metric.low is None else metric.low,
        high if metric.high is None else metric.high,
    )


def _describe_expected_bounds(metric: checked.CheckedMetric) -> str:
    is_bounded = metric.low is not None or metric.high is not None
    return "its `between`" if is_bounded else f"the unit `{metric.unit}`"


RULE = rule.LintRule("PS605", diagnostics.Severity.WARNING, _find_violations)
