"""Histograms by label."""

from __future__ import annotations

import pytest

from policysched import histogram


def test_bounds_grow_by_a_factor() -> None:
    """kube-scheduler's buckets are made so."""
    assert histogram.make_exponential_buckets(0.001, 2, 4) == (0.001, 0.002, 0.004, 0.008)


@pytest.mark.parametrize(
    "value, counts",
    [
        pytest.param(0.5, [1, 0, 0], id="below all"),
        pytest.param(1.0, [1, 0, 0], id="a bound belongs to its bucket"),
        pytest.param(1.5, [0, 1, 0], id="between"),
        pytest.param(9.0, [0, 0, 1], id="above all"),
    ],
)
def test_a_value_is_in_one_bucket(value: float, counts: list[int]) -> None:
    """Each value counts once, and in the sum."""
    made = histogram.Histogram((1.0, 2.0))
    made.observe(value)
    assert (made.counts, made.total) == (counts, value)


def test_label_values_have_histograms_of_their_own() -> None:
    """A combination exists once it was observed."""
    family = histogram.LabelledHistograms(("result",), (1.0,))
    for value, result in ((0.5, "a"), (3.0, "a"), (0.1, "b")):
        family.observe(value, result)
    assert {key: made.counts for key, made in family} == {("a",): [1, 1], ("b",): [1, 0]}
