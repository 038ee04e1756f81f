"""Operands of `and` and `or` that only read the pod come first: they may settle it for all nodes.

node(gpu Exists) and pod(team = red) → pod(team = red) and node(gpu Exists)
"""

from __future__ import annotations

import dataclasses

from policysched.compiler import expressions
from policysched.compiler.rewrites import tree
from policysched.lang.checked import checked_expr


def rewrite(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    """Return the expression with operands reordered."""
    return tree.bottom_up(expr, _reorder)


def _reorder(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    match expr:
        case checked_expr.And(operands=operands) | checked_expr.Or(operands=operands):
            ordered = sorted(operands, key=lambda each: bool(expressions.reads(each)))
            return dataclasses.replace(expr, operands=tuple(ordered))
        case _:
            return expr
