"""What numbers are compared with, kept while they change one by one, is that of all at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster import columns
from policysched.compiler.kernels import frames
from policysched.framework import comparing

_Make = Callable[[], comparing.Frame]
_MISSING = 4_200
_FRAMES: dict[str, _Make] = {
    "minmax": lambda: frames.MinMax(0.0, _MISSING, prefer_low=False),
    "minmax, low": lambda: frames.MinMax(2.5, _MISSING, prefer_low=True),
    "max": lambda: frames.Largest(_MISSING, prefer_low=False),
    "max, low": lambda: frames.Largest(_MISSING, prefer_low=True),
    "rank": lambda: frames.Rank(_MISSING, prefer_low=False),
    "rank, low": lambda: frames.Rank(_MISSING, prefer_low=True),
}
_numbers = st.one_of(
    st.sampled_from((math.nan, 0.0, 1.0, 2.0, 7.0, -3.0)),
    st.floats(allow_nan=False, allow_infinity=False),
)


@pytest.mark.parametrize("make", _FRAMES.values(), ids=_FRAMES)
@hypothesis.given(
    st.lists(_numbers, min_size=1, max_size=24),
    st.lists(st.tuples(st.integers(0, 23), _numbers), max_size=12),
)
def test_numbers_that_change_one_by_one_get_the_points_of_all(
    make: _Make, values: list[float], changes: list[tuple[int, float]]
) -> None:
    """Bit by bit, by whichever way a number is taken over."""
    frame = make()
    frame.begin(_known(values))
    for place, new in changes:
        index = place % len(values)
        old, values[index] = values[index], new
        found = frame.replace(old, new)
        if found is None:
            effect = frame.move(_known([new]).tolist(), _known([old]).tolist())
            if effect is comparing.Effect.UNKNOWN:
                frame.begin(_known(values))
        else:
            assert found == frame.point(new)
        fresh = make()
        fresh.begin(_known(values))
        expected = fresh.points(np.array(values)).tolist()
        assert frame.points(np.array(values)).tolist() == expected
        assert [frame.point(value) for value in values] == expected


@pytest.mark.parametrize("make", _FRAMES.values(), ids=_FRAMES)
@hypothesis.given(
    st.lists(_numbers, max_size=24),
    st.lists(st.tuples(st.lists(_numbers, max_size=9), st.integers(0, 24)), max_size=8),
)
def test_numbers_that_come_and_go_at_once_leave_the_points_of_all(
    make: _Make, values: list[float], moves: list[tuple[list[float], int]]
) -> None:
    """Bit by bit; the oldest numbers go."""
    frame = make()
    frame.begin(_known(values))
    for come, kept in moves:
        values = [*values, *come]
        first = max(len(values) - kept, 0)
        gone, values = values[:first], values[first:]
        every = np.array([*gone, *values])
        new, old = np.arange(len(every) - len(come), len(every)), np.arange(len(gone))
        if frame.move_many(every, new, old) is comparing.Effect.UNKNOWN:
            frame.begin(_known(values))
        fresh = make()
        fresh.begin(_known(values))
        of_interest = np.array([*values, *come, *gone, 1.5])
        if len(_known(values)):
            assert frame.points(of_interest).tolist() == fresh.points(of_interest).tolist()


def _known(values: list[float]) -> columns.FloatArray:
    return np.array([value for value in values if not math.isnan(value)])
