"""What an expression is on n nodes: numbers or truths.

The arrays in here have n entries, or are 0-dimensional where the value is the same on every node: a
constant stays a scalar and broadcasts (DataFusion's `ColumnarValue`). Missing data is a mask of its
own, never a magic number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns

ALWAYS: Final = cast("columns.BoolArray", np.True_)
"""The mask of what is so on every node; compared by identity to skip work."""


class Numbers(NamedTuple):
    """A number for each node.

    Attributes:
        values: float64, undefined where not valid.
        is_valid: bool, False where the number is missing; valid values are finite.
    """

    values: columns.FloatArray
    is_valid: columns.BoolArray


MISSING: Final = Numbers(
    cast("columns.FloatArray", np.float64(0.0)), cast("columns.BoolArray", np.False_)
)
"""A number that is missing on every node."""


class Truths(NamedTuple):
    """A condition for each node, in Kleene's three values.

    Attributes:
        is_true, is_false: bool, never both; neither where it depends on missing data.
    """

    is_true: columns.BoolArray
    is_false: columns.BoolArray


ColumnT = TypeVar("ColumnT", Numbers, Truths)
ScalarT = TypeVar("ScalarT", bound=np.generic)


def constant(value: float) -> Numbers:
    """Return the column of a number that is the same on every node."""
    return Numbers(cast("columns.FloatArray", np.float64(value)), ALWAYS)


def definite(mask: columns.BoolArray) -> Truths:
    """Return the column of a condition that never depends on missing data."""
    return Truths(mask, ~mask)


def both(left: columns.BoolArray, right: columns.BoolArray) -> columns.BoolArray:
    """Return `left & right`; free where one of them is ALWAYS."""
    if left is ALWAYS:
        return right
    return left if right is ALWAYS else left & right


def on_each(array: npt.NDArray[ScalarT], n: int) -> npt.NDArray[ScalarT]:
    """Return an array of a column as (n,)."""
    return array if array.ndim else np.broadcast_to(array, (n,))


def at_rows(column: ColumnT, rows: columns.RowIndex) -> ColumnT:
    """Return some rows of a column with an entry for each, of which one may be ALWAYS."""
    first, second = column
    return type(column)(first[rows], second if second is ALWAYS else second[rows])


def spread(column: ColumnT, n: int) -> ColumnT:
    """Return the column with n entries of its own, which may be written to."""
    return _each(column, lambda array: np.array(np.broadcast_to(array, (n,))))


def patched(column: ColumnT, rows: columns.RowIndex, new: ColumnT, n: int) -> ColumnT:
    """Return a spread column with n entries, those of `rows` replaced; older entries in place."""
    longer = _each(column, lambda array: _lengthened(array, n))
    for array, replacement in zip(longer, new, strict=True):
        array[rows] = replacement
    return longer


def _each(column: ColumnT, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> ColumnT:
    first, second = column
    return type(column)(change(first), change(second))


def _lengthened(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    if len(array) >= n:
        return array
    return np.concatenate((array, np.zeros(n - len(array), array.dtype)))
