"""What numbers are compared with, kept while they change one by one, is that of all at once."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster.columns import columns
from policysched.compiler.kernels import bound_frames, rank_frame
from policysched.framework import comparing

_Make = Callable[[], comparing.Frame]
_MISSING = 4_200
_FRAMES: dict[str, _Make] = {
    "minmax": lambda: bound_frames.MinMax(0.0, _MISSING, prefer_low=False),
    "minmax, low": lambda: bound_frames.MinMax(2.5, _MISSING, prefer_low=True),
    "max": lambda: bound_frames.Largest(_MISSING, prefer_low=False),
    "max, low": lambda: bound_frames.Largest(_MISSING, prefer_low=True),
    "rank": lambda: rank_frame.Rank(_MISSING, prefer_low=False),
    "rank, low": lambda: rank_frame.Rank(_MISSING, prefer_low=True),
}
_few_numbers = st.sampled_from((math.nan, 0.0, 1.0, 2.0, 7.0, -3.0))
_numbers = st.one_of(_few_numbers, _few_numbers, st.floats(allow_nan=False, allow_infinity=False))
_replaced = st.tuples(st.integers(0, 23), _numbers)
_moved = st.sets(st.integers(0, 23), max_size=8)


@dataclasses.dataclass
class _Places:
    """Where rows are."""

    rows_in: columns.IntArray

    @property
    def present(self) -> comparing.SlotNumbers:
        return np.flatnonzero(self.rows_in)


@pytest.mark.parametrize("make", _FRAMES.values(), ids=_FRAMES)
@hypothesis.given(
    st.lists(st.tuples(_numbers, st.integers(0, 2)), min_size=1, max_size=24),
    st.lists(st.one_of(_replaced, _replaced, _moved), max_size=16),
)
def test_what_comes_and_goes_and_changes_leaves_the_points_of_all(
    make: _Make, slots: list[tuple[float, int]], events: list[tuple[int, float] | set[int]]
) -> None:
    """Bit by bit, of slots that are compared and others; what is not told stays as it is."""
    values = np.array([number for number, _ in slots])
    places = _Places(np.array([rows for _, rows in slots]))
    frame = make()
    frame.begin(values, places)
    told = frame.points(values)
    for event in events:
        if isinstance(event, set):
            _move(frame, values, places, event, told)
        else:
            _replace(frame, values, places, event, told)
        fresh = make()
        fresh.begin(values, places)
        expected = fresh.points(values).tolist()
        assert frame.points(values).tolist() == expected
        assert told.tolist() == expected


def _move(
    frame: comparing.Frame,
    values: columns.FloatArray,
    places: _Places,
    slots: set[int],
    told: columns.IntArray,
) -> None:
    """Let slots go that are compared, and others come, as `kept_points` does."""
    moved = np.array(sorted(slot for slot in slots if slot < len(values)), np.intp)
    is_there = places.rows_in[moved] > 0
    places.rows_in[moved] = ~is_there
    if frame.holders and all(places.rows_in[slot] for slot in frame.holders):
        return
    if frame.move(values, places, moved[~is_there], moved[is_there]):
        told[:] = frame.points(values)


def _replace(
    frame: comparing.Frame,
    values: columns.FloatArray,
    places: _Places,
    event: tuple[int, float],
    told: columns.IntArray,
) -> None:
    slot, new = event[0] % len(values), event[1]
    old = values.item(slot)
    values[slot] = new
    found = frame.replace(values, places, slot, old, new)
    if found is None:
        told[:] = frame.points(values)
    else:
        told[slot] = found
