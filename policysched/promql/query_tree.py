"""Find the types, parts and lost labels of PromQL expressions."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator

import promql_parser

from policysched.promql import functions


class QueryResultKind(enum.Enum):
    """The result types of PromQL expressions."""

    VECTOR = "ValueType.Vector"
    SCALAR = "ValueType.Scalar"
    MATRIX = "ValueType.Matrix"
    STRING = "ValueType.String"


def find_result_kind(expr: promql_parser.Expr) -> QueryResultKind:
    """Return the type of an expression's result."""
    match expr:
        case promql_parser.NumberLiteral():
            return QueryResultKind.SCALAR
        case promql_parser.StringLiteral():
            return QueryResultKind.STRING
        case promql_parser.MatrixSelector() | promql_parser.SubqueryExpr():
            return QueryResultKind.MATRIX
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            return find_result_kind(expr.expr)
        case promql_parser.Call():
            return QueryResultKind(str(expr.func.return_type))
        case promql_parser.BinaryExpr():
            is_scalar = (
                QueryResultKind.SCALAR == find_result_kind(expr.lhs) == find_result_kind(expr.rhs)
            )
            return QueryResultKind.SCALAR if is_scalar else QueryResultKind.VECTOR
        case _:
            return QueryResultKind.VECTOR


def list_children(expr: promql_parser.Expr) -> tuple[promql_parser.Expr, ...]:
    """Return the direct operands of an expression, in text order."""
    match expr:
        case promql_parser.BinaryExpr():
            return (expr.lhs, expr.rhs)
        case promql_parser.AggregateExpr():
            param = expr.param
            return (param, expr.expr) if isinstance(param, promql_parser.Expr) else (expr.expr,)
        case promql_parser.Call():
            return tuple(expr.args)
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
            return (expr.expr,)
        case _:
            return ()


def measure_depth(expr: promql_parser.Expr) -> int:
    """Return the nesting depth of an expression; safe for deep nesting, without recursion."""
    deepest, left = 0, [(expr, 1)]
    while left:
        part, level = left.pop()
        deepest = max(deepest, level)
        left.extend((child, level + 1) for child in list_children(part))
    return deepest


def walk_call_parts(expr: promql_parser.Expr) -> Iterator[promql_parser.Expr]:
    """Yield functions, aggregations and operations with `on` or `ignoring`, in text order.

    `query_tokens.find_call_words` returns their words in the same order.
    """
    match expr:
        case promql_parser.BinaryExpr():
            yield from walk_call_parts(expr.lhs)
            if expr.modifier is not None and expr.modifier.matching is not None:
                yield expr
            yield from walk_call_parts(expr.rhs)
            return
        case promql_parser.Call() | promql_parser.AggregateExpr():
            yield expr
        case _:
            pass
    for child in list_children(expr):
        yield from walk_call_parts(child)


def find_label_loss(expr: promql_parser.Expr, label: str) -> promql_parser.Expr | None:
    """Return the part that removes `label` from all series of the result, or None."""
    match expr:
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
            return find_label_loss(expr.expr, label)
        case promql_parser.MatrixSelector():
            return find_label_loss(expr.vector_selector, label)
        case promql_parser.VectorSelector():
            return expr if _excludes_label(expr, label) else None
        case promql_parser.AggregateExpr():
            return _find_loss_in_aggregation(expr, label)
        case promql_parser.BinaryExpr():
            return _find_loss_in_operation(expr, label)
        case promql_parser.Call():
            return _find_loss_in_call(expr, label)
        case _:
            return expr


def _excludes_label(selector: promql_parser.VectorSelector, label: str) -> bool:
    """Return whether a selector requires series without the label: `{label=""}`."""
    return any(
        each.name == label and each.op == promql_parser.MatchOp.Equal and not each.value
        for each in selector.matchers.matchers
    )


def _find_loss_in_aggregation(
    expr: promql_parser.AggregateExpr, label: str
) -> promql_parser.Expr | None:
    """Return the part of an aggregation that removes `label`, or None."""
    if str(expr.op) in functions.SELECTING_AGGREGATIONS:
        return find_label_loss(expr.expr, label)
    if isinstance(expr.param, promql_parser.StringLiteral) and expr.param.val == label:
        return None  # count_values
    if expr.modifier is None:
        return expr
    is_by = expr.modifier.type == promql_parser.AggModifierType.By
    return find_label_loss(expr.expr, label) if (label in expr.modifier.labels) is is_by else expr


def _find_loss_in_operation(
    expr: promql_parser.BinaryExpr, label: str
) -> promql_parser.Expr | None:
    """Return the part of a binary operation that removes `label`, or None."""
    for side, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
        if find_result_kind(side) == QueryResultKind.SCALAR:
            return find_label_loss(other, label)
    operator, modifier = str(expr.op), expr.modifier
    left, right = find_label_loss(expr.lhs, label), find_label_loss(expr.rhs, label)
    if operator == "or":
        return left if right is not None else None
    if operator == "unless":
        return left
    if _is_matched_label(modifier, label):
        return left or right  # matching requires the label on both sides
    if operator == "and":
        return left
    if modifier is None or modifier.card == promql_parser.VectorMatchCardinality.OneToOne:
        return expr
    is_right_many = modifier.card == promql_parser.VectorMatchCardinality.OneToMany
    is_of_many = label not in (modifier.group_labels or ())
    return right if is_right_many is is_of_many else left


def _is_matched_label(modifier: promql_parser.BinModifier | None, label: str) -> bool:
    if modifier is None or modifier.matching is None:
        return True
    is_on = modifier.matching.type == promql_parser.LabelModifierType.Include
    return (label in modifier.matching.labels) is is_on


def _find_loss_in_call(expr: promql_parser.Call, label: str) -> promql_parser.Expr | None:
    """Return the part of a function call that removes `label`, or None."""
    name = expr.func.name
    strings = [arg.val for arg in expr.args if isinstance(arg, promql_parser.StringLiteral)]
    if name == "info" or (name in functions.LABEL_ADDING_FUNCTIONS and label in strings):
        return None
    if name in functions.ABSENCE_FUNCTIONS:
        return None  # the labels of the result come from the matchers
    for arg in expr.args:
        if find_result_kind(arg) in {QueryResultKind.VECTOR, QueryResultKind.MATRIX}:
            return find_label_loss(arg, label)
    return expr


def walk_query(expr: promql_parser.Expr) -> Iterator[promql_parser.Expr]:
    """Yield an expression and all its parts, including the selectors inside ranges."""
    yield expr
    if isinstance(expr, promql_parser.MatrixSelector):
        yield expr.vector_selector
    for child in list_children(expr):
        yield from walk_query(child)


def find_calls(expr: promql_parser.Expr, names: Collection[str]) -> Iterator[promql_parser.Call]:
    """Yield the calls of the functions in `names`, outer calls first."""
    for part in walk_query(expr):
        if isinstance(part, promql_parser.Call) and part.func.name in names:
            yield part


def list_selectors(expr: promql_parser.Expr) -> list[promql_parser.VectorSelector]:
    """Return the selectors of a query, including those inside ranges, in text order."""
    return [each for each in walk_query(expr) if isinstance(each, promql_parser.VectorSelector)]


def normalise_query(expr: promql_parser.Expr) -> str:
    """Return the same text for all queries that differ only in blanks or outer parentheses."""
    while isinstance(expr, promql_parser.ParenExpr):
        expr = expr.expr
    return str(expr.prettify())


def get_part_name(part: promql_parser.Expr) -> str | None:
    """Return the name of a selector, a function or an aggregation; None for other parts."""
    match part:
        case promql_parser.VectorSelector():
            return part.name or None
        case promql_parser.Call():
            return str(part.func.name)
        case promql_parser.AggregateExpr():
            return str(part.op)
        case _:
            return None
