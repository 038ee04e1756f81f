"""`==`, `!=` and `in`, which never fail for numbers, strings, lists and maps.

Values of the Kubernetes libraries raise if the other side has another type; in lists and maps such
a failure counts as no difference. Source: cel-go `common/types/util.go`, `list.go`, `map.go`.
"""

from __future__ import annotations

from policysched.cel.failures import EvaluationError
from policysched.cel.meter import Meter
from policysched.cel.values import Map, Optional, StrictValue, Uint, Value

_NUMBERS = frozenset({int, Uint, float})
_COLLECTION_UNITS = 8
"""Cost of the comparison of two lists or maps, apart from their elements."""


def equals(left: Value, right: Value, meter: Meter) -> bool:
    """Return whether two values are equal.

    Raises:
        EvaluationError: the left value compares with values of its own type only.
    """
    kind = type(left)
    if left is None or right is None:
        return left is right
    if kind in _NUMBERS:
        return type(right) in _NUMBERS and _equal_numbers(left, right)
    if kind is list:
        return type(right) is list and _equal_lists(left, right, meter)
    if kind is Map:
        return type(right) is Map and _equal_maps(left, right, meter)
    if kind is Optional:
        return type(right) is Optional and _equal_optionals(left, right, meter)
    if isinstance(left, StrictValue):
        return left.equals(right)
    return type(right) is kind and bool(left == right)


def is_equal_or_fails(left: Value, right: Value, meter: Meter) -> bool:
    """Return whether two elements are equal; elements that cannot be compared count as equal."""
    try:
        return equals(left, right, meter)
    except EvaluationError:
        return True


def is_surely_equal(left: Value, right: Value, meter: Meter) -> bool:
    """Return whether two values are equal; values that cannot be compared are not."""
    try:
        return equals(left, right, meter)
    except EvaluationError:
        return False


def contains(items: list[Value], value: Value, meter: Meter) -> bool:
    """Return whether a list has an element that the value is equal to."""
    meter.charge(len(items))
    return any(is_surely_equal(value, item, meter) for item in items)


def _equal_numbers(left: float, right: float) -> bool:
    """Return whether two numbers are equal; an integer becomes a double beside a double."""
    if float in {type(left), type(right)}:
        return float(left) == float(right)
    return left == right


def _equal_lists(left: list[Value], right: list[Value], meter: Meter) -> bool:
    if len(left) != len(right):
        return False
    meter.charge(_COLLECTION_UNITS + len(left))
    return all(is_equal_or_fails(*pair, meter) for pair in zip(left, right, strict=True))


def _equal_maps(left: Map, right: Map, meter: Meter) -> bool:
    if len(left) != len(right):
        return False
    meter.charge(_COLLECTION_UNITS + len(left))
    for key, value in left.items():
        other, is_found = right.find(key)
        if not is_found or not is_equal_or_fails(value, other, meter):
            return False
    return True


def _equal_optionals(left: Optional, right: Optional, meter: Meter) -> bool:
    if not (left.has_value and right.has_value):
        return left.has_value == right.has_value
    return equals(left.value, right.value, meter)
