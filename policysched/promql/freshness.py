"""When the samples behind a query's answer were measured, asked in the same query.

An instant query answers with the time of its evaluation, so that `rate(x[5m])` looks new for five
minutes after the exporter died. `add_freshness` therefore writes a second expression, T, beside
the query. T has one series for each series of the query, whose value is the time of the last sample
that went into it:

    T(selector)         = timestamp(selector)
    T(f(selector[r]))   = timestamp(selector), or the largest in a subquery over the window where
                          that is gone (the target is down and marked stale)
    T(f(e[r:s]))        = likewise, of T(e)
    T(aggregation of e) = the largest T(e) of the group: a disk or a veth that is gone must not age
                          its node, whose other series are still scraped
    T(a op b)           = the smaller one, matched as `a op b` is
    T(a op scalar)      = T(a); T(f(e)) = T(e) for functions of instant vectors
    T(a and b)          = T(a) where `a and b` has a series, likewise `unless`, topk and comparisons
    T(absent(x)), T(vector(1)), T(time()) = time of the evaluation: nothing is measured there

`offset` and `@` count from the time that they ask for: `x offset 1h` is as fresh as it was then,
for whoever writes it asks for old samples. Samples older than maxAge count as missing, so T looks
back no further; it is 0 where there is none within that time.

Where T comes from a window its error is at most a tenth of maxAge (the step of the subquery), and
always to the old side. T is evaluated by Prometheus' own rules (promql/engine.go: `timestamp` of a
selector is the sample's time, of anything else the time of the evaluation).
"""

from __future__ import annotations

import dataclasses
import datetime
import math

import promql_parser

from policysched.promql import functions, query_labels, query_samples, query_text, query_tree

MARK = "policysched"
"""The label that tells T from the query's own series."""
MEASURED_AT = "measured_at"
"""Its value."""

_STEPS = 10
_MIN_STEP_SECONDS = 1.0
_MAX_CHARACTERS = 100_000
"""Servers and proxies refuse requests beyond some size; queries of people stay far below."""

_Kind = query_tree.QueryResultKind


@dataclasses.dataclass(frozen=True, slots=True)
class FreshnessQuery:
    """What is sent for a metric.

    Attributes:
        promql: the query, with T or without.
        has_freshness: whether T is in it.
        problem: why not, or "".
    """

    promql: str
    has_freshness: bool
    problem: str = ""


def add_freshness(query: str, label: str, max_age_seconds: float) -> FreshnessQuery:
    """Return `query` with the time of measurement of each series, by the label of nodes.

    A query that cannot be extended comes back as it is: its samples count as measured when it was
    evaluated.
    """
    try:
        expr = promql_parser.parse(query)
        measured = _FreshnessWriter(max_age_seconds).render_vector_freshness(expr)
    except ValueError as error:
        return FreshnessQuery(query, has_freshness=False, problem=f"it cannot be parsed: {error}")
    except query_text.UnwritableQueryError as error:
        return FreshnessQuery(query, has_freshness=False, problem=f"it has {error}")
    mark = f'"{MARK}", "{MEASURED_AT}", {query_text.render_string(label)}, ".*"'
    added = f"label_replace(max by ({label}) ({measured}), {mark})"
    return FreshnessQuery(f"(\n{query}\n) or {added}", has_freshness=True)


class _FreshnessWriter:
    """Writes T for one metric."""

    def __init__(self, max_age_seconds: float) -> None:
        self._max_age_seconds = max_age_seconds

    def render_vector_freshness(self, expr: promql_parser.Expr) -> str:
        """Return T of an instant vector; its series are those of `expr`, without their names.

        Raises:
            UnknownSyntaxError: it cannot be written, or is too long: it doubles with each window.
        """
        text = self._render_any(expr)
        if len(text) > _MAX_CHARACTERS:
            raise query_text.UnwritableQueryError("too many parts")
        return text

    def _render_any(self, expr: promql_parser.Expr) -> str:
        match expr:
            case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
                return self.render_vector_freshness(expr.expr)
            case promql_parser.VectorSelector():
                shift = _render_shift(expr.at, expr.offset)
                return f"(timestamp({query_text.render_query(expr)}){shift})"
            case promql_parser.AggregateExpr():
                return self._render_aggregation(expr)
            case promql_parser.BinaryExpr():
                return self._render_operation(expr)
            case promql_parser.Call():
                return self._render_call(expr)
            case _:
                raise query_text.UnwritableQueryError(f"a {type(expr).__name__} as its result")

    def render_scalar_freshness(self, expr: promql_parser.Expr) -> str | None:
        """Return T of a scalar, None where no sample goes into it."""
        match query_text.strip_parentheses(expr):
            case promql_parser.UnaryExpr() as found:
                return self.render_scalar_freshness(found.expr)
            case promql_parser.BinaryExpr() as found:
                # A scalar has no clamp; `min` of two vectors without labels is the smaller one.
                parts = [
                    self.render_scalar_freshness(found.lhs),
                    self.render_scalar_freshness(found.rhs),
                ]
                known = [part for part in parts if part is not None]
                if len(known) < 2:  # noqa: PLR2004 - both sides of an operator
                    return known[0] if known else None
                return f"scalar(clamp_max(vector({known[0]}), {known[1]}))"
            case promql_parser.Call() as found if found.func.name == "scalar":
                return f"scalar({self.render_vector_freshness(found.args[0])})"
        return None

    def _render_aggregation(self, expr: promql_parser.AggregateExpr) -> str:
        inner = self.render_vector_freshness(expr.expr)
        operator = str(expr.op)
        if operator in functions.SELECTING_AGGREGATIONS:
            return f"({inner} and {query_text.render_query(expr)})"
        if operator == "count_values":
            raise query_text.UnwritableQueryError("`count_values`, which makes labels of values")
        return f"max {query_text.render_grouping(expr)}({inner})"

    def _render_operation(self, expr: promql_parser.BinaryExpr) -> str:
        operator = str(expr.op)
        sides = [query_tree.find_result_kind(side) for side in (expr.lhs, expr.rhs)]
        if sides == [_Kind.SCALAR] * 2:
            raise query_text.UnwritableQueryError("a scalar as its result")
        if _Kind.SCALAR in sides:
            vector, scalar = expr.lhs, expr.rhs
            if sides[0] == _Kind.SCALAR:
                vector, scalar = scalar, vector
            text = self._render_limited(self.render_vector_freshness(vector), [scalar])
        elif operator in functions.LEFT_SET_OPERATORS:
            left, right = self.render_vector_freshness(expr.lhs), query_text.render_query(expr.rhs)
            return f"({left} {query_text.render_operator(expr)} {right})"
        elif operator == "or":
            left, right = (
                self.render_vector_freshness(expr.lhs),
                self.render_vector_freshness(expr.rhs),
            )
            return f"({left} {query_text.render_operator(expr)} {right})"
        else:
            text = self._render_smaller_time(expr)
        if query_samples.is_filtering_comparison(expr):
            return f"({text} and {query_text.render_query(expr)})"
        return text

    def _render_smaller_time(self, expr: promql_parser.BinaryExpr) -> str:
        """Return the smaller T of two vectors, with the labels that the operation gives.

        Each T is multiplied by ones that stand for the other side, matched as the operands are.
        """
        times = f"*{query_text.render_vector_matching(expr)}"
        left = f"({self.render_vector_freshness(expr.lhs)} {times} {_render_ones(expr.rhs)})"
        right = f"({_render_ones(expr.lhs)} {times} {self.render_vector_freshness(expr.rhs)})"
        marked = [
            f'label_replace({side}, "{MARK}", "{name}", "", "")'
            for side, name in ((left, "left"), (right, "right"))
        ]
        return f"min without ({MARK}) ({' or '.join(marked)})"

    def _render_call(self, expr: promql_parser.Call) -> str:
        name = expr.func.name
        if query_tree.find_result_kind(expr) != _Kind.VECTOR:
            raise query_text.UnwritableQueryError(f"the scalar `{name}` as its result")
        if name in functions.ABSENCE_FUNCTIONS:
            return f"timestamp({query_text.render_query(expr)})"
        if name == "vector":
            time = self.render_scalar_freshness(expr.args[0])
            return f"vector({time or 'time()'})"
        args = [query_text.strip_parentheses(arg) for arg in expr.args]
        for arg in args:
            if query_tree.find_result_kind(arg) == _Kind.MATRIX:
                return self._render_window(expr, arg)
        if name in functions.LABEL_FUNCTIONS:
            return self._render_relabelled(expr)
        vectors = [arg for arg in args if query_tree.find_result_kind(arg) == _Kind.VECTOR]
        if name in functions.BUCKET_FUNCTIONS:
            freshness = self.render_vector_freshness(vectors[0])
            return f"max without ({query_labels.BUCKET_LABEL}) ({freshness})"
        if name not in functions.ELEMENTWISE_FUNCTIONS:
            raise query_text.UnwritableQueryError(f"the function `{name}`")
        if not vectors:  # hour() and its like: the time itself
            return f"timestamp({query_text.render_query(expr)})"
        scalars = [arg for arg in args if query_tree.find_result_kind(arg) == _Kind.SCALAR]
        return self._render_limited(self.render_vector_freshness(vectors[0]), scalars)

    def _render_relabelled(self, expr: promql_parser.Call) -> str:
        vector, *rest = expr.args
        if any(part.val == "__name__" for part in rest):
            raise query_text.UnwritableQueryError("the name of a series as a label")
        arguments = [self.render_vector_freshness(vector), *map(query_text.render_query, rest)]
        return f"{expr.func.name}({', '.join(arguments)})"

    def _render_limited(self, text: str, scalars: list[promql_parser.Expr]) -> str:
        """Return the smaller of T of a vector and T of scalars."""
        for each in scalars:
            time = self.render_scalar_freshness(each)
            if time is not None:
                text = f"clamp_max({text}, {time})"
        return text

    def _render_window(self, call: promql_parser.Call, matrix: promql_parser.Expr) -> str:
        """Return T of a function over a window."""
        match matrix:
            case promql_parser.MatrixSelector():
                inner = matrix.vector_selector
                window, at, offset = matrix.range, inner.at, inner.offset
                now = f"timestamp({query_text.render_query(inner)})"
                then = f"timestamp({query_text.render_selector(inner)})"
            case promql_parser.SubqueryExpr() if matrix.range is not None:
                window, at, offset = matrix.range, matrix.at, matrix.offset
                then = self.render_vector_freshness(matrix.expr)
                now = then if at is None and offset is None else ""
            case _:
                raise query_text.UnwritableQueryError(f"a {type(matrix).__name__} as a window")
        lookback = self._render_lookback(window) + query_text.render_modifiers(at, offset)
        past = f"max_over_time({then}{lookback})"
        last = f"({now} or {past})" if now else past
        value = query_text.render_query(call)
        return f"(({last}{_render_shift(at, offset)}) and {value} or (timestamp({value}) * 0))"

    def _render_lookback(self, window: datetime.timedelta) -> str:
        """Return the range and the step of a subquery that looks for the last sample."""
        seconds = min(window.total_seconds(), self._max_age_seconds)
        step_seconds = max(_MIN_STEP_SECONDS, seconds / _STEPS)
        range_seconds = max(seconds, step_seconds)  # holds at least one step
        return f"[{math.ceil(range_seconds * 1000)}ms:{math.floor(step_seconds * 1000)}ms]"


def _render_ones(expr: promql_parser.Expr) -> str:
    """Return 1 for each series of a vector, whatever its value: NaN and histograms too."""
    return f"(timestamp({query_text.render_query(expr)}) ^ 0)"


def _render_shift(at: promql_parser.AtModifier | None, offset: datetime.timedelta | None) -> str:
    """Return what brings a time in the past that a selector asks for to now, as ` + …`."""
    text = ""
    if at is not None and at.type == promql_parser.AtModifierType.At:
        assert at.at is not None  # noqa: S101 - the parser's types say less than it does
        text = f" + (time() - {at.at.timestamp():.3f})"
    if offset is not None:
        text += f" + {query_text.render_number(offset.total_seconds())}"
    return text
