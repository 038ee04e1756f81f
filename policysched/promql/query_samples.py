"""Find the samples that a query reads, and the parts of it that remove series by value."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.promql import functions, query_tree


def find_raw_selectors(expr: promql_parser.Expr) -> Iterator[promql_parser.VectorSelector]:
    """Yield the selectors whose values are used directly, not through a function of a range."""
    match expr:
        case promql_parser.VectorSelector():
            yield expr
        case promql_parser.SubqueryExpr():
            return  # the function around it determines how the values are used
        case promql_parser.Call() if expr.func.name in functions.VALUE_IGNORING_FUNCTIONS:
            return
        case promql_parser.AggregateExpr() if str(expr.op) in functions.VALUE_IGNORING_FUNCTIONS:
            return
        case _:
            for child in query_tree.list_children(expr):
                yield from find_raw_selectors(child)


def find_raw_series_names(expr: promql_parser.Expr) -> frozenset[str]:
    """Return the names of the series whose values are used directly."""
    return frozenset(each.name or "" for each in find_raw_selectors(expr))


def reads_buckets(expr: promql_parser.Expr) -> bool:
    """Return whether a query reads bucket series of classic histograms."""
    return any((each.name or "").endswith("_bucket") for each in query_tree.list_selectors(expr))


def get_range_seconds(expr: promql_parser.Expr) -> float | None:
    """Return the length of a range or subquery in seconds; None for other expressions."""
    match expr:
        case promql_parser.MatrixSelector(range=length) | promql_parser.SubqueryExpr(range=length):
            return None if length is None else length.total_seconds()
        case _:
            return None


def reads_time_range(expr: promql_parser.Expr) -> bool:
    """Return whether a query, or a recording rule that it reads, can read more than one instant."""
    return any(
        isinstance(part, promql_parser.MatrixSelector | promql_parser.SubqueryExpr)
        or (isinstance(part, promql_parser.VectorSelector) and ":" in (part.name or ""))
        for part in query_tree.walk_query(expr)
    )


def is_filtering_comparison(expr: promql_parser.BinaryExpr) -> bool:
    """Return whether an operation removes series by value; comparisons with `bool` do not."""
    is_bool = expr.modifier is not None and expr.modifier.return_bool
    return str(expr.op) in functions.COMPARISON_OPERATORS and not is_bool


def find_value_filter(expr: promql_parser.Expr) -> promql_parser.Expr | None:
    """Return the first part that removes series by value, without searching in aggregations."""
    match expr:
        case promql_parser.AggregateExpr() if str(expr.op) in functions.SELECTING_AGGREGATIONS:
            return expr
        case promql_parser.AggregateExpr():
            return None
        case promql_parser.BinaryExpr() if is_filtering_comparison(expr):
            return expr
        case _:
            pass
    found = (find_value_filter(child) for child in query_tree.list_children(expr))
    return next((part for part in found if part is not None), None)


def may_result_be_empty(expr: promql_parser.Expr) -> bool:
    """Return whether a filter operator or an absence function can leave the result empty."""
    if next(query_tree.find_calls(expr, functions.ABSENCE_FUNCTIONS), None) is not None:
        return True
    return any(
        isinstance(part, promql_parser.BinaryExpr) and str(part.op) in functions.FILTER_OPERATORS
        for part in query_tree.walk_query(expr)
    )
