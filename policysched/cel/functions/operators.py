"""Arithmetic and comparison. Source: cel-go `common/stdlib/standard.go`, `common/types`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final

from policysched import int64
from policysched.cel import equality
from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.meter import Meter
from policysched.cel.overloads import Register, define
from policysched.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    STRING,
    UINT,
    A,
    B,
    Type,
    list_of,
    map_of,
)
from policysched.cel.values import MAX_UINT, Map, Uint, Value

NUMBERS: Final = (int, Uint, float)


def check_int(number: int) -> int:
    """Return the number, if it fits into an int.

    Raises:
        EvaluationError: it does not.
    """
    if not int64.MIN <= number <= int64.MAX:
        raise EvaluationError("integer overflow")
    return number


def check_uint(number: int) -> Uint:
    """Return the number as an unsigned integer, if it fits.

    Raises:
        EvaluationError: it does not.
    """
    if not 0 <= number <= MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _define_operator(function: str, left: Type, right: Type, result: Type) -> Register:
    return define(function, (left, right), result, names_types=False)


for _function, _operate in (
    ("_+_", operator.add),
    ("_-_", operator.sub),
    ("_*_", operator.mul),
):
    _define_operator(_function, INT, INT, INT)(
        lambda left, right, operate=_operate: check_int(operate(left, right))
    )
    _define_operator(_function, UINT, UINT, UINT)(
        lambda left, right, operate=_operate: check_uint(operate(int(left), int(right)))
    )
    _define_operator(_function, DOUBLE, DOUBLE, DOUBLE)(_operate)


@define("_+_", (STRING, STRING), STRING, is_metered=True, names_types=False)
@define("_+_", (BYTES, BYTES), BYTES, is_metered=True, names_types=False)
def add_texts(meter: Meter, left: Value, right: Value) -> Value:
    """Return the two texts, one after the other."""
    meter.charge_text(len(left) + len(right))
    return left + right


@define("_+_", (list_of(A), list_of(A)), list_of(A), is_metered=True, names_types=False)
def add_lists(meter: Meter, left: list[Value], right: list[Value]) -> list[Value]:
    """Return the two lists, one after the other."""
    meter.charge(len(left) + len(right))
    return left + right


@define("_/_", (INT, INT), INT, names_types=False)
def divide_ints(left: int, right: int) -> int:
    """Return the quotient, towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return check_int(quotient if (left < 0) == (right < 0) else -quotient)


@define("_/_", (UINT, UINT), UINT, names_types=False)
def divide_uints(left: Uint, right: Uint) -> Uint:
    """Return the quotient, rounded down."""
    if right == 0:
        raise EvaluationError("division by zero")
    return Uint(int(left) // int(right))


@define("_/_", (DOUBLE, DOUBLE), DOUBLE, names_types=False)
def divide_doubles(left: float, right: float) -> float:
    """Return the quotient; an infinity or NaN if the divisor is zero."""
    if right:
        return left / right
    if not left or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


@define("_%_", (INT, INT), INT, names_types=False)
def take_int_remainder(left: int, right: int) -> int:
    """Return the remainder, with the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    if left == int64.MIN and right == -1:
        raise EvaluationError("integer overflow")
    return int(math.copysign(1, left)) * (abs(left) % abs(right))


@define("_%_", (UINT, UINT), UINT, names_types=False)
def take_uint_remainder(left: Uint, right: Uint) -> Uint:
    """Return the remainder."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    return Uint(int(left) % int(right))


@define("-_", (INT,), INT, names_types=False)
def negate_int(number: int) -> int:
    """Return the number with the other sign."""
    return check_int(-number)


@define("-_", (DOUBLE,), DOUBLE, names_types=False)
def negate_double(number: float) -> float:
    """Return the number with the other sign."""
    return -number


@define("!_", (BOOL,), BOOL, names_types=False)
def negate_bool(value: bool) -> bool:  # noqa: FBT001 - CEL has no keyword arguments
    """Return the other truth value."""
    return not value


@define("_==_", (A, A), BOOL, is_metered=True, names_types=False)
def equals(meter: Meter, left: Value, right: Value) -> bool:
    """Return whether the values are equal."""
    meter.charge_value(left)
    return equality.equals(left, right, meter)


@define("_!=_", (A, A), BOOL, is_metered=True, names_types=False)
def differs(meter: Meter, left: Value, right: Value) -> bool:
    """Return whether the values differ; values that cannot be compared do."""
    meter.charge_value(left)
    return not equality.is_surely_equal(left, right, meter)


@define("@in", (A, list_of(A)), BOOL, is_metered=True, names_types=False)
def is_in_list(meter: Meter, value: Value, items: list[Value]) -> bool:
    """Return whether the list has an element that the value is equal to."""
    return equality.contains(items, value, meter)


@define("@in", (A, map_of(A, B)), BOOL, names_types=False)
def is_in_map(key: Value, items: Map) -> bool:
    """Return whether the map has the key; defaults do not count."""
    return items.has_own(key)


def _check_order(left: float, right: float) -> None:
    if math.isnan(left) or math.isnan(right):
        raise EvaluationError("NaN values cannot be ordered")


def _define_comparison(function: str, compare: Callable[[Value, Value], bool]) -> None:
    def compare_as_doubles(left: float, right: float) -> bool:
        _check_order(left, right)
        return compare(float(left), float(right))

    for left in (INT, UINT, DOUBLE):
        for right in (INT, UINT, DOUBLE):
            implementation = compare_as_doubles if DOUBLE in {left, right} else compare
            define(function, (left, right), BOOL, names_types=False)(implementation)
    define(function, (BOOL, BOOL), BOOL, names_types=False)(compare)

    def compare_texts(meter: Meter, left: Value, right: Value) -> bool:
        meter.charge_text(min(len(left), len(right)))
        return compare(left, right)

    # The order of UTF-8 bytes is that of code points, which Python compares.
    for each in (STRING, BYTES):
        define(function, (each, each), BOOL, is_metered=True, names_types=False)(compare_texts)


for _function, _compare in (
    ("_<_", operator.lt),
    ("_<=_", operator.le),
    ("_>_", operator.gt),
    ("_>=_", operator.ge),
):
    _define_comparison(_function, _compare)

for _type in (BYTES, list_of(A), map_of(A, B), STRING):
    define("size", (_type,), INT, names_types=False)(len)
    define("size", (_type,), INT, names_types=False, is_method=True)(len)


def compare(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 for two values of types that have an order.

    Raises:
        EvaluationError: these two have none.
    """
    if type(left) is not type(right):
        if type(left) not in NUMBERS or type(right) not in NUMBERS:
            raise make_overload_error()
        if float in {type(left), type(right)}:
            left, right = float(left), float(right)
    if type(left) is float:
        _check_order(left, right)
    try:
        return int(left > right) - int(left < right)
    except TypeError:
        raise make_overload_error() from None


@define("includes", (DYN, DYN), BOOL, is_method=True, is_metered=True)
def includes(meter: Meter, target: Value, value: Value) -> bool:
    """Return whether a list has the element, or whether a single value is equal to it.

    The scheduler has this function even without the feature gate of list attributes.
    """
    if type(target) is not list:
        return equality.is_surely_equal(target, value, meter)
    for count, item in enumerate(target):
        if count >= _MAX_INCLUDES:
            raise EvaluationError(
                f"'includes' function cannot be applied to lists longer than {_MAX_INCLUDES} values"
            )
        if equality.is_surely_equal(item, value, meter):
            return True
    return False


_MAX_INCLUDES = 48
"""ResourceSliceMaxAttributeValuesPerDevice of `k8s.io/api/resource/v1`."""
