"""PS408: a query that returns only some nodes, read by a score."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.checked import checked, checked_expr
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_samples


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each query that a score reads and that filters by value."""
    scored = {
        key
        for policy in about.program.policies
        for each in policy.rules
        if isinstance(each, checked.ExpressionScoreRule)
        for key in checked_expr.list_read_metrics(each.value)
    }
    for each in about.metric_queries:
        if each.metric.key not in scored:
            continue
        part = query_samples.find_value_filter(each.expr)
        if part is not None:
            yield _make_finding(each, part)


def _make_finding(each: queries.MetricQuery, part: promql_parser.Expr) -> diagnostics.Diagnostic:
    """Return the finding for the part of a query that leaves out nodes."""
    what = str(part.op) if isinstance(part, promql_parser.AggregateExpr) else "comparison"
    return diagnostics.Diagnostic(
        "PS408",
        f"the `{what}` in `{each.metric.name}` omits nodes, so the score reads missing values",
        each.locate_query_part(part),
        notes=("the omitted nodes change from sample to sample, and so do their points",),
        help="query all nodes; limits belong in `reject when` or `normalize linear(…)`",
    )


RULE = rule.LintRule("PS408", diagnostics.Severity.WARNING, _find_violations)
