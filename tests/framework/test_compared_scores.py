"""Compared scores that follow changes, against the same comparison made anew."""

from __future__ import annotations

import dataclasses
from typing import Any, cast
from unittest import mock

import hypothesis
import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.framework import comparison
from policysched.framework.answers import first_failures, status_table
from policysched.framework.scoring import compared_scores, ranked_scores
from tests import examples
from tests.kernels import both_ways

_NOTHING: Any = None
_KINDS = st.sampled_from(comparison.ComparisonKind)
_NUMBERS = st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.0, float("nan")])
_SIZE = 7


@dataclasses.dataclass
class _Numbers:
    """Numbers that a test changes."""

    numbers: list[list[float]]
    slot_of_row: npt.NDArray[np.intp] | None
    changed: list[int] = dataclasses.field(default_factory=list)
    is_new: bool = True
    changes: change_log.ChangeLog[int] = dataclasses.field(
        default_factory=change_log.ChangeLog[int]
    )

    @property
    def values(self) -> columns.FloatArray:
        """All numbers."""
        return np.array(self.numbers, np.float64)

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Tell which numbers changed."""
        if self.is_new:
            self.changes.note_everything_changed()
        else:
            self.changes.note_changed_items(self.changed)
        self.is_new, self.changed = False, []


def _slot_of(source: _Numbers, row: int) -> int:
    return row if source.slot_of_row is None else source.slot_of_row.item(row)


def _expected(source: _Numbers, hows: list[comparison.Comparison], rows: list[int]) -> list[int]:
    """Return the sum of all scores on each of `rows`, from nothing."""
    totals = np.zeros(len(rows), np.int64)
    for number, (how, numbers) in enumerate(zip(hows, source.numbers, strict=True)):
        values = np.array([numbers[_slot_of(source, row)] for row in rows], np.float64)
        totals += how.compare(values) * (number + 1)
    found: list[int] = totals.tolist()
    return found


def _draw_comparison(data: st.DataObject) -> comparison.Comparison:
    kind = data.draw(_KINDS)
    return comparison.Comparison(
        kind, data.draw(st.booleans()), data.draw(st.integers(0, 9)), data.draw(st.just(2.5))
    )


def _follow(data: st.DataObject, scores: Any, source: _Numbers, hows: list[Any]) -> None:
    """Change numbers and feasible rows, and compare after each change."""
    feasible = compared_scores.FeasibleRows()
    for _ in range(data.draw(st.integers(1, 8))):
        for slot in data.draw(st.lists(st.integers(0, len(source.numbers[0]) - 1), max_size=3)):
            for each in source.numbers:
                each[slot] = data.draw(_NUMBERS)
            source.changed.append(slot)
        source.is_new |= data.draw(st.sampled_from([False, False, False, True]))
        rows = sorted(data.draw(st.sets(st.integers(0, _SIZE - 1), min_size=1)))
        ids = np.ones(_SIZE, np.int16)
        ids[rows] = 0
        feasible.refresh(first_failures.FirstFailures(ids, status_table.StatusTable()))
        scores.refresh(_NOTHING)
        totals = np.zeros(_SIZE, np.int64)
        if scores.same is None:
            scores.add_to(totals, feasible)
        else:
            totals += int(scores.same.sum())
        assert totals[rows].tolist() == _expected(source, hows, rows)


@pytest.mark.parametrize("kernel", both_ways.load_both("points"), ids=["installed", "interpreted"])
@hypothesis.settings(max_examples=examples.scale(60))
@hypothesis.given(data=st.data())
def test_changes_lead_where_a_new_comparison_does(kernel: Any, data: st.DataObject) -> None:
    """Whatever numbers and feasible rows become, by row and by domain."""
    are_by_row = data.draw(st.booleans())
    hows = [_draw_comparison(data) for _ in range(data.draw(st.integers(1, 3)))]
    hows = [how for how in hows if how.kind is not comparison.ComparisonKind.RANK]
    hypothesis.assume(hows)
    slots = list(range(_SIZE)) if are_by_row else [0, 1, 1, 2, 2, 2, 0]
    size = max(slots) + 1
    numbers = [data.draw(st.lists(_NUMBERS, min_size=size, max_size=size)) for _ in hows]
    source = _Numbers(numbers, None if are_by_row else np.array(slots, np.intp))
    members = [compared_scores.Member("a", how, i + 1) for i, how in enumerate(hows)]
    with (
        mock.patch.object(comparison, "kernels", kernel),
        mock.patch.object(compared_scores, "kernels", kernel),
    ):
        scores = compared_scores.ComparedScores(source, members)
        _follow(data, scores, source, hows)


@hypothesis.settings(max_examples=examples.scale(60))
@hypothesis.given(data=st.data())
def test_changes_lead_where_a_new_ranking_does(data: st.DataObject) -> None:
    """Whatever numbers and feasible rows become."""
    how = dataclasses.replace(_draw_comparison(data), kind=comparison.ComparisonKind.RANK)
    numbers = data.draw(st.lists(_NUMBERS, min_size=_SIZE, max_size=_SIZE))
    source = _Numbers([numbers], None)
    scores = ranked_scores.RankedScores(source, compared_scores.Member("a", how, 1))
    _follow(data, scores, source, [how])


def test_equal_numbers_are_the_same_for_all_until_one_differs() -> None:
    """Then the rows are compared."""
    how = comparison.Comparison(comparison.ComparisonKind.MAXIMUM, prefers_low=True)
    source = _Numbers([[0.0] * _SIZE], None)
    member = compared_scores.Member("a", how, 300)
    scores = compared_scores.ComparedScores(source, [member])
    scores.refresh(_NOTHING)
    assert cast("Any", scores.same).tolist() == [[30_000]]
    source.numbers[0][2] = 1.0
    source.changed = [2]
    scores.refresh(_NOTHING)
    assert scores.same is None
