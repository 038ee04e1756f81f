"""PS412: a quantile of a histogram whose buckets were aggregated."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import functions, query_labels, query_samples, query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        for part in query_tree.find_calls(each.expr, functions.BUCKET_FUNCTIONS):
            losing = query_tree.find_label_loss(part.args[-1], query_labels.BUCKET_LABEL)
            if losing is not None and query_samples.reads_buckets(part.args[-1]):
                yield _make_finding(each, part, losing)


def _make_finding(
    each: queries.MetricQuery, call: promql_parser.Call, losing: promql_parser.Expr
) -> diagnostics.Diagnostic:
    """Return the finding for the part of a query that drops the bucket label."""
    return diagnostics.Diagnostic(
        "PS412",
        f"`{call.func.name}` needs the label `{query_labels.BUCKET_LABEL}`, which is missing here",
        each.locate_query_part(losing),
        notes=(
            (
                "without this label, the buckets of a histogram cannot be distinguished, and "
                "the result is empty"
            ),
        ),
        help=f"keep the label: `sum by ({each.metric.label}, {query_labels.BUCKET_LABEL}) (…)`",
        fix=_make_fix(each, losing),
    )


def _make_fix(each: queries.MetricQuery, losing: promql_parser.Expr) -> diagnostics.Fix | None:
    """Return the fix that adds the label to `by (…)`, or None without such a clause."""
    if not isinstance(losing, promql_parser.AggregateExpr) or losing.modifier is None:
        return None
    if losing.modifier.type != promql_parser.AggModifierType.By:
        return None
    start = each.locate_query_part(losing).start
    words = [
        (token, each.query.locate_query_range(token.start, token.end, each.text))
        for token in each.tokens
    ]
    following = [(token, span) for token, span in words if span.start > start]
    by = next((index for index, (token, _) in enumerate(following) if token.text == "by"), None)
    if by is None or following[by + 1][0].text != "(":
        return None
    place = following[by + 1][1].end
    edit = diagnostics.TextEdit(each.text.span(place, place), f"{query_labels.BUCKET_LABEL}, ")
    return diagnostics.Fix((edit,), safe=False)


RULE = rule.LintRule("PS412", diagnostics.Severity.ERROR, _find_violations)
