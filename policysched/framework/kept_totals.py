"""The totals of the feasible nodes as far as they follow from what is kept for equal pods.

After a pod was placed, one node has other scores: then one total is added up again, however many
nodes there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import cycle_state, kept_points, kept_sums, score_table

_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class KeptTotals:
    """Kept sums, and scores that were normalised over the feasible nodes, added up."""

    def __init__(
        self,
        sums: Sequence[kept_sums.KeptSums],
        given_names: Sequence[str],
        points: kept_points.KeptPoints | None = None,
    ) -> None:
        """Add up `sums`, `points`, and scores under `given_names` that come with each question."""
        self._kept: Sequence[kept_sums.KeptSums | kept_points.KeptPoints] = sums
        if points is not None:
            self._kept = (*sums, points)
        self._sums = sums
        self._points = points
        self._given_names = given_names
        self._rows = _NO_ROWS
        self._has_all_rows = False
        self._given: Sequence[columns.IntArray] = ()
        self._totals: columns.IntArray | None = None
        self._is_behind = False
        self._parts: tuple[score_table.Part | score_table.SlotPart, ...] = ()

    def known(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return intp (f,) `rows` as the object of the last time, where they are the same."""
        return self._rows if rows is self._rows or np.array_equal(rows, self._rows) else rows

    def refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        rows: npt.NDArray[np.intp],
    ) -> set[int] | None:
        """Bring the sums up to date; return the rows with other ones, None for all.

        `rows`, intp (f,), are what `known` returned.
        """
        if self._is_behind:  # the last time an error came in between
            self._totals = None
        self._is_behind = True
        changed: set[int] | None = set()
        for kept_sum in self._sums:
            kept_sum.refresh(state, pod, snap)
        if self._points is not None:
            self._points.refresh(state, pod, snap, rows)
        for kept in self._kept:
            if kept.changed is None:
                changed = None
            elif changed is not None and len(kept.changed):
                changed.update(kept.changed.tolist())
        if changed is None:
            self._totals = None
        return changed

    def totals(
        self,
        rows: npt.NDArray[np.intp],
        changed: set[int] | None,
        given: Sequence[columns.IntArray],
        size: int,
    ) -> columns.IntArray | None:
        """Return int64 (f,) hundredths; not to be written to. None where a sum is out of range.

        `rows`, intp (f,), are what `known` returned, of `size` rows in all; `changed` is what
        `refresh` said, and `given` are int64 (f,) each, the same objects while they are the same
        scores.
        """
        self._is_behind = False
        is_same = rows is self._rows and all(map(_is, given, self._given))
        if self._totals is None or changed is None or not is_same:
            self._rows, self._given = rows, given
            self._has_all_rows = len(rows) == size
            self._totals = self._added_up()
        else:
            change = None if self._points is None else self._points.change
            if change is not None:
                self._totals += change if self._has_all_rows else change[rows]
            for row in changed:
                self._patch(row)
        return self._totals

    def parts(self) -> tuple[score_table.Part | score_table.SlotPart, ...]:
        """Return what each plugin gave; it is valid until the next cycle."""
        return self._parts

    def _added_up(self) -> columns.IntArray | None:
        rows = slice(None) if self._has_all_rows else self._rows
        totals = np.zeros(len(self._rows), np.int64)
        for kept in self._kept:
            totals += kept.sums[rows]
        if totals.min(initial=0) < 0:
            return None
        for weighted in self._given:
            totals += weighted
        given = (
            score_table.Part((name,), weighted, is_by_row=False)
            for name, weighted in zip(self._given_names, self._given, strict=True)
        )
        self._parts = (*(kept.part() for kept in self._kept), *given)
        return totals

    def _patch(self, row: int) -> None:
        """Add up the total of one row again, if it is feasible."""
        position = row
        if not self._has_all_rows:
            position = int(self._rows.searchsorted(row))
            if position == len(self._rows) or self._rows.item(position) != row:
                return
        total = sum([kept.sums.item(row) for kept in self._kept])
        if total < 0 or self._totals is None:
            self._totals = None
            return
        self._totals[position] = total + sum([each.item(position) for each in self._given])


def _is(one: columns.IntArray, other: columns.IntArray) -> bool:
    return one is other
