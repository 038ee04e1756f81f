from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched import spelling


@pytest.mark.parametrize(
    "word, names, nearest",
    [
        pytest.param("Inn", ["In", "NotIn"], ["In"], id="insertion"),
        pytest.param("weigth", ["weight", "when"], ["weight"], id="swap"),
        pytest.param("nodeaffinity", ["nodeAffinity"], ["nodeAffinity"], id="case"),
        pytest.param("nodeAfinitty", ["nodeAffinity"], ["nodeAffinity"], id="two-edits"),
        pytest.param("nodAfinitty", ["nodeAffinity"], [], id="three-edits"),
        pytest.param("or", ["and", "as", "In"], [], id="short-words-differ-in-one-place"),
        pytest.param("b", ["a"], [], id="nothing-in-common"),
        pytest.param(
            "aaaa", ["aaab", "aaac", "aaad", "aaae"], ["aaab", "aaac", "aaad"], id="three"
        ),
    ],
)
def test_names_within_two_edits_are_near(word: str, names: list[str], nearest: list[str]) -> None:
    """Nearest first, at most three; a short word must be very near."""
    assert spelling.find_nearest_names(word, names) == nearest


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_distance_is_symmetric_and_zero_for_equals(left: str, right: str) -> None:
    """It is a distance."""
    assert spelling.compute_edit_distance(left, right) == spelling.compute_edit_distance(
        right, left
    )
    assert (spelling.compute_edit_distance(left, right) == 0) == (left == right)
    assert spelling.compute_edit_distance(left, right) <= max(len(left), len(right))
