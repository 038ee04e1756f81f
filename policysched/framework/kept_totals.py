"""The totals of all rows as far as they follow from what is kept for equal pods.

Some sums are kept for pods of many shapes. Each shape adds up again those rows alone that have got
other scores since its last pod, however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, kept_points, kept_sums, score_table, status_table

FEW_ROWS = 12
"""So many rows are added up faster one by one."""


class KeptTotals:
    """Kept sums, and points that follow from them and the feasible nodes, added up."""

    def __init__(
        self,
        sums: Sequence[kept_sums.KeptSums],
        points: kept_points.KeptPoints | None = None,
    ) -> None:
        """Add up `sums` and `points`."""
        self._sums = [(kept, change_log.ChangeLogCursor()) for kept in sums]
        self._moving = [(kept, seen) for kept, seen in self._sums if kept.follows_pods]
        self._stamp = (-1, -1)
        self._points = points
        self._kept: Sequence[kept_sums.KeptSums | kept_points.KeptPoints] = sums
        if points is not None:
            self._kept = (*sums, points)
        self._same = 0
        self._by_row: columns.IntArray = np.zeros(0, np.int64)
        self._view = self._by_row.data
        self._may_be_invalid = False
        self._is_behind = False

    def made_anew(self) -> KeptTotals:
        """Return what adds up the same sums, without points."""
        return KeptTotals([kept for kept, _ in self._sums])

    def totals(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        rows: npt.NDArray[np.intp],
        same: int,
        filtered: status_table.StatusIds | None = None,
    ) -> columns.IntArray | None:
        """Return int64 (f,) hundredths; not to be written to. None where a sum is out of range.

        `rows`, intp (f,), are the feasible ones, 0 in `filtered`, int16 (N,), where that is at
        hand; `same` is added to each of them.
        """
        was_behind, self._is_behind = self._is_behind, True  # in case of an error in between
        changed = self._refresh(state, pod, snap, rows, filtered)
        is_other = was_behind or same != self._same or len(self._by_row) != snap.size
        if changed is None or is_other:
            self._same = same
            self._add_up(snap.size)
        else:
            if self._points is not None and self._points.change is not None:
                self._by_row += self._points.change
            if changed:
                self._patch(list(dict.fromkeys(changed)))
        self._is_behind = False
        totals = self._by_row if len(rows) == snap.size else self._by_row.take(rows)
        if self._may_be_invalid and totals.min(initial=0) < 0:
            return None
        return totals

    def parts(self) -> tuple[score_table.Part | score_table.SlotPart, ...]:
        """Return what each plugin gave; it is valid until the next cycle."""
        return tuple([kept.part() for kept in self._kept])

    def _refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        rows: npt.NDArray[np.intp],
        filtered: status_table.StatusIds | None,
    ) -> list[int] | None:
        """Bring everything up to date; return the rows with other sums, None for all."""
        changed: list[int] | None = []
        stamp = (snap.nodes.node_changes.generation, snap.metrics.generation)
        for kept, seen in self._moving if stamp == self._stamp else self._sums:
            kept.refresh(state, pod, snap)
            news = seen.read_changes(kept.changes)
            changed = None if news is None or changed is None else changed + news
        self._stamp = stamp
        if self._points is not None:
            self._points.refresh(state, pod, snap, rows, filtered)
            moved = self._points.changed
            changed = None if moved is None or changed is None else changed + moved.tolist()
        return changed

    def _add_up(self, size: int) -> None:
        totals = np.full(size, self._same)
        for kept in self._kept:
            totals += kept.sums[:size]
        self._by_row = totals
        self._view = totals.data  # through which single numbers are written faster
        self._may_be_invalid = bool(totals.min(initial=0) < 0)

    def _patch(self, rows: list[int]) -> None:
        if len(rows) <= FEW_ROWS:
            for row in rows:
                total = self._same
                for kept in self._kept:
                    total += kept.sums.item(row)
                self._view[row] = total
                self._may_be_invalid |= total < 0
            return
        at = np.array(rows, np.intp)
        first, *others = self._kept
        totals = first.sums.take(at)
        for kept in others:
            totals += kept.sums.take(at)
        totals += self._same
        self._by_row[at] = totals
        self._may_be_invalid |= totals.item(totals.argmin()) < 0
