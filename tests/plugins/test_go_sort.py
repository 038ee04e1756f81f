"""The order of equals after Go's `sort.Slice`."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis
import hypothesis.strategies as st
import pytest

from policysched.plugins.kernels import go_sort

NEARLY_SORTED = [*(i // 10 for i in range(57)), 0, 1, 2]


@pytest.mark.parametrize(
    "keys, expected",
    [
        pytest.param([0] * 13, list(range(13)), id="all equal"),
        pytest.param([1, 0, 1, 0], [1, 3, 0, 2], id="a few"),
        pytest.param(
            [i % 3 for i in range(24)],
            [12, 0, 21, 3, 18, 15, 6, 9, 10, 4, 1, 22, 16, 13, 7, 19, 17, 8, 14, 5, 20, 2, 11, 23],
            id="partitioned",
        ),
        pytest.param(
            [9 - i // 3 for i in range(30)],
            [
                *(27, 29, 28, 24, 26, 25, 23, 22, 21, 20, 19, 18, 15, 17, 16),
                *(14, 13, 12, 9, 11, 10, 8, 7, 6, 5, 4, 3, 0, 2, 1),
            ],
            id="falling",
        ),
        pytest.param(
            NEARLY_SORTED,
            [*range(10), 57, *range(10, 20), 58, *range(20, 30), 59, *range(30, 57)],
            id="nearly sorted",
        ),
        pytest.param(
            [i * 7 % 5 for i in range(60)],
            [
                *(40, 25, 55, 30, 20, 5, 0, 10, 15, 45, 35, 50, 58, 13, 38),
                *(8, 48, 33, 18, 43, 53, 3, 28, 23, 31, 36, 26, 1, 56, 51),
                *(21, 6, 46, 11, 41, 16, 49, 24, 14, 39, 59, 34, 54, 4, 44),
                *(9, 29, 19, 47, 7, 37, 32, 52, 17, 42, 2, 22, 57, 27, 12),
            ],
            id="ninther",
        ),
    ],
)
def test_equals_come_out_as_from_go(keys: Sequence[int], expected: list[int]) -> None:
    """Recorded from Go 1.26."""
    found = go_sort.ordered(range(len(keys)), lambda a, b: keys[a] < keys[b])
    assert found == expected


def test_what_is_always_less_is_scattered_as_in_go() -> None:
    """A comparison that contradicts itself leads to the same order; recorded from Go 1.26."""
    found = go_sort.ordered(range(20), lambda *_: True)
    assert found == [6, 0, 4, 16, 12, 3, 17, 1, 9, 15, 14, 7, 5, 13, 8, 18, 2, 11, 19, 10]


@hypothesis.given(st.lists(st.integers(0, 8), max_size=150))
def test_it_sorts(keys: list[int]) -> None:
    """Every element is there once, in order."""
    found = go_sort.ordered(range(len(keys)), lambda a, b: keys[a] < keys[b])
    assert sorted(found) == list(range(len(keys)))
    assert [keys[i] for i in found] == sorted(keys)


@hypothesis.given(st.lists(st.integers(0, 8), min_size=13, max_size=150))
def test_too_many_unbalanced_partitions_end_in_heapsort(keys: list[int]) -> None:
    """It sorts as well."""
    found = list(range(len(keys)))
    quicksort = go_sort._Quicksort(found, lambda a, b: keys[a] < keys[b])
    quicksort.sort(0, len(keys), bad_left=0)
    assert sorted(found) == list(range(len(keys)))
    assert [keys[i] for i in found] == sorted(keys)


def test_an_adversary_is_answered_as_by_go() -> None:
    """Comparisons made to defeat the choice of pivots (M. D. McIlroy, 1999) are as many."""
    count = 2000
    solid: dict[int, int] = {}
    candidate = comparisons = 0

    def adversary(one: int, other: int) -> bool:
        nonlocal candidate, comparisons
        comparisons += 1
        if one not in solid and other not in solid:
            solid[one if one == candidate else other] = len(solid)
        if one not in solid:
            candidate = one
        elif other not in solid:
            candidate = other
        return solid.get(one, count) < solid.get(other, count)

    found = go_sort.ordered(range(count), adversary)
    values = [solid.get(i, count) for i in found]
    assert values == sorted(values)
    assert comparisons == 14_215
