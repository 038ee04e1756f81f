"""Points by comparison with other numbers: the formulas, and documented examples."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from policysched.framework import comparison
from policysched.lang.checked import checked
from tests.reference import policy_scores

Kind = comparison.ComparisonKind
finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from((0.0, -0.0, 1.0, 3.0))
few = st.sampled_from((0.0, 1.0, 2.0, 5.0, -1.0))
values = st.lists(finite | few, max_size=8)


def _points(way: checked.Normalization, given: list[float], *, prefer_low: bool) -> list[int]:
    how = _comparison(way, prefers_low=prefer_low)
    found: list[int] = how.compare(np.array(given, np.float64)).tolist()
    return found


def _comparison(way: checked.Normalization, *, prefers_low: bool) -> comparison.Comparison:
    match way:
        case checked.MinMaxNormalization(floor=floor):
            return comparison.Comparison(Kind.MINMAX, prefers_low, floor=floor)
        case checked.RankNormalization():
            return comparison.Comparison(Kind.RANK, prefers_low)
        case checked.MaxNormalization():
            return comparison.Comparison(Kind.LARGEST, prefers_low)
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
    found = _points(way, given, prefer_low=prefer_low)
    named = {str(i): value for i, value in enumerate(given)}
    expected = policy_scores.normalized(way, named, prefer_low=prefer_low)
    assert found == list(expected.values())
    assert all(0 <= each <= comparison.FULL for each in found)


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


@pytest.mark.parametrize(
    "prefers_low, scores, expected",
    [
        pytest.param(False, [0, 1, 3], [0, 33, 100], id="maximum"),
        pytest.param(False, [0, 0], [0, 0], id="maximum of nothing"),
        pytest.param(True, [0, 1, 3], [100, 67, 0], id="reversed"),
        pytest.param(True, [0, 0], [100, 100], id="reversed nothing"),
        pytest.param(False, [], [], id="no nodes"),
    ],
)
def test_whole_points_by_the_maximum(
    prefers_low: bool, scores: list[int], expected: list[int]
) -> None:
    """As kube-scheduler's default normalisation."""
    how = comparison.Comparison(Kind.MAXIMUM, prefers_low)
    assert how.compare(np.array(scores, np.int64)).tolist() == expected


def test_a_missing_number_gets_its_own_points_and_is_compared_with_nobody() -> None:
    """Neither a bound nor a rank follows from it."""
    for kind in (Kind.MINMAX, Kind.RANK):
        found = comparison.Comparison(kind, missing=17).compare(np.array([1.0, np.nan, 2.0]))
        assert found.tolist() == [0, 17, comparison.FULL]
