"""PS413: a query in percent for a metric that is declared as a ratio."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_units


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        if each.metric.unit.is_ratio and query_units.is_in_percent(each.expr):
            yield _make_finding(each)


def _make_finding(each: queries.MetricQuery) -> diagnostics.Diagnostic:
    """Return the finding for a query in percent, with a fix that divides it by 100."""
    span = each.span
    edits = (
        diagnostics.TextEdit(each.text.span(span.start, span.start), "("),
        diagnostics.TextEdit(each.text.span(span.end, span.end), ") / 100"),
    )
    return diagnostics.Diagnostic(
        "PS413",
        f"the query is in percent, but `{each.metric.name}` is a ratio, from 0 to 1",
        span,
        notes=("80 is read as 8000%, above every threshold from 0% to 100%",),
        help="remove the factor 100, or divide by 100",
        fix=diagnostics.Fix(edits, safe=False),
    )


RULE = rule.LintRule("PS413", diagnostics.Severity.WARNING, _find_violations)
