"""Rebuilding an expression with other operands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from policysched.lang.checked import checked_expr


def bottom_up(
    expr: checked_expr.TypedExpr,
    change: Callable[[checked_expr.TypedExpr], checked_expr.TypedExpr],
) -> checked_expr.TypedExpr:
    """Return the expression with `change` applied to every node, operands first."""
    match expr:
        case checked_expr.ArithmeticOperation(left=left, right=right):
            left, right = bottom_up(left, change), bottom_up(right, change)
            return change(dataclasses.replace(expr, left=left, right=right))
        case checked_expr.Compare(left=left, right=right):
            left, right = bottom_up(left, change), bottom_up(right, change)
            return change(dataclasses.replace(expr, left=left, right=right))
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            value, fallback = bottom_up(value, change), bottom_up(fallback, change)
            return change(dataclasses.replace(expr, value=value, fallback=fallback))
        case checked_expr.NumberFunctionCall(arguments=arguments):
            rebuilt = tuple(bottom_up(each, change) for each in arguments)
            return change(dataclasses.replace(expr, arguments=rebuilt))
        case checked_expr.And(operands=parts) | checked_expr.Or(operands=parts):
            rebuilt = tuple(bottom_up(each, change) for each in parts)
            return change(dataclasses.replace(expr, operands=rebuilt))
        case checked_expr.Not(operand=operand):
            return change(dataclasses.replace(expr, operand=bottom_up(operand, change)))
        case _:
            return change(expr)
