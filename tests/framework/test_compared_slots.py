"""What changes of domains come to by row is the same however few or many rows a domain has."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np

from policysched.framework import compared_slots

_SLOTS = 6
_changes = st.dictionaries(st.integers(0, _SLOTS - 1), st.integers(-9, 9), max_size=_SLOTS)


@hypothesis.given(
    # Of 60 rows in a domain of their own, 40 of a large one, and some anywhere, up to none.
    st.lists(st.integers(0, _SLOTS - 1), min_size=1, max_size=60),
    st.integers(0, 40),
    st.one_of(st.none(), _changes),
    _changes,
)
def test_changes_of_domains_reach_all_of_their_rows(
    rows: list[int], more: int, shift: dict[int, int] | None, changes: dict[int, int]
) -> None:
    """Changes of all domains at once, and of single ones besides, beside those of others."""
    of_row = np.array([*rows, *([0] * more)], np.intp)
    slots = compared_slots.Slots(of_row, _SLOTS, np.arange(len(of_row)))
    expected = np.ones(len(of_row), np.int64)
    for told in (shift or {}), changes:
        for slot, by in told.items():
            expected[of_row == slot] += by
    slots.changes = dict(changes)
    slots.shift = None
    if shift is not None:
        slots.shift = np.array([shift.get(slot, 0) for slot in range(_SLOTS)], np.int64)
    found, alone = slots.add_to(np.ones(len(of_row), np.int64))
    assert found is not None
    for row, by in alone:
        found[row] += by
    assert found.tolist() == expected.tolist()


@hypothesis.given(_changes)
def test_nothing_but_single_rows_changes_nothing_else(changes: dict[int, int]) -> None:
    """Where each row is a domain, single changes are told one by one."""
    slots = compared_slots.Slots(np.arange(_SLOTS), _SLOTS, np.arange(_SLOTS))
    slots.changes = changes
    found, alone = slots.add_to(None)
    assert found is None
    assert dict(alone) == changes
