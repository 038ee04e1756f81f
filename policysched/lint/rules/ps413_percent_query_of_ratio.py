"""PS413: a query in percent, of a metric that is declared as a ratio."""

from __future__ import annotations

from collections.abc import Iterator

import promql_parser

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.facts import queries
from policysched.promql import functions

_PERCENT = 100.0
_NAMES = ("_percent", "_percentage", "_pct")


def _check(about: rule_input.RuleInput) -> Iterator[diagnostics.Diagnostic]:
    for each in about.metric_queries:
        if each.metric.unit.is_ratio and _scale(each.expr) == _PERCENT:
            yield _finding(each)


def _scale(expr: promql_parser.Expr) -> float | None:
    """Return by how much values are larger than shares, as far as factors of 100 tell."""
    match expr:
        case promql_parser.NumberLiteral():
            return None
        case promql_parser.VectorSelector():
            return _PERCENT if (expr.name or "").endswith(_NAMES) else 1.0
        case promql_parser.MatrixSelector():
            return _scale(expr.vector_selector)
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
            return _scale(expr.expr)
        case promql_parser.AggregateExpr():
            is_counting = str(expr.op) in functions.COUNTING_AGGREGATIONS
            return 1.0 if is_counting else _scale(expr.expr)
        case promql_parser.BinaryExpr():
            return _scale_of_operation(expr)
        case promql_parser.Call():
            scales = [found for arg in expr.args if (found := _scale(arg)) is not None]
            return scales[0] if len(scales) == 1 else 1.0
        case _:
            return 1.0


def _scale_of_operation(expr: promql_parser.BinaryExpr) -> float | None:
    left, right = _factor(expr.lhs), _factor(expr.rhs)
    match str(expr.op):
        case "*":
            return left * right
        case "/":
            return left / right if right else None
        case _:
            scales = [found for side in (expr.lhs, expr.rhs) if (found := _scale(side))]
            return scales[0] if scales else None


def _factor(side: promql_parser.Expr) -> float:
    """Return the scale of a factor; a number counts if it is 100."""
    if isinstance(side, promql_parser.NumberLiteral):
        return _PERCENT if side.val == _PERCENT else 1.0
    return _scale(side) or 1.0


def _finding(each: queries.MetricQuery) -> diagnostics.Diagnostic:
    span = each.span
    edits = (
        diagnostics.TextEdit(each.text.span(span.start, span.start), "("),
        diagnostics.TextEdit(each.text.span(span.end, span.end), ") / 100"),
    )
    return diagnostics.Diagnostic(
        "PS413",
        f"the query is in percent, and `{each.metric.name}` is a ratio, from 0 to 1",
        span,
        notes=("80 is read as 8000%: every comparison with a share is true",),
        help="leave out the factor 100, or divide by it",
        fix=diagnostics.Fix(edits, safe=False),
    )


RULE = rule.LintRule("PS413", diagnostics.Severity.WARNING, _check)
