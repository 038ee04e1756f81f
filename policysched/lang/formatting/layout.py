"""Lines of items and statements in canonical form (see policysched.lang.formatting.formatter)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from policysched.lang.syntax import printing, syntax, syntax_expr

WIDTH = 100
INDENT = "  "
_CONTINUATION = INDENT * 3

value = printing.value


def item_lines(
    item: syntax.Version
    | syntax.Import
    | syntax.Param
    | syntax.LetExpr
    | syntax.LetSelector
    | syntax.Metric,
) -> list[str]:
    """Return the lines of a top-level item that is no block."""
    match item:
        case syntax.Version(number=number):
            return [f"version {number.text}"]
        case syntax.Import(key=key):
            return [f"import {value(key)}"]
        case syntax.Param(name=name, type=kind, default=default):
            return [f"param {value(name)}: {value(kind)} = {printing.amount(default)}"]
        case syntax.LetExpr(name=name, expr=expr):
            first, *rest = _expr_pieces(expr)
            return _fill([f"let {value(name)} = {first}", *rest], 0)
        case syntax.LetSelector(name=name, selector=selector):
            first, *rest = _selector_pieces(selector)
            return _fill([f"let {value(name)} = {{ {first}", *rest, "}"], 0)
        case syntax.Metric():
            return _metric_lines(item)
        case _:
            assert_never(item)


def _metric_lines(metric: syntax.Metric) -> list[str]:
    head = f"metric {value(metric.name)}: {value(metric.type)} ="
    query = f"{INDENT}`{metric.query.text}`"
    options = [printing.clause(option) for option in metric.options]
    filled = _fill(options, len(INDENT)) if options else []
    return [head, *query.split("\n"), *(INDENT + line for line in filled)]


def statement_lines(node: syntax.Statement | syntax.ProfileStatement) -> list[str]:
    """Return the lines of a statement, without the indentation of its block."""
    match node:
        case (
            syntax.ProfilePolicies()
            | syntax.UsePlugin()
            | syntax.DisablePlugins()
            | syntax.BuiltinWeight()
            | syntax.OnOutage()
            | syntax.ProfileParam()
        ):
            return _profile_lines(node)
        case _:
            return _fill(list(_pieces(node)), len(INDENT))


def _fill(pieces: Sequence[str], indent: int) -> list[str]:
    """Put pieces on lines up to the width; further lines are indented."""
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if indent + len(lines[-1]) + 1 + len(piece) <= WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(_CONTINUATION + piece)
    return lines


def _pieces(node: syntax.Statement) -> Iterator[str]:
    """Yield the stretches of a statement between which a line may end."""
    head, *clauses = printing.statement_parts(node)
    match node:
        case syntax.NodeAffinity(selector=selector) | syntax.ClusterAffinity(selector=selector):
            text, pieces = printing.selector(selector), _selector_pieces(selector)
        case syntax.Reject(condition=expr) | syntax.Score(value=expr):
            text, pieces = printing.expr(expr), _expr_pieces(expr)
        case syntax.Scope(where=where) if where is not None:
            head, clauses = printing.statement(node), []
            text, pieces = printing.selector(where), _selector_pieces(where)
        case _:
            text, pieces = "", [""]
    yield head.removesuffix(text) + pieces[0]
    yield from pieces[1:]
    yield from clauses


def _selector_pieces(selector: syntax_expr.Selector) -> list[str]:
    """Return the operands of the outermost `and` or `or`, each with its connective."""
    match selector:
        case syntax_expr.SelectorAnd(operands=operands):
            return _joined(operands, "and")
        case syntax_expr.SelectorOr(operands=operands):
            return _joined(operands, "or")
        case _:
            return [printing.selector(selector)]


def _joined(operands: Sequence[syntax_expr.Selector], connective: str) -> list[str]:
    texts = [printing.selector_operand(each) for each in operands]
    return [texts[0], *(f"{connective} {text}" for text in texts[1:])]


def _expr_pieces(expr: syntax_expr.Expr) -> list[str]:
    """Return the operands of the outermost `and` or `or`, or the terms of a sum."""
    match expr:
        case syntax_expr.ExprAnd(operands=operands):
            texts = [printing.condition_operand(each) for each in operands]
            return [texts[0], *(f"and {text}" for text in texts[1:])]
        case syntax_expr.ExprOr(operands=operands):
            texts = [printing.condition_operand(each) for each in operands]
            return [texts[0], *(f"or {text}" for text in texts[1:])]
        case syntax_expr.Binary(operator="+" | "-" as sign, left=left, right=right):
            level = printing.PRECEDENCE[sign]
            is_sum = isinstance(left, syntax_expr.Binary) and left.operator in ("+", "-")
            is_sum = is_sum and not printing.stays(left)
            first = _expr_pieces(left) if is_sum else [printing.arithmetic_operand(left, level)]
            return [*first, f"{sign} {printing.arithmetic_operand(right, level + 1)}"]
        case _:
            return [printing.expr(expr)]


# ---------------------------------------------------------------------------- profiles


def _profile_lines(node: syntax.ProfileStatement) -> list[str]:
    line = printing.profile_statement(node)
    if len(INDENT) + len(line) <= WIDTH or not isinstance(node, syntax.UsePlugin) or not node.args:
        return [line]
    head = [
        f"plugin {value(node.name)}",
        *(f"weight {printing.amount(each)}" for each in node.weights),
    ]
    lines = [" ".join(head)]
    for args in node.args:
        first, *rest = _broken_args(args, "", len(INDENT))
        lines[-1] += f" args {first}"
        lines += rest
    return lines


def _args_lines(node: syntax.ArgsValue, prefix: str, indent: int) -> list[str]:
    """Return plugin arguments on one line if they fit, else on several."""
    line = prefix + printing.args_value(node)
    if indent + len(line) < WIDTH or isinstance(node, syntax.ArgsScalar):  # a comma follows
        return [line]
    return _broken_args(node, prefix, indent)


def _broken_args(node: syntax.ArgsObject | syntax.ArgsList, prefix: str, indent: int) -> list[str]:
    """Return an object or list with each part on a line of its own."""
    if isinstance(node, syntax.ArgsObject):
        opening, closing = "{", "}"
        parts = [(f"{value(key)}: ", inner) for key, inner in node.entries]
    else:
        opening, closing = "[", "]"
        parts = [("", inner) for inner in node.items]
    lines = [prefix + opening]
    for start, inner in parts:
        inner_lines = _args_lines(inner, start, indent + len(INDENT))
        inner_lines[-1] += ","
        lines += [INDENT + each for each in inner_lines]
    return [*lines, closing]
