"""Lay out items and statements canonically (see policysched.lang.formatting.formatter)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from policysched.lang.syntax import printing, syntax, syntax_expr

WIDTH = 100
INDENT = "  "
_CONTINUATION = INDENT * 3

value = printing.format_value


def format_item(
    item: syntax.Version
    | syntax.Import
    | syntax.Param
    | syntax.LetExpr
    | syntax.LetSelector
    | syntax.Metric,
) -> list[str]:
    """Return the lines of a top-level item that is not a block."""
    match item:
        case syntax.Version(number=number):
            return [f"version {number.text}"]
        case syntax.Import(key=key):
            return [f"import {value(key)}"]
        case syntax.Param(name=name, type=kind, default=default):
            return [f"param {value(name)}: {value(kind)} = {printing.format_amount(default)}"]
        case syntax.LetExpr(name=name, expr=expr):
            first, *rest = _split_at_outermost_operator(expr)
            return _wrap_parts_into_lines([f"let {value(name)} = {first}", *rest], 0)
        case syntax.LetSelector(name=name, selector=selector):
            first, *rest = _split_at_outermost_connective(selector)
            return _wrap_parts_into_lines([f"let {value(name)} = {{ {first}", *rest, "}"], 0)
        case syntax.Metric():
            return _format_metric(item)
        case _:
            assert_never(item)


def _format_metric(metric: syntax.Metric) -> list[str]:
    head = f"metric {value(metric.name)}: {value(metric.type)} ="
    query = f"{INDENT}`{metric.query.text}`"
    options = [printing.format_clause(option) for option in metric.options]
    filled = _wrap_parts_into_lines(options, len(INDENT)) if options else []
    return [head, *query.split("\n"), *(INDENT + line for line in filled)]


def format_statement(node: syntax.Statement | syntax.ProfileStatement) -> list[str]:
    """Return the lines of a statement, without the indentation of its block."""
    match node:
        case (
            syntax.ProfilePolicies()
            | syntax.ExcludePolicies()
            | syntax.UsePlugin()
            | syntax.DisablePlugins()
            | syntax.BuiltinWeight()
            | syntax.OnOutage()
            | syntax.ProfileParam()
        ):
            return _format_profile_statement(node)
        case _:
            return _wrap_parts_into_lines(list(_split_at_line_breaks(node)), len(INDENT))


def _wrap_parts_into_lines(pieces: Sequence[str], indent: int) -> list[str]:
    """Join parts of a statement into lines up to the maximum width; indent continuation lines."""
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if indent + len(lines[-1]) + 1 + len(piece) <= WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(_CONTINUATION + piece)
    return lines


def _split_at_line_breaks(node: syntax.Statement) -> Iterator[str]:
    """Yield the parts of a statement between which a line break is allowed."""
    head, *clauses = printing.format_head_and_clauses(node)
    match node:
        case syntax.NodeAffinity(selector=selector) | syntax.ClusterAffinity(selector=selector):
            text, pieces = (
                printing.format_selector(selector),
                _split_at_outermost_connective(selector),
            )
        case syntax.Reject(condition=expr) | syntax.Score(value=expr):
            text, pieces = printing.format_expression(expr), _split_at_outermost_operator(expr)
        case syntax.Scope(where=where) if where is not None:
            head, clauses = printing.format_statement(node), []
            text, pieces = printing.format_selector(where), _split_at_outermost_connective(where)
        case _:
            text, pieces = "", [""]
    yield head.removesuffix(text) + pieces[0]
    yield from pieces[1:]
    yield from clauses


def _split_at_outermost_connective(selector: syntax_expr.Selector) -> list[str]:
    """Return the operands of the outermost `and` or `or`, each with its connective."""
    match selector:
        case syntax_expr.SelectorAnd(operands=operands):
            return _join_by_connective(operands, "and")
        case syntax_expr.SelectorOr(operands=operands):
            return _join_by_connective(operands, "or")
        case _:
            return [printing.format_selector(selector)]


def _join_by_connective(operands: Sequence[syntax_expr.Selector], connective: str) -> list[str]:
    texts = [printing.format_selector_operand(each) for each in operands]
    return [texts[0], *(f"{connective} {text}" for text in texts[1:])]


def _split_at_outermost_operator(expr: syntax_expr.Expr) -> list[str]:
    """Return the operands of the outermost `and`, `or` or comparison, or the terms of a sum."""
    match expr:
        case syntax_expr.Comparison(operator=comparator, left=left, right=right):
            first, *rest = _split_compared_number(right)
            return [*_split_compared_number(left), f"{comparator} {first}", *rest]
        case syntax_expr.ExprAnd(operands=operands):
            texts = [printing.format_condition_operand(each) for each in operands]
            return [texts[0], *(f"and {text}" for text in texts[1:])]
        case syntax_expr.ExprOr(operands=operands):
            texts = [printing.format_condition_operand(each) for each in operands]
            return [texts[0], *(f"or {text}" for text in texts[1:])]
        case syntax_expr.Binary(operator="+" | "-"):
            return _split_into_terms(expr)
        case _:
            return [printing.format_expression(expr)]


def _split_into_terms(expr: syntax_expr.Binary) -> list[str]:
    """Return the terms of a sum, each with its sign."""
    level, left = printing.PRECEDENCE[expr.operator], expr.left
    if (
        isinstance(left, syntax_expr.Binary)
        and left.operator in ("+", "-")
        and not printing.keeps_parentheses(left)
    ):
        first = _split_into_terms(left)
    else:
        first = [printing.format_arithmetic_operand(left, level)]
    right = printing.format_arithmetic_operand(expr.right, level + 1)
    terms, whole = [*first, f"{expr.operator} {right}"], printing.format_expression(expr)
    return terms if " ".join(terms) == whole else [whole]  # `pod- x` must not become `pod - x`


def _split_compared_number(expr: syntax_expr.Expr) -> list[str]:
    """Return the terms of a side of a comparison."""
    number = printing.format_compared_number(expr)
    is_plain = number == printing.format_expression(expr)  # without parentheses
    return _split_at_outermost_operator(expr) if is_plain else [number]


# ---------------------------------------------------------------------------- profiles


def _format_profile_statement(node: syntax.ProfileStatement) -> list[str]:
    """Return the lines of a profile statement; long plugin arguments get several lines."""
    line = printing.format_profile_statement(node)
    if len(INDENT) + len(line) <= WIDTH or not isinstance(node, syntax.UsePlugin) or not node.args:
        return [line]
    head = [
        f"plugin {value(node.name)}",
        *(f"weight {printing.format_amount(each)}" for each in node.weights),
    ]
    lines = [" ".join(head)]
    for args in node.args:
        first, *rest = _format_args_on_lines(args, "", len(INDENT))
        lines[-1] += f" args {first}"
        lines += rest
    return lines


def _format_args(node: syntax.ArgsValue, prefix: str, indent: int) -> list[str]:
    """Return plugin arguments on one line if they fit, or else on several lines."""
    line = prefix + printing.format_args_value(node)
    if indent + len(line) < WIDTH or isinstance(node, syntax.ArgsScalar):  # `<`: room for a comma
        return [line]
    return _format_args_on_lines(node, prefix, indent)


def _format_args_on_lines(
    node: syntax.ArgsObject | syntax.ArgsList, prefix: str, indent: int
) -> list[str]:
    """Return an object or list with each entry on its own line."""
    if isinstance(node, syntax.ArgsObject):
        opening, closing = "{", "}"
        parts = [(f"{value(key)}: ", inner) for key, inner in node.entries]
    else:
        opening, closing = "[", "]"
        parts = [("", inner) for inner in node.items]
    lines = [prefix + opening]
    for start, inner in parts:
        inner_lines = _format_args(inner, start, indent + len(INDENT))
        inner_lines[-1] += ","
        lines += [INDENT + each for each in inner_lines]
    return [*lines, closing]
