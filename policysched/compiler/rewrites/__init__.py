"""Rewrites of checked expressions that keep their meaning, one in each module, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from policysched.compiler.rewrites import constants_folded
from policysched.lang.checked import checked_expr

Rewrite: TypeAlias = Callable[[checked_expr.TypedExpr], checked_expr.TypedExpr]

RULES: tuple[Rewrite, ...] = (constants_folded.rewrite,)


def apply(expr: checked_expr.TypedExpr) -> checked_expr.TypedExpr:
    """Return the expression after all rewrites."""
    for rewrite in RULES:
        expr = rewrite(expr)
    return expr
