"""Arithmetic on constants, which params and lets leave behind, is done once.

0.7 * 100 * cpu_busy → 70 * cpu_busy. What has no value (1 / 0) stays as it is: missing.
"""

from __future__ import annotations

from policysched.compiler import column
from policysched.compiler.kernels import arithmetic
from policysched.compiler.rewrites import tree
from policysched.lang.checked import checked_expr


def rewrite(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    """Return the expression with constants folded."""
    return tree.bottom_up(expr, _fold)


def _fold(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    match expr:
        case checked_expr.ArithmeticOperation(
            operator=operator,
            left=checked_expr.Const(value=left),
            right=checked_expr.Const(value=right),
        ):
            with arithmetic.quiet():
                result = arithmetic.OPERATORS[operator](
                    column.constant(left), column.constant(right)
                )
            return _constant(expr, result)
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            values = [each.value for each in arguments if isinstance(each, checked_expr.Const)]
            if len(values) < len(arguments):
                return expr
            with arithmetic.quiet():
                result = arithmetic.FUNCTIONS[function]([column.constant(v) for v in values])
            return _constant(expr, result)
        case _:
            return expr


def _constant(
    expr: checked_expr.ArithmeticOperation | checked_expr.NumberFunctionCall, result: column.Numbers
) -> checked_expr.TypedExpr:
    if not result.is_valid:
        return expr
    return checked_expr.Const(float(result.values), expr.unit, expr.span)
