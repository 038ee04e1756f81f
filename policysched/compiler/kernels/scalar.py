"""The kernels of `arithmetic`, `compare` and `points` for a single node, in Python's own numbers.

Both compute in IEEE 754 doubles, in the same order, so they agree to the last bit; only the sign of
a zero may differ, which no comparison and no points tell apart. None stands for what is missing.
"""

from __future__ import annotations

import bisect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from policysched.compiler.kernels import points

Binary: TypeAlias = Callable[[float, float], float | None]
Function: TypeAlias = Callable[[Sequence[float]], float | None]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def add(left: float, right: float) -> float | None:
    """Return `left + right`, None on overflow."""
    return _finite(left + right)


def subtract(left: float, right: float) -> float | None:
    """Return `left - right`, None on overflow."""
    return _finite(left - right)


def multiply(left: float, right: float) -> float | None:
    """Return `left × right`, None on overflow."""
    return _finite(left * right)


def divide(left: float, right: float) -> float | None:
    """Return `left / right`, None on overflow and where `right` is 0."""
    return _finite(left / right) if right else None


def modulo(operands: Sequence[float]) -> float | None:
    """Return the remainder with the sign of the divisor, None for divisor 0."""
    left, right = operands
    return _finite(left % right) if right else None


OPERATORS: Mapping[str, Binary] = MappingProxyType(
    {"+": add, "-": subtract, "*": multiply, "/": divide}
)
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "min": min,
        "max": max,
        "abs": lambda operands: abs(operands[0]),
        "floor": lambda operands: float(math.floor(operands[0])),
        "ceil": lambda operands: float(math.ceil(operands[0])),
        "mod": modulo,
    }
)
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "=": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)


def linear(value: float, low: float, high: float) -> int:
    """Return the hundredths of `points.linear`."""
    if low / 2 == high / 2:
        return points.FULL if value >= high else 0
    share = (value / 2 - low / 2) / (high / 2 - low / 2)
    return round(min(max(share, 0.0), 1.0) * float(points.FULL))


def shape(value: float, corners: Sequence[tuple[float, int]]) -> int:
    """Return the hundredths of `points.shape`."""
    if len(corners) == 1:
        return points.FULL * corners[0][1] // 100
    inside = min(max(value, corners[0][0]), corners[-1][0])
    after = bisect.bisect_right(corners, inside, key=operator.itemgetter(0))
    left = min(max(after - 1, 0), len(corners) - 2)
    (x0, y0), (x1, y1) = corners[left], corners[left + 1]
    span = x1 / 2 - x0 / 2
    share = (inside / 2 - x0 / 2) / span if span else float(inside >= x1)
    return round((float(y0) + (float(y1) - float(y0)) * share) / 100 * float(points.FULL))
