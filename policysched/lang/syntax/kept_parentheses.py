"""Mark the parentheses that `fmt` keeps although the tree does not need them.

`fmt` keeps parentheses if the reader would otherwise need to know precedence: after `not`, around
`not …` next to `and` or `or`, between different arithmetic signs, and around `… else …` in a
comparison. It removes all others: around a whole condition, a name, a number or a call, around a
comparison next to `and`, around a sum in a comparison, and doubled parentheses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from policysched.lang.syntax import printing, syntax_expr

_STAY: dict[type, tuple[type, ...]] = {
    syntax_expr.SelectorNot: (syntax_expr.Requirement, syntax_expr.SelectorNot),
    syntax_expr.SelectorAnd: (syntax_expr.SelectorNot,),
    syntax_expr.SelectorOr: (syntax_expr.SelectorNot,),
    syntax_expr.ExprNot: (syntax_expr.Comparison, syntax_expr.ExprNot),
    syntax_expr.ExprAnd: (syntax_expr.ExprNot,),
    syntax_expr.ExprOr: (syntax_expr.ExprNot,),
    syntax_expr.Comparison: (syntax_expr.Else,),
    syntax_expr.Binary: (syntax_expr.Negate,),
    syntax_expr.Else: (syntax_expr.Binary,),
    syntax_expr.Negate: (),
}
"""Operator -> operands that keep their parentheses; required parentheses are always printed."""


def mark_kept_parentheses(node: Any, operands: Sequence[Any], grouped: Sequence[bool]) -> Any:  # noqa: ANN401 - returns a node of the type that it was given
    """Mark the operands of a new node that keep their parentheses.

    Args:
        node: the node that the parser has just built.
        operands: the operands of the node, in text order.
        grouped: for each operand, whether it was written in parentheses.
    """
    pairs = enumerate(zip(operands, grouped, strict=True))
    stays = [is_grouped and _keeps_parentheses(node, each, at) for at, (each, is_grouped) in pairs]
    if not any(stays):
        return node
    marked = {
        id(each): dataclasses.replace(each, in_parentheses=True)
        for each, is_kept in zip(operands, stays, strict=True)
        if is_kept
    }
    if hasattr(node, "operands"):
        changed = tuple(marked.get(id(each), each) for each in node.operands)
        return dataclasses.replace(node, operands=changed)
    names = [each.name for each in dataclasses.fields(node)]
    values = {name: getattr(node, name) for name in names}
    return dataclasses.replace(
        node, **{name: marked[id(each)] for name, each in values.items() if id(each) in marked}
    )


def _keeps_parentheses(outer: object, inner: object, position: int) -> bool:
    """Return whether an operand keeps its parentheses; `position` is 0 (left) or 1 (right)."""
    if isinstance(outer, syntax_expr.Binary) and isinstance(inner, syntax_expr.Binary):
        least = printing.PRECEDENCE[outer.operator] + position
        binds_first = printing.PRECEDENCE[inner.operator] >= least
        return binds_first and inner.operator != outer.operator
    if isinstance(outer, syntax_expr.Else) and isinstance(inner, syntax_expr.Else):
        return position == 1
    return isinstance(inner, _STAY[type(outer)])


def strip_parentheses_marks(node: Any) -> Any:  # noqa: ANN401 - as above
    """Remove all marks from a tree, because names of rules must not depend on them."""
    changes: dict[str, object] = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        bare = _strip_value_marks(value)
        if bare is not value:
            changes[field.name] = bare
    if getattr(node, "in_parentheses", False):
        changes["in_parentheses"] = False
    return dataclasses.replace(node, **changes) if changes else node


def _strip_value_marks(value: object) -> object:
    if isinstance(value, syntax_expr.SyntaxNode):
        return strip_parentheses_marks(value)
    if isinstance(value, tuple):
        inner = tuple(_strip_value_marks(each) for each in value)
        return inner if any(a is not b for a, b in zip(inner, value, strict=True)) else value
    return value
