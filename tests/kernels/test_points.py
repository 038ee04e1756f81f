"""Weighted points and their totals, against sums over rows."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tests.kernels import both_ways

_SIZE, _PLUGINS = 5, 3
_INVALID = -(2**40)
_POINTS = st.lists(st.integers(-1, 11), min_size=_SIZE, max_size=_SIZE)
both_ways_of = pytest.mark.parametrize(
    "kernel", both_ways.load_both("points"), ids=["installed", "interpreted"]
)


@both_ways_of
@hypothesis.given(
    points=st.lists(_POINTS, min_size=_PLUGINS, max_size=_PLUGINS),
    factors=st.lists(st.integers(1, 300), min_size=_PLUGINS, max_size=_PLUGINS),
    rows=st.sets(st.integers(0, _SIZE - 1)),
)
def test_totals_are_sums_of_weighted_points(
    kernel: Any, points: list[list[int]], factors: list[int], rows: set[int]
) -> None:
    """Other rows stay as they are; a row with a score out of range is told apart."""
    at = np.array(sorted(rows), np.intp)
    weighted, totals = np.array(points, np.int64), np.full(_SIZE, 7)
    highest = np.full(_PLUGINS, 10)
    kernel.weigh_points(at, weighted, highest, np.array(factors, np.int64), _INVALID)
    is_any_negative = kernel.add_points(at, weighted, totals)
    for row in range(_SIZE):
        given = [each[row] for each in points]
        if row not in rows:
            expected, total = given, 7
        elif all(0 <= point <= 10 for point in given):
            expected = [point * factor for point, factor in zip(given, factors, strict=True)]
            total = 7 + sum(expected)
        else:
            expected, total = [_INVALID, 0, 0], 7 + _INVALID
        assert weighted[:, row].tolist() == expected
        assert totals[row] == total
    assert is_any_negative == (totals < 0).any()
