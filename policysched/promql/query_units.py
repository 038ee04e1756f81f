"""Infer the unit of a query's values, and whether they are in percent, from the names in it.

By Prometheus' conventions (https://prometheus.io/docs/practices/naming/), names end in base units
(`_bytes`, `_seconds`, `_ratio`), and names of counters in `_total`. If a name has none of these
suffixes, its unit and the unit of every value computed from it are unknown.
"""

from __future__ import annotations

import promql_parser

from policysched import units
from policysched.promql import functions, query_tree

_NONE = units.NUMBER
_BY_SUFFIX = {"_bytes": units.BYTES, "_seconds": units.SECONDS, "_ratio": _NONE}
_NAMED_OTHERWISE = {"node_network_speed_bytes": units.BYTES.multiply_unit(units.SECONDS, -1)}
"""Series of node_exporter whose names do not contain their full unit."""
_SCALES = frozenset(map(float, [10**power for power in range(19)] + [2**10, 2**20, 2**30, 2**40]))
"""Factors that convert between scales of the same unit: percent, kilo, mebi."""
_PERCENT = 100.0
_PERCENT_SUFFIXES = ("_percent", "_percentage", "_pct")


def infer_unit(expr: promql_parser.Expr) -> units.Unit | None:
    """Return the unit of a query; a ratio counts as a plain number. None if it is not known."""
    match expr:
        case promql_parser.VectorSelector():
            return _infer_name_unit(expr.name or "")
        case promql_parser.MatrixSelector():
            return infer_unit(expr.vector_selector)
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
            return infer_unit(expr.expr)
        case promql_parser.AggregateExpr():
            is_kept = str(expr.op) in functions.UNIT_KEEPING_AGGREGATIONS
            return infer_unit(expr.expr) if is_kept else None
        case promql_parser.Call():
            return _infer_call_unit(expr)
        case promql_parser.BinaryExpr():
            return _infer_operation_unit(expr)
        case _:
            return None


def _infer_name_unit(name: str) -> units.Unit | None:
    if ":" in name:
        return None  # a recording rule, whose operations are unknown
    if name in _NAMED_OTHERWISE:
        return _NAMED_OTHERWISE[name]
    if name.endswith(("_count", "_bucket")):
        return _NONE
    base = name.removesuffix("_total").removesuffix("_sum")
    return next((unit for suffix, unit in _BY_SUFFIX.items() if base.endswith(suffix)), None)


def _infer_call_unit(expr: promql_parser.Call) -> units.Unit | None:
    """Return the unit of a function's result; None if it is not known."""
    name = expr.func.name
    if name == "time":
        return units.SECONDS
    if name == "histogram_quantile":
        return _infer_histogram_unit(expr.args[1])
    if name not in functions.PER_SECOND_FUNCTIONS | functions.UNIT_KEEPING_FUNCTIONS:
        return None
    kinds = (query_tree.QueryResultKind.VECTOR, query_tree.QueryResultKind.MATRIX)
    inner = next(
        (infer_unit(arg) for arg in expr.args if query_tree.find_result_kind(arg) in kinds), None
    )
    if inner is None or name not in functions.PER_SECOND_FUNCTIONS:
        return inner
    return inner.multiply_unit(units.SECONDS, -1)


def _infer_histogram_unit(expr: promql_parser.Expr) -> units.Unit | None:
    """Return the unit of the values that a histogram observes."""
    for part in query_tree.walk_query(expr):
        if isinstance(part, promql_parser.VectorSelector):
            return _infer_name_unit((part.name or "").removesuffix("_bucket"))
    return None


def _infer_operation_unit(expr: promql_parser.BinaryExpr) -> units.Unit | None:
    """Return the unit of a binary operation's result; None if it is not known."""
    operator = str(expr.op)
    if operator in functions.UNIT_KEEPING_OPERATORS:
        is_answer = expr.modifier is not None and expr.modifier.return_bool
        return None if is_answer else infer_unit(expr.lhs)
    left, right = (infer_unit(side) for side in (expr.lhs, expr.rhs))
    is_left_number, is_right_number = (_is_number_literal(side) for side in (expr.lhs, expr.rhs))
    if operator in {"+", "-"}:
        if is_left_number or is_right_number:
            return right if is_left_number else left
        return left if left == right else None
    if operator not in {"*", "/"} or not all(
        _is_unit_keeping_factor(side) for side in (expr.lhs, expr.rhs)
    ):
        return None
    left = _NONE if is_left_number else left
    right = _NONE if is_right_number else right
    if left is None or right is None:
        return None
    found = left.multiply_unit(right, 1 if operator == "*" else -1)
    return _NONE if found.is_dimensionless else found


def _is_number_literal(expr: promql_parser.Expr) -> bool:
    match expr:
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            return _is_number_literal(expr.expr)
        case promql_parser.BinaryExpr():
            return _is_number_literal(expr.lhs) and _is_number_literal(expr.rhs)
        case _:
            return isinstance(expr, promql_parser.NumberLiteral)


def _is_unit_keeping_factor(factor: promql_parser.Expr) -> bool:
    """Return whether a factor keeps the unit; `/ 300` can divide by seconds, `* 8` yields bits."""
    match factor:
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            return _is_unit_keeping_factor(factor.expr)
        case promql_parser.NumberLiteral(val=value):
            return abs(value) in _SCALES or 1 / abs(value or 1.0) in _SCALES
        case _:
            return not _is_number_literal(factor)


def is_in_percent(expr: promql_parser.Expr) -> bool:
    """Return whether the values are percentages, by factors of 100 and suffixes of series names."""
    return _infer_scale(expr) == _PERCENT


def _infer_scale(expr: promql_parser.Expr) -> float | None:
    """Return the scale of values: for example 1 for shares, 100 for percent; None for a literal."""
    match expr:
        case promql_parser.NumberLiteral():
            return None
        case promql_parser.VectorSelector():
            return _PERCENT if (expr.name or "").endswith(_PERCENT_SUFFIXES) else 1.0
        case promql_parser.MatrixSelector():
            return _infer_scale(expr.vector_selector)
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
            return _infer_scale(expr.expr)
        case promql_parser.AggregateExpr():
            is_counting = str(expr.op) in functions.COUNTING_AGGREGATIONS
            return 1.0 if is_counting else _infer_scale(expr.expr)
        case promql_parser.BinaryExpr():
            return _infer_operation_scale(expr)
        case promql_parser.Call():
            scales = [found for arg in expr.args if (found := _infer_scale(arg)) is not None]
            return scales[0] if len(scales) == 1 else 1.0
        case _:
            return 1.0


def _infer_operation_scale(expr: promql_parser.BinaryExpr) -> float | None:
    """Return the scale of a binary operation's result; None if no operand determines it."""
    left, right = _infer_factor_scale(expr.lhs), _infer_factor_scale(expr.rhs)
    match str(expr.op):
        case "*":
            return left * right
        case "/":
            return left / right if right else None
        case _:
            scales = [found for side in (expr.lhs, expr.rhs) if (found := _infer_scale(side))]
            return scales[0] if scales else None


def _infer_factor_scale(side: promql_parser.Expr) -> float:
    """Return the scale of a factor; a literal has scale 1, except the literal 100."""
    if isinstance(side, promql_parser.NumberLiteral):
        return _PERCENT if side.val == _PERCENT else 1.0
    return _infer_scale(side) or 1.0
