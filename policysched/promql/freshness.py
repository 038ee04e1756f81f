"""Add the measurement times of a query's samples to the same query.

The answer to an instant query contains only its evaluation time, so `rate(x[5m])` looks new for
five minutes after the exporter has died. `add_freshness` adds a second expression, T, to the query.
T has one series for each series of the query; the value is the time of the last sample that
contributed to that series:

    T(selector)         = timestamp(selector)
    T(f(selector[r]))   = timestamp(selector), or the largest in a subquery over the window if
                          that is missing (the target is down and marked stale)
    T(f(e[r:s]))        = the same, with T(e) instead of timestamp(selector)
    T(aggregation of e) = the largest T(e) of the group: a disk or veth that has disappeared must
                          not make its node stale while the node's other series are scraped
    T(a op b)           = the smaller of T(a) and T(b), matched like `a op b`
    T(a op scalar)      = T(a); T(f(e)) = T(e) for functions of instant vectors
    T(a and b)          = T(a) for the series of `a and b`; `unless`, topk and comparisons also
                          keep only the series of their result
    T(absent(x)), T(vector(1)), T(time()) = time of the evaluation, because no sample is read

If a scalar operand or argument reads samples, as `scalar(x)` does, T is at most the T of that
scalar.

With `offset` and `@`, freshness is relative to the requested time: `x offset 1h` is as fresh as `x`
was an hour ago, because the query requests old samples. Samples older than maxAge count as missing,
so T does not look back further. If there is no sample within that time, T is 0.

If T comes from a window, it can be too old, but never too new. The error of each window is at most
the step of its subquery: a tenth of maxAge, or one second if that is more. T relies on the
evaluation rules of Prometheus (promql/engine.go): `timestamp` returns the sample's time for a
selector, and the evaluation time for any other expression.
"""

from __future__ import annotations

import dataclasses
import datetime
import math

import promql_parser

from policysched.promql import functions, query_labels, query_samples, query_text, query_tree

MARK = "policysched"
"""The label that distinguishes T from the query's own series."""
MEASURED_AT = "measured_at"
"""The value of the label `MARK` in the series of T."""

_STEPS = 10
_MIN_STEP_SECONDS = 1.0
_MAX_CHARACTERS = 100_000
"""Maximum number of characters in T; servers and proxies refuse large requests."""

_Kind = query_tree.QueryResultKind


@dataclasses.dataclass(frozen=True, slots=True)
class FreshnessQuery:
    """The query that is sent for a metric.

    Attributes:
        promql: the query, with T if possible.
        has_freshness: whether `promql` contains T.
        problem: the reason why `promql` does not contain T, or "".
    """

    promql: str
    has_freshness: bool
    problem: str = ""


def add_freshness(query: str, label: str, max_age_seconds: float) -> FreshnessQuery:
    """Add to `query` the newest measurement time for each value of `label`.

    A query that cannot be extended is returned unchanged; its samples then count as measured at the
    evaluation time.
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
    """Renders T for one metric."""

    def __init__(self, max_age_seconds: float) -> None:
        self._max_age_seconds = max_age_seconds

    def render_vector_freshness(self, expr: promql_parser.Expr) -> str:
        """Return T of an instant vector, with the series of `expr` but without their metric names.

        Raises:
            UnwritableQueryError: T cannot be expressed, or is too long, because each nested window
                doubles its length.
        """
        text = self._render_vector_time(expr)
        if len(text) > _MAX_CHARACTERS:
            raise query_text.UnwritableQueryError("too many parts")
        return text

    def _render_vector_time(self, expr: promql_parser.Expr) -> str:
        """Return T of an instant vector of any kind, without checking its length."""
        match expr:
            case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
                return self.render_vector_freshness(expr.expr)
            case promql_parser.VectorSelector():
                shift = _render_time_shift(expr.at, expr.offset)
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
        """Return T of a scalar; None if no sample contributes to the scalar."""
        match query_text.strip_parentheses(expr):
            case promql_parser.UnaryExpr() as found:
                return self.render_scalar_freshness(found.expr)
            case promql_parser.BinaryExpr() as found:
                # `clamp_max` needs a vector, so `vector` wraps one of the two scalars.
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
        """Return T of a binary operation: the smaller T of its sides, or T of a set operation."""
        operator = str(expr.op)
        sides = [query_tree.find_result_kind(side) for side in (expr.lhs, expr.rhs)]
        if sides == [_Kind.SCALAR] * 2:
            raise query_text.UnwritableQueryError("a scalar as its result")
        if _Kind.SCALAR in sides:
            vector, scalar = expr.lhs, expr.rhs
            if sides[0] == _Kind.SCALAR:
                vector, scalar = scalar, vector
            text = self._render_limited_time(self.render_vector_freshness(vector), [scalar])
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
        """Return the smaller T of the two operands, with the labels of the operation's result.

        Each T is multiplied by the other side with all values replaced by 1, matched like the
        operands.
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
        """Return T of a function call; raise UnwritableQueryError for unknown functions."""
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
        if not vectors:  # such as `hour()`: T is the evaluation time
            return f"timestamp({query_text.render_query(expr)})"
        scalars = [arg for arg in args if query_tree.find_result_kind(arg) == _Kind.SCALAR]
        return self._render_limited_time(self.render_vector_freshness(vectors[0]), scalars)

    def _render_relabelled(self, expr: promql_parser.Call) -> str:
        vector, *rest = expr.args
        if any(part.val == "__name__" for part in rest):
            raise query_text.UnwritableQueryError("the name of a series as a label")
        arguments = [self.render_vector_freshness(vector), *map(query_text.render_query, rest)]
        return f"{expr.func.name}({', '.join(arguments)})"

    def _render_limited_time(self, text: str, scalars: list[promql_parser.Expr]) -> str:
        """Return T of a vector, given as `text`, limited to at most the T of each scalar."""
        for each in scalars:
            time = self.render_scalar_freshness(each)
            if time is not None:
                text = f"clamp_max({text}, {time})"
        return text

    def _render_window(self, call: promql_parser.Call, matrix: promql_parser.Expr) -> str:
        """Return T of a function over a range or subquery."""
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
        # T has only the series of the query itself; series without a sample within maxAge get 0.
        value = query_text.render_query(call)
        return f"(({last}{_render_time_shift(at, offset)}) and {value} or (timestamp({value}) * 0))"

    def _render_lookback(self, window: datetime.timedelta) -> str:
        """Return `[range:step]` of the subquery that finds the last sample of a window."""
        seconds = min(window.total_seconds(), self._max_age_seconds)
        step_seconds = max(_MIN_STEP_SECONDS, seconds / _STEPS)
        range_seconds = max(seconds, step_seconds)  # holds at least one step
        return f"[{math.ceil(range_seconds * 1000)}ms:{math.floor(step_seconds * 1000)}ms]"


def _render_ones(expr: promql_parser.Expr) -> str:
    """Return an expression that is 1 for each series of a vector, whatever its value."""
    return f"(timestamp({query_text.render_query(expr)}) ^ 0)"


def _render_time_shift(
    at: promql_parser.AtModifier | None, offset: datetime.timedelta | None
) -> str:
    """Return the term ` + …` that shifts the time requested by `@` and `offset` to now."""
    text = ""
    if at is not None and at.type == promql_parser.AtModifierType.At:
        assert at.at is not None  # noqa: S101 - the declared types of the parser are wider
        text = f" + (time() - {at.at.timestamp():.3f})"
    if offset is not None:
        text += f" + {query_text.render_number(offset.total_seconds())}"
    return text
