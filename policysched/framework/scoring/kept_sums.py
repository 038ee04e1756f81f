"""Scores that follow from the node's own row, added up over plugins and kept for equal pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state
from policysched.framework.answers import shape_answers
from policysched.framework.scoring import score_table

RowPartsFn: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeRow], list[int]
]


class KeptSums:
    """Weighted scores of k plugins that read the same, for every row, and their sum.

    A cycle adds the sum alone; what each plugin gave is there to be told of the nodes that matter.

    Attributes:
        sums: int64 (N,) hundredths, as of the last `refresh`; not to be written to.
        changes: rows with other scores.
    """

    def __init__(
        self,
        version: shape_answers.Version,
        names: tuple[str, ...],
        compute: shape_answers.ScoreFn,
        at_row: RowPartsFn | None = None,
    ) -> None:
        """Keep what `compute` says of rows, int64 (k, n) for the k score names.

        `at_row` says the same of one row, None where only `compute` does. `version` tells when to
        ask it again.
        """
        self._names = names
        self._compute = compute
        self._at_row = at_row
        self._version = version
        self._parts: columns.IntArray = np.zeros((len(names), 0), np.int64)
        self._part: score_table.Part | None = None
        self.sums: columns.IntArray = np.zeros(0, np.int64)
        # Through these single numbers are read and written faster.
        self._scores: list[memoryview] = []
        self._totals = self.sums.data
        self.changes = change_log.ChangeLog[int]()

    @property
    def follows_pods(self) -> bool:
        """Whether `refresh` has anything to do where nodes and metrics stay."""
        return self._version.follows_pods

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Bring the sums up to date."""
        rows = self._version.changed(snap)
        if rows is None:
            self._take(self._compute(state, pod, snap.view_all_rows()))
        elif rows:
            if len(self.sums) < snap.size:
                missing = snap.size - len(self.sums)
                self._take(np.pad(self._parts, ((0, 0), (0, missing))))
            if self._at_row is not None and len(rows) <= shape_answers.FEW_ROWS:
                for row in rows:
                    self._patch_one(row, self._at_row(state, pod, snap.view_row(row)))
            else:
                at = np.array(rows, np.intp)
                self._patch(at, self._compute(state, pod, snap.view_rows(at)))

    def part(self) -> score_table.Part:
        """Return what the plugins gave; it is valid until the next cycle."""
        if self._part is None or self._part.weighted is not self._parts:
            self._part = score_table.Part(self._names, self._parts, is_by_row=True)
        return self._part

    def _take(self, parts: columns.IntArray) -> None:
        """Keep `parts`, int64 (k, N), in arrays of their own."""
        self._parts = parts
        self.sums = _sum(parts)
        self._scores = [each.data for each in parts]
        self._totals = self.sums.data
        self.changes.note_everything_changed()

    def _patch_one(self, row: int, scores: list[int]) -> None:
        views, is_other = self._scores, False
        for index, score in enumerate(scores):
            view = views[index]
            if view[row] != score:
                view[row] = score
                is_other = True
        if is_other:
            self._totals[row] = sum(scores)
            self.changes.note_changed_item(row)

    def _patch(self, rows: npt.NDArray[np.intp], parts: columns.IntArray) -> None:
        others = rows[(self._parts[:, rows] != parts).any(axis=0)]
        self._parts[:, rows] = parts
        if len(self._names) > 1:
            self.sums[rows] = _sum(parts)
        self.changes.note_changed_items(others.tolist())


def _sum(parts: columns.IntArray) -> columns.IntArray:
    """Return the sum over plugins; that of a single one shares its memory."""
    total: columns.IntArray = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    return total
