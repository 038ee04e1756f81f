"""Convert PromQL trees back to text.

The package `promql_parser` can print its trees, but it loses the colon of a subquery without a step
and the escapes of label values, so its text can have a different meaning. This module parenthesises
every operation, and writes every duration in milliseconds.
"""

from __future__ import annotations

import datetime
import math
import re

import promql_parser

_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*\Z")
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_UNSAFE = re.compile(r'["\\`]')
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class UnwritableQueryError(Exception):
    """A part of a query that this module cannot render; the message names it."""


def render_query(expr: promql_parser.Expr) -> str:
    """Return PromQL that parses to `expr`.

    Raises:
        UnwritableQueryError: the expression contains a part that Prometheus does not have.
    """
    match expr:
        case promql_parser.NumberLiteral():
            return render_number(expr.val)
        case promql_parser.StringLiteral():
            return render_string(expr.val)
        case promql_parser.ParenExpr():
            return render_query(expr.expr)
        case promql_parser.UnaryExpr():
            return f"(-{render_query(expr.expr)})"
        case promql_parser.BinaryExpr():
            return f"({render_query(expr.lhs)} {render_operator(expr)} {render_query(expr.rhs)})"
        case promql_parser.Call():
            return f"{expr.func.name}({', '.join(map(render_query, expr.args))})"
        case promql_parser.AggregateExpr():
            param = "" if expr.param is None else f"{render_query(expr.param)}, "
            return f"{expr.op} {render_grouping(expr)}({param}{render_query(expr.expr)})"
        case _:
            return _render_selection(expr)


def _render_selection(expr: promql_parser.Expr) -> str:
    """Return a selector or subquery, with its window, `@` and `offset`; see `render_query`."""
    match expr:
        case promql_parser.VectorSelector():
            return render_selector(expr) + render_modifiers(expr.at, expr.offset)
        case promql_parser.MatrixSelector():
            inner = expr.vector_selector
            window = f"[{render_duration(expr.range)}]"
            return render_selector(inner) + window + render_modifiers(inner.at, inner.offset)
        case promql_parser.SubqueryExpr() if expr.range is not None:
            step = "" if expr.step is None else render_duration(expr.step)
            window = f"[{render_duration(expr.range)}:{step}]"
            return f"({render_query(expr.expr)}){window}{render_modifiers(expr.at, expr.offset)}"
        case _:
            raise UnwritableQueryError(f"a {type(expr).__name__}")


def strip_parentheses(expr: promql_parser.Expr) -> promql_parser.Expr:
    """Return the expression inside any outer parentheses."""
    while isinstance(expr, promql_parser.ParenExpr):
        expr = expr.expr
    return expr


def render_selector(expr: promql_parser.VectorSelector) -> str:
    """Return the name and matchers of a selector, without `offset` and `@`."""
    if expr.matchers.or_matchers:
        raise UnwritableQueryError("`or` between matchers")
    matchers = [
        f"{_render_label(each.name)}{_OPERATORS[str(each.op)]}{render_string(each.value)}"
        for each in expr.matchers.matchers
    ]
    if expr.name is None:
        return f"{{{','.join(matchers)}}}"
    if not _NAME.match(expr.name):
        return f"{{{','.join([f'__name__={render_string(expr.name)}', *matchers])}}}"
    return f"{expr.name}{{{','.join(matchers)}}}"


def render_name_as_selector(name: str) -> str:
    """Return a selector for the series with this name, which can be untrusted.

    Quotes, backslashes and backticks (which end a query in a policy) become `_`. Names with `:`,
    such as names of recording rules, are quoted.
    """
    return name if _LABEL.match(name) else f'{{__name__="{_UNSAFE.sub("_", name)}"}}'


_OPERATORS = {
    str(promql_parser.MatchOp.Equal): "=",
    str(promql_parser.MatchOp.NotEqual): "!=",
    str(promql_parser.MatchOp.Re): "=~",
    str(promql_parser.MatchOp.NotRe): "!~",
}


def render_modifiers(at: promql_parser.AtModifier | None, offset: datetime.timedelta | None) -> str:
    """Return `@ …` and `offset …`, each preceded by a blank; "" without both."""
    text = "" if at is None else f" {at}"
    return text if offset is None else f"{text} offset {render_duration(offset)}"


def render_grouping(expr: promql_parser.AggregateExpr) -> str:
    """Return `by (…)` or `without (…)` followed by a blank, or "" without a grouping."""
    if expr.modifier is None:
        return ""
    is_by = expr.modifier.type == promql_parser.AggModifierType.By
    return f"{'by' if is_by else 'without'} {_render_labels(expr.modifier.labels)} "


def render_operator(expr: promql_parser.BinaryExpr) -> str:
    """Return an operator with its modifiers: `bool`, `on`, `ignoring` and `group_…`."""
    is_bool = expr.modifier is not None and expr.modifier.return_bool
    return f"{expr.op}{' bool' if is_bool else ''}{render_vector_matching(expr)}"


def render_vector_matching(expr: promql_parser.BinaryExpr) -> str:
    """Return `on`, `ignoring`, `group_left` and `group_right`, preceded by a blank, or ""."""
    modifier = expr.modifier
    if modifier is None:
        return ""
    fill = modifier.fill_values
    if fill.lhs is not None or fill.rhs is not None:
        raise UnwritableQueryError("`fill`")
    text = ""
    if modifier.matching is not None:
        is_on = modifier.matching.type == promql_parser.LabelModifierType.Include
        text = f" {'on' if is_on else 'ignoring'} {_render_labels(modifier.matching.labels)}"
    side = _SIDES.get(str(modifier.card))
    return f"{text} {side} {_render_labels(modifier.group_labels or [])}" if side else text


_SIDES = {
    str(promql_parser.VectorMatchCardinality.ManyToOne): "group_left",
    str(promql_parser.VectorMatchCardinality.OneToMany): "group_right",
}


def render_duration(length: datetime.timedelta) -> str:
    """Return a duration in milliseconds."""
    return f"{round(length / datetime.timedelta(milliseconds=1))}ms"


def render_number(value: float) -> str:
    """Return a number; a negative one is in parentheses."""
    if math.isnan(value):
        return "NaN"
    text = ("Inf" if value > 0 else "-Inf") if math.isinf(value) else repr(value)
    return f"({text})" if text.startswith("-") else text


def render_string(text: str) -> str:
    """Return a string in quotes."""
    return f'"{text.translate(_ESCAPES)}"'


def _render_label(name: str) -> str:
    return name if _LABEL.match(name) else render_string(name)


def _render_labels(names: list[str]) -> str:
    return f"({', '.join(map(_render_label, names))})"
