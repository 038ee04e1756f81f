"""PS402: a query that returns several samples for one node."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_labels, query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each query whose samples have labels besides the node's label."""
    for each in about.metric_queries:
        labels = query_labels.find_possible_labels(each.expr)
        if labels is None:
            continue
        label = each.metric.label
        known = (
            {label}
            | query_labels.find_equality_matched_labels(each.expr)
            | query_labels.find_source_labels(each.expr, label)
        )
        more = sorted(labels - known)
        if more:
            yield _make_finding(each, more)


def _make_finding(each: queries.MetricQuery, more: list[str]) -> diagnostics.Diagnostic:
    """Return the finding for a query with additional labels, and the fix that aggregates them."""
    shown = ", ".join(more)
    label = each.metric.label
    aggregations = [
        part
        for part in query_tree.walk_query(each.expr)
        if isinstance(part, promql_parser.AggregateExpr) and part.modifier is not None
    ]
    outer = aggregations[0] if aggregations else each.expr
    return diagnostics.Diagnostic(
        "PS402",
        f"`{each.metric.name}` has a sample for each value of `{shown}`, not one for each node",
        each.locate_query_part(outer),
        notes=(f"`{each.metric.target} {label}` means that `{label}` alone identifies a sample",),
        help=f"aggregate them: `max by ({label}) (…)`",
        fix=_make_fix(each, label),
    )


def _make_fix(each: queries.MetricQuery, label: str) -> diagnostics.Fix:
    span = each.span
    start = each.text.span(span.start, span.start)
    end = each.text.span(span.end, span.end)
    edits = (diagnostics.TextEdit(start, f"max by ({label}) ("), diagnostics.TextEdit(end, ")"))
    return diagnostics.Fix(edits, safe=False)


RULE = rule.LintRule("PS402", diagnostics.Severity.ERROR, _find_violations)
