"""Ranges of the values that expressions can have, computed by interval arithmetic.

Bounds are closed and sound: every value that is not missing is between them. Operands count as
independent, so the range of `x - x` is not reduced to 0. IEEE arithmetic rounds monotonically, so
the bounds of a result follow from the bounds of its operands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping

from policysched.lang.checked import checked, checked_expr

_MIN_PRIORITY, _MAX_PRIORITY = -(2**31), 2**31 - 1
"""The range of `spec.priority`, which is an int32 (api/core/v1/types.go)."""


@dataclasses.dataclass(frozen=True, slots=True)
class ValueRange:
    """The numbers from `low` to `high`, inclusive."""

    low: float
    high: float

    @property
    def is_single(self) -> bool:
        """Whether the range contains exactly one value."""
        return self.low == self.high

    def make_union(self, other: ValueRange) -> ValueRange:
        """Return the smallest range that contains both ranges."""
        return ValueRange(min(self.low, other.low), max(self.high, other.high))


ANY = ValueRange(-math.inf, math.inf)
_NOT_NEGATIVE = ValueRange(0.0, math.inf)


def find_metric_range(metric: checked.CheckedMetric) -> ValueRange:
    """Return the range of a metric: from `between`, else from its unit.

    The range of a ratio is 0 to 1. PS605 reports samples outside this range.
    """
    own = ValueRange(0.0, 1.0) if metric.unit.is_ratio else ANY
    return ValueRange(
        own.low if metric.low is None else metric.low,
        own.high if metric.high is None else metric.high,
    )


def find_value_range(
    expr: checked_expr.TypedExpr, metrics: Mapping[str, checked.CheckedMetric]
) -> ValueRange:
    """Return the range of the values that are not missing, in canonical scale."""
    match expr:
        case checked_expr.Const(value=value):
            return ValueRange(value, value)
        case checked_expr.MetricRef(metric=key, grows=grows):
            found = find_metric_range(metrics[key]) if key in metrics else ANY
            return ValueRange(found.low, math.inf) if grows else found
        case checked_expr.PodPriority():
            return ValueRange(_MIN_PRIORITY, _MAX_PRIORITY)
        case checked_expr.NodeResource(kind="free") | checked_expr.NodeLabelNumber():
            return ANY
        case checked_expr.DeviceNumber():
            return ANY if expr.can_be_missing else _NOT_NEGATIVE
        case (
            checked_expr.NodeResource()
            | checked_expr.PodRequests()
            | checked_expr.PodLimits()
            | checked_expr.ElapsedTime()
            | checked_expr.PlacedPodCount()
        ):
            return _NOT_NEGATIVE
        case checked_expr.ValueWithFallback(value=value, fallback=fallback):
            return find_value_range(value, metrics).make_union(find_value_range(fallback, metrics))
        case checked_expr.ArithmeticOperation(operator=operator, left=left, right=right):
            return _OPERATIONS[operator](
                find_value_range(left, metrics), find_value_range(right, metrics)
            )
        case checked_expr.NumberFunctionCall(function=function, arguments=arguments):
            return _compute_call_range(
                function, [find_value_range(each, metrics) for each in arguments]
            )
        case _:
            return ANY


def _compute_hull(values: Iterator[float]) -> ValueRange:
    """Return the range from the smallest to the largest value, or `ANY` if one is NaN."""
    found = list(values)
    if any(math.isnan(value) for value in found):
        return ANY
    return ValueRange(min(found), max(found))


def _add_ranges(left: ValueRange, right: ValueRange) -> ValueRange:
    return ValueRange(left.low + right.low, left.high + right.high)


def _subtract_ranges(left: ValueRange, right: ValueRange) -> ValueRange:
    return ValueRange(left.low - right.high, left.high - right.low)


def _multiply_ranges(left: ValueRange, right: ValueRange) -> ValueRange:
    ends = ((a, b) for a in (left.low, left.high) for b in (right.low, right.high))
    # The ends of an unbounded range are not values, and 0 times any value is 0.
    return _compute_hull(0.0 if not a or not b else a * b for a, b in ends)


def _divide_ranges(left: ValueRange, right: ValueRange) -> ValueRange:
    """Return the range of a quotient; a division by 0 is a missing value and does not count."""
    if right.low < 0.0 < right.high or right.low == right.high == 0.0:
        return ANY
    # The divisor approaches 0 from one side only, so the quotient is unbounded in one direction, or
    # in both if the dividend has both signs.
    if right.low == 0.0 or right.high == 0.0:
        far = right.high or right.low
        signs = {math.copysign(1.0, far) * end for end in (left.low, left.high)}
        ends = [end / far for end in (left.low, left.high) if math.isfinite(end)]
        ends += [math.inf] if max(signs) > 0 else []
        ends += [-math.inf] if min(signs) < 0 else []
        return (
            _compute_hull(iter([*ends, 0.0]))
            if math.isinf(far)
            else _compute_hull(iter(ends or [0.0]))
        )
    ends_of_both = ((a, b) for a in (left.low, left.high) for b in (right.low, right.high))
    return _compute_hull(a / b for a, b in ends_of_both)


_OPERATIONS: Mapping[str, Callable[[ValueRange, ValueRange], ValueRange]] = {
    "+": _add_ranges,
    "-": _subtract_ranges,
    "*": _multiply_ranges,
    "/": _divide_ranges,
}


def _compute_call_range(function: str, arguments: list[ValueRange]) -> ValueRange:
    """Return the range of a function call; `ANY` for functions that are not analysed."""
    lows, highs = [each.low for each in arguments], [each.high for each in arguments]
    match function:
        case "min":
            return ValueRange(min(lows), min(highs))
        case "max":
            return ValueRange(max(lows), max(highs))
        case "abs":
            return _compute_absolute_range(arguments[0])
        case "floor" | "ceil":
            return ValueRange(
                _round_range_end(function, lows[0]), _round_range_end(function, highs[0])
            )
        case "mod":
            # A result of mod has the sign of the divisor.
            return ValueRange(min(lows[1], 0.0), max(highs[1], 0.0))
        case _:
            return ANY


def _compute_absolute_range(argument: ValueRange) -> ValueRange:
    largest = max(abs(argument.low), abs(argument.high))
    if argument.low <= 0.0 <= argument.high:
        return ValueRange(0.0, largest)
    return ValueRange(min(abs(argument.low), abs(argument.high)), largest)


def _round_range_end(function: str, value: float) -> float:
    if math.isinf(value):
        return value
    return float(math.floor(value) if function == "floor" else math.ceil(value))
