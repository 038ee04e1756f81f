"""Arithmetic on columns: a missing operand makes the result missing, and so does overflow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from policysched.cluster.columns import columns
from policysched.compiler import column

Binary: TypeAlias = Callable[[column.Numbers, column.Numbers], column.Numbers]
Function: TypeAlias = Callable[[Sequence[column.Numbers]], column.Numbers]


def quiet() -> contextlib.AbstractContextManager[object]:
    """Return a context in which NumPy does not warn: what has no finite value is missing."""
    return np.errstate(all="ignore")


def _finite(values: columns.FloatArray, is_valid: columns.BoolArray) -> column.Numbers:
    return column.Numbers(values, column.both(is_valid, np.isfinite(values)))


def add(left: column.Numbers, right: column.Numbers) -> column.Numbers:
    """Return `left + right`."""
    return _finite(left.values + right.values, column.both(left.is_valid, right.is_valid))


def subtract(left: column.Numbers, right: column.Numbers) -> column.Numbers:
    """Return `left - right`."""
    return _finite(left.values - right.values, column.both(left.is_valid, right.is_valid))


def multiply(left: column.Numbers, right: column.Numbers) -> column.Numbers:
    """Return `left × right`."""
    return _finite(left.values * right.values, column.both(left.is_valid, right.is_valid))


def divide(left: column.Numbers, right: column.Numbers) -> column.Numbers:
    """Return `left / right`, missing where `right` is 0."""
    return _finite(left.values / right.values, column.both(left.is_valid, right.is_valid))


def coalesce(value: column.Numbers, fallback: column.Numbers) -> column.Numbers:
    """Return `value` where it is there, elsewhere `fallback`."""
    if value.is_valid is column.ALWAYS:
        return value
    is_valid = fallback.is_valid
    return column.Numbers(
        np.where(value.is_valid, value.values, fallback.values),
        is_valid if is_valid is column.ALWAYS else value.is_valid | is_valid,
    )


def modulo(operands: Sequence[column.Numbers]) -> column.Numbers:
    """Return the remainder, with the sign of the divisor; missing for divisor 0.

    Example: mod(-1, 3) is 2.
    """
    left, right = operands
    return _finite(np.mod(left.values, right.values), column.both(left.is_valid, right.is_valid))


def minimum(operands: Sequence[column.Numbers]) -> column.Numbers:
    """Return the smallest of all operands."""
    values, is_valid = operands[0]
    for operand in operands[1:]:
        values = np.minimum(values, operand.values)
        is_valid = column.both(is_valid, operand.is_valid)
    return column.Numbers(values, is_valid)


def maximum(operands: Sequence[column.Numbers]) -> column.Numbers:
    """Return the largest of all operands."""
    values, is_valid = operands[0]
    for operand in operands[1:]:
        values = np.maximum(values, operand.values)
        is_valid = column.both(is_valid, operand.is_valid)
    return column.Numbers(values, is_valid)


def absolute(operands: Sequence[column.Numbers]) -> column.Numbers:
    """Return the number without its sign."""
    (only,) = operands
    return column.Numbers(np.abs(only.values), only.is_valid)


def floor(operands: Sequence[column.Numbers]) -> column.Numbers:
    """Return the largest whole number that is not above."""
    (only,) = operands
    return column.Numbers(np.floor(only.values), only.is_valid)


def ceil(operands: Sequence[column.Numbers]) -> column.Numbers:
    """Return the smallest whole number that is not below."""
    (only,) = operands
    return column.Numbers(np.ceil(only.values), only.is_valid)


OPERATORS: Mapping[str, Binary] = MappingProxyType(
    {"+": add, "-": subtract, "*": multiply, "/": divide}
)
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "min": minimum,
        "max": maximum,
        "abs": absolute,
        "floor": floor,
        "ceil": ceil,
        "mod": modulo,
    }
)
