"""Arithmetic on constants, which params and lets leave behind, is done once.

0.7 * 100 * cpu_busy → 70 * cpu_busy. What has no value (1 / 0) stays as it is: missing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from policysched.compiler.rewrites import tree
from policysched.lang.checked import checked_expr

_OPERATORS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "min": lambda *operands: min(operands),
        "max": lambda *operands: max(operands),
        "abs": abs,
        "floor": np.floor,
        "ceil": np.ceil,
        "mod": np.mod,
    }
)


def rewrite(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    """Return the expression with constants folded."""
    return tree.bottom_up(expr, _fold)


def _fold(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    match expr:
        case checked_expr.ArithmeticOperation(
            operator=sign,
            left=checked_expr.Const(value=left),
            right=checked_expr.Const(value=right),
        ):
            return _constant(expr, _OPERATORS[sign], [left, right])
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            values = [each.value for each in arguments if isinstance(each, checked_expr.Const)]
            if len(values) < len(arguments):
                return expr
            return _constant(expr, _FUNCTIONS[function], values)
        case _:
            return expr


def _constant(
    expr: checked_expr.ArithmeticOperation | checked_expr.NumberFunctionCall,
    function: Callable[..., Any],
    operands: Sequence[float],
) -> checked_expr.TypedExpr:
    with np.errstate(all="ignore"):
        result = float(function(*map(np.float64, operands)))
    return checked_expr.Const(result, expr.unit, expr.span) if math.isfinite(result) else expr
