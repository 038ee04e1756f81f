"""Points by comparison with other numbers: the formulas, and documented examples."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.cluster.columns import columns
from policysched.compiler.kernels import points
from policysched.lang.checked import checked
from tests.reference import policy_scores

finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from((0.0, -0.0, 1.0, 3.0))
few = st.sampled_from((0.0, 1.0, 2.0, 5.0, -1.0))
values = st.lists(finite | few, max_size=8)


def _points(way: checked.Normalization, given: list[float], *, prefer_low: bool) -> list[int]:
    found: list[int] = _array(way, np.array(given, np.float64), prefer_low=prefer_low).tolist()
    return found


def _array(
    way: checked.Normalization, given: columns.FloatArray, *, prefer_low: bool
) -> columns.IntArray:
    match way:
        case checked.MinMaxNormalization(floor=floor):
            return points.minmax(given, floor, prefer_low=prefer_low)
        case checked.RankNormalization():
            return points.rank(given, prefer_low=prefer_low)
        case checked.MaxNormalization():
            return points.by_largest(given, prefer_low=prefer_low)
        case _:
            raise AssertionError(way)


@st.composite
def ways(draw: st.DrawFn) -> checked.Normalization:
    """Return a normalisation that compares numbers."""
    floor = abs(draw(finite | few))
    choices: tuple[checked.Normalization, ...] = (
        checked.MinMaxNormalization(floor),
        checked.RankNormalization(),
        checked.MaxNormalization(),
    )
    return draw(st.sampled_from(choices))


@hypothesis.given(ways(), values, st.booleans())
def test_points_follow_the_formula(
    way: checked.Normalization, given: list[float], prefer_low: bool
) -> None:
    """Every normalisation gives what its formula gives a number at a time, inside 0 to 100."""
    with np.errstate(all="ignore"):
        found = _points(way, given, prefer_low=prefer_low)
    named = {str(i): value for i, value in enumerate(given)}
    expected = policy_scores.normalized(way, named, prefer_low=prefer_low)
    assert found == list(expected.values())
    assert all(0 <= each <= points.FULL for each in found)


@pytest.mark.parametrize(
    "way, given, prefer_low, expected",
    [
        pytest.param(
            checked.MinMaxNormalization(0),
            [1.0, 2.0, 3.0],
            False,
            [0, 5000, 10000],
            id="minmax-high",
        ),
        pytest.param(
            checked.MinMaxNormalization(4),
            [1.0, 2.0, 3.0],
            True,
            [5000, 2500, 0],
            id="minmax-floor",
        ),
        pytest.param(
            checked.MinMaxNormalization(0), [7.0, 7.0], False, [0, 0], id="minmax-all-equal"
        ),
        pytest.param(
            checked.RankNormalization(),
            [7.0, 1.0, 7.0, 3.0],
            False,
            [10000, 0, 10000, 5000],
            id="rank",
        ),
        pytest.param(checked.RankNormalization(), [7.0, 7.0], True, [0, 0], id="rank-one-value"),
        pytest.param(
            checked.MaxNormalization(), [1.0, 4.0, -1.0], True, [7500, 0, 10000], id="max-low"
        ),
        pytest.param(checked.MaxNormalization(), [0.0, -1.0], True, [0, 0], id="max-of-zero"),
    ],
)  # fmt: skip - one case a line
def test_points_of_a_few_numbers(
    way: checked.Normalization, given: list[float], prefer_low: bool, expected: list[int]
) -> None:
    """The documented examples."""
    assert _points(way, given, prefer_low=prefer_low) == expected
