"""PS404: an operation on series whose label sets can never be equal."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import query_labels, query_tree


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        for part in query_tree.walk_query(each.expr):
            if isinstance(part, promql_parser.BinaryExpr) and str(part.op) != "or":
                yield from _diagnose_label_mismatch(each, part)


def _diagnose_label_mismatch(
    each: queries.MetricQuery, part: promql_parser.BinaryExpr
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if the sides of an operation have different labels and no matching clause."""
    if query_tree.QueryResultKind.SCALAR in {
        query_tree.find_result_kind(part.lhs),
        query_tree.find_result_kind(part.rhs),
    }:
        return
    if part.modifier is not None and part.modifier.matching is not None:
        return
    left, right = (
        query_labels.find_possible_labels(part.lhs),
        query_labels.find_possible_labels(part.rhs),
    )
    if left is None or right is None or left == right:
        return
    yield diagnostics.Diagnostic(
        "PS404",
        f"the two sides of `{part.op}` have different labels: "
        f"{_format_series_label_names(left)} and {_format_series_label_names(right)}",
        each.span,
        notes=(
            f"series match only if all their labels are equal: {_describe_operation_result(part)}",
        ),
        help=f"name the labels to match: `{part.op} on ({each.metric.label})`, with "
        "`group_left` if one side has several",
    )


def _describe_operation_result(part: promql_parser.BinaryExpr) -> str:
    if str(part.op) == "unless":
        return "the right side removes nothing"
    return "the result is empty"


def _format_series_label_names(labels: frozenset[str]) -> str:
    return ", ".join(f"`{label}`" for label in sorted(labels)) or "none"


RULE = rule.LintRule("PS404", diagnostics.Severity.WARNING, _find_violations)
