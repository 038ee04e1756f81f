"""First failures merged from answers by domain, against a loop over rows."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from tests.kernels import both_ways

_SIZE, _DOMAINS, _STATUSES = 6, 3, 5
both_ways_of = pytest.mark.parametrize(
    "kernel", both_ways.load_both("verdicts"), ids=["installed", "interpreted"]
)


def _list_of(numbers: st.SearchStrategy[int], size: int) -> st.SearchStrategy[list[int]]:
    return st.lists(numbers, min_size=size, max_size=size)


@both_ways_of
@hypothesis.given(
    slots=_list_of(st.integers(0, _DOMAINS), _SIZE),
    answers=_list_of(st.integers(0, 2), _DOMAINS + 1),
    positions=_list_of(st.integers(0, 3), _STATUSES),
    before=_list_of(st.integers(-1, 2), _SIZE),
    rows=st.sets(st.integers(0, _SIZE - 1)),
)
def test_the_first_plugin_that_rejects_a_node_is_told(
    kernel: Any,
    slots: list[int],
    answers: list[int],
    positions: list[int],
    before: list[int],
    rows: set[int],
) -> None:
    """An earlier plugin keeps the node, a later one gives it up; what is no node stays so."""
    numbers, position = [0, 3, 4], 2
    expected = list(before)
    for row in rows:
        number = numbers[answers[slots[row]]]
        if number and (before[row] == 0 or (before[row] > 0 and positions[before[row]] > position)):
            expected[row] = number
    ids = np.array(before, np.int16)
    kernel.merge_domain_answers(
        np.array(sorted(rows), np.intp),
        np.array(slots, np.intp),
        np.array(answers, np.int16),
        np.array(numbers, np.int16),
        position,
        np.array(positions, np.int16),
        ids,
    )
    assert ids.tolist() == expected
