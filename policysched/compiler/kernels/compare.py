"""Comparisons of columns: unknown where an operand is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from policysched.compiler import column

Comparison: TypeAlias = Callable[[Any, Any], Any]
"""A NumPy comparison of two float64 arrays, which gives a bool array."""

COMPARISONS: Mapping[str, Comparison] = MappingProxyType(
    {
        "=": np.equal,
        "!=": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
)


def compare(comparison: Comparison, left: column.Numbers, right: column.Numbers) -> column.Truths:
    """Return where the comparison holds, and where it does not, of numbers that are there."""
    holds = comparison(left.values, right.values)
    is_valid = column.both(left.is_valid, right.is_valid)
    return column.Truths(column.both(is_valid, holds), column.both(is_valid, ~holds))
