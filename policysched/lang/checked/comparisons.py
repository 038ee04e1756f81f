"""Analyse comparisons: negated and exchanged operators, constant sides, and versions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from policysched import release_version
from policysched.lang.checked import checked_expr, checked_selector

SIGNS: Mapping[checked_selector.Comparator, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED: Mapping[checked_selector.Comparator, checked_selector.Comparator] = {
    "=": "=",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
"""Operator -> the equivalent operator after exchanging the sides."""
NEGATED: Mapping[checked_selector.Comparator, checked_selector.Comparator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
"""Operator -> the operator that is true if and only if the original is false."""


def split_constant_comparison(
    condition: checked_expr.TypedExpr,
) -> tuple[checked_expr.TypedExpr, checked_selector.Comparator, float | None]:
    """Split a comparison with a constant into the expression, the operator and the constant.

    For any other condition, return the condition itself, "=" and None.
    """
    if isinstance(condition, checked_expr.Compare):
        left, right = evaluate_constant(condition.left), evaluate_constant(condition.right)
        if right is not None and left is None:
            return condition.left, condition.comparator, right
        if left is not None and right is None:
            return condition.right, MIRRORED[condition.comparator], left
    return condition, "=", None


def evaluate_constant(expr: checked_expr.TypedExpr) -> float | None:
    """Return the value of an expression that consists of constants; None for other expressions."""
    match expr:
        case checked_expr.Const(value=value):
            return value
        case checked_expr.ArithmeticOperation(operator=sign, left=left, right=right):
            values = (evaluate_constant(left), evaluate_constant(right))
            if values[0] is None or values[1] is None or (sign == "/" and not values[1]):
                return None
            return _compute_operation(sign, values[0], values[1])
        case _:
            return None


def _compute_operation(sign: str, left: float, right: float) -> float:
    """Compute one arithmetic operation; the caller has excluded a division by zero."""
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left / right


def compare_version(
    value: str, comparator: checked_selector.Comparator, bound: release_version.VersionBound
) -> bool:
    """Return whether the text of a version meets a comparison; an unknown one is only unequal."""
    version = release_version.parse_release_version(value)
    if version is None:
        return comparator == "!="
    return SIGNS[comparator](bound.compare(version), 0)
