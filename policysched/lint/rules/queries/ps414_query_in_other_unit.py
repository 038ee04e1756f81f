"""PS414: a query whose series names imply a unit other than the one that its metric declares."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import units
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_units


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        declared = _get_expected_query_unit(each.metric.unit)
        found = query_units.infer_unit(each.expr)
        if declared is not None and found is not None and not found.has_same_dimension(declared):
            yield _make_finding(each, found)


def _get_expected_query_unit(unit: units.Unit) -> units.Unit | None:
    """Return the unit that the query should have, or None for `number`, which allows any unit.

    For `cores`, the unit is `number`, because cores are seconds of CPU time per second.
    """
    if unit == units.CORES:
        return units.NUMBER
    return None if unit == units.NUMBER else unit


def _make_finding(each: queries.MetricQuery, found: units.Unit) -> diagnostics.Diagnostic:
    """Return the finding for a query whose names imply the unit `found`."""
    named = "plain numbers" if found.is_dimensionless else str(found)
    return diagnostics.Diagnostic(
        "PS414",
        f"the names in the query indicate {named}, but `{each.metric.name}` is declared as "
        f"{each.metric.unit}",
        each.span,
        notes=("thresholds and other numbers are read in the declared unit",),
        help="declare the unit of the query, or correct the query",
    )


RULE = rule.LintRule("PS414", diagnostics.Severity.WARNING, _find_violations)
