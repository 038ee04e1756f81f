"""The labels of a query's series and result, if the query itself determines them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import promql_parser

from policysched.promql import functions, query_tree

BUCKET_LABEL = "le"
"""The upper bound of a bucket of a classic histogram."""
_VECTORS = (query_tree.QueryResultKind.VECTOR, query_tree.QueryResultKind.MATRIX)


def find_possible_labels(expr: promql_parser.Expr) -> frozenset[str] | None:
    """Return a superset of the labels in the query's result; None if it is not known."""
    match expr:
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
            return find_possible_labels(expr.expr)
        case promql_parser.AggregateExpr():
            return _find_aggregation_labels(expr)
        case promql_parser.BinaryExpr():
            return _find_operation_labels(expr)
        case promql_parser.Call():
            return _find_call_labels(expr)
        case _:
            return None


def _find_aggregation_labels(expr: promql_parser.AggregateExpr) -> frozenset[str] | None:
    """Return a superset of the labels after an aggregation; None if it is not known."""
    inner = find_possible_labels(expr.expr)
    if str(expr.op) in functions.SELECTING_AGGREGATIONS:
        return inner
    if str(expr.op) == "count_values":
        return None
    if expr.modifier is None:
        return frozenset()
    named = frozenset(expr.modifier.labels)
    if expr.modifier.type == promql_parser.AggModifierType.By:
        return named if inner is None else named & inner
    return None if inner is None else inner - named


def _find_operation_labels(expr: promql_parser.BinaryExpr) -> frozenset[str] | None:
    """Return a superset of the labels after a binary operation; None if it is not known."""
    for side, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
        if query_tree.find_result_kind(side) == query_tree.QueryResultKind.SCALAR:
            return find_possible_labels(other)
    left, right = find_possible_labels(expr.lhs), find_possible_labels(expr.rhs)
    operator, modifier = str(expr.op), expr.modifier
    if operator == "or":
        return None if left is None or right is None else left | right
    if operator in functions.LEFT_SET_OPERATORS:
        return left
    if modifier is None:
        return left
    if modifier.card != promql_parser.VectorMatchCardinality.OneToOne:
        return None
    if modifier.matching is None:
        return left
    named = frozenset(modifier.matching.labels)
    if modifier.matching.type == promql_parser.LabelModifierType.Include:
        return named
    return None if left is None else left - named


def _find_call_labels(expr: promql_parser.Call) -> frozenset[str] | None:
    """Return a superset of the labels after a function call; None if it is not known."""
    if expr.func.name in functions.LABEL_FUNCTIONS:
        inner = find_possible_labels(expr.args[0])
        return None if inner is None else inner | {expr.args[1].val}
    vectors = [arg for arg in expr.args if query_tree.find_result_kind(arg) in _VECTORS]
    inner = (
        find_possible_labels(vectors[0]) if len(vectors) == 1 and expr.func.name != "info" else None
    )
    if inner is not None and expr.func.name in functions.BUCKET_FUNCTIONS:
        return inner - {BUCKET_LABEL}
    return inner


def find_equality_matched_labels(expr: promql_parser.Expr) -> frozenset[str]:
    """Return the labels for which every selector of an expression has an equality matcher."""
    found = [
        {
            matcher.name
            for matcher in each.matchers.matchers
            if matcher.op == promql_parser.MatchOp.Equal
        }
        for each in query_tree.list_selectors(expr)
    ]
    return frozenset.intersection(*map(frozenset, found)) if found else frozenset()


def find_source_labels(expr: promql_parser.Expr, label: str) -> frozenset[str]:
    """Return the labels from which a label function computes `label`."""
    found: set[str] = set()
    for each in query_tree.find_calls(expr, functions.LABEL_FUNCTIONS):
        written, *others = (arg.val for arg in each.args[1:])
        if written == label:
            # label_replace(v, dst, replacement, src, regex), label_join(v, dst, separator, src...)
            found.update(others[1:2] if each.func.name == "label_replace" else others[1:])
    return frozenset(found)


def find_required_matchers(
    selector: promql_parser.VectorSelector,
) -> Iterator[tuple[str, str | None]]:
    """Yield each label that the series must have, with its value if only one value matches."""
    for matcher in selector.matchers.matchers:
        if matcher.op == promql_parser.MatchOp.Equal and matcher.value:
            yield matcher.name, matcher.value
        elif matcher.op == promql_parser.MatchOp.Re and not _matches_empty_value(matcher.value):
            yield matcher.name, None


def _matches_empty_value(pattern: str) -> bool:
    """Return whether a pattern matches "", the value of an absent label; True if unsure.

    Prometheus uses Go's regular expressions, so a pattern that Python refuses can still be valid.
    """
    try:
        return re.fullmatch(pattern, "") is not None
    except re.error:
        return True
