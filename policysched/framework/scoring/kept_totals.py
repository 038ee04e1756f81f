"""The totals of all rows as far as they follow from kept sums.

Some sums are kept for pods of many shapes. Each shape adds up again those rows alone that have got
other scores since its last pod, however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state
from policysched.framework.scoring import kept_sums, score_table

FEW_ROWS = 12
"""So many rows are added up faster one by one."""


class KeptTotals:
    """Kept sums, added up for every row.

    Attributes:
        by_row: int64 (N,) hundredths, as of the last `refresh`; not to be written to.
        may_be_invalid: whether a row may have a score out of range, which makes its total negative.
    """

    def __init__(self, sums: Sequence[kept_sums.KeptSums]) -> None:
        """Add up `sums`."""
        self._sums = [(kept, change_log.ChangeLogCursor()) for kept in sums]
        self._moving = [(kept, seen) for kept, seen in self._sums if kept.follows_pods]
        self._stamp = (-1, -1)
        self._same = 0
        self.by_row: columns.IntArray = np.zeros(0, np.int64)
        self._view = self.by_row.data
        self.may_be_invalid = False
        self._is_behind = False

    def made_anew(self) -> KeptTotals:
        """Return what adds up the same sums."""
        return KeptTotals([kept for kept, _ in self._sums])

    def refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        same: int,
    ) -> None:
        """Bring the totals up to date; `same` is added to each of them."""
        was_behind, self._is_behind = self._is_behind, True  # in case of an error in between
        changed = self._refresh_sums(state, pod, snap)
        is_other = was_behind or same != self._same or len(self.by_row) != snap.size
        if changed is None or is_other:
            self._same = same
            self._add_up(snap.size)
        elif changed:
            self._patch(list(dict.fromkeys(changed)))
        self._is_behind = False

    def parts(self) -> list[score_table.Part]:
        """Return what each plugin gave; it is valid until the next cycle."""
        return [kept.part() for kept, _ in self._sums]

    def _refresh_sums(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> list[int] | None:
        """Bring the sums up to date; return the rows with other ones, None for all."""
        changed: list[int] | None = []
        stamp = (snap.nodes.node_changes.generation, snap.metrics.generation)
        for kept, seen in self._moving if stamp == self._stamp else self._sums:
            kept.refresh(state, pod, snap)
            news = seen.read_changes(kept.changes)
            changed = None if news is None or changed is None else changed + news
        self._stamp = stamp
        return changed

    def _add_up(self, size: int) -> None:
        totals = np.full(size, self._same)
        for kept, _ in self._sums:
            totals += kept.sums[:size]
        self.by_row = totals
        self._view = totals.data  # through which single numbers are written faster
        self.may_be_invalid = bool(totals.min(initial=0) < 0)

    def _patch(self, rows: list[int]) -> None:
        if len(rows) <= FEW_ROWS:
            for row in rows:
                total = self._same
                for kept, _ in self._sums:
                    total += kept.sums.item(row)
                self._view[row] = total
                self.may_be_invalid |= total < 0
            return
        at = np.array(rows, np.intp)
        totals = np.full(len(at), self._same)
        for kept, _ in self._sums:
            totals += kept.sums.take(at)
        self.by_row[at] = totals
        self.may_be_invalid |= totals.item(totals.argmin()) < 0
