"""Scores that follow from the node's own row, added up over plugins and kept for equal pods."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import cycle_state, score_table, shape_answers


class KeptSums:
    """Weighted scores of k plugins that read the same, for every row, and their sum.

    A cycle adds the sum alone; what each plugin gave is there to be told of the nodes that matter.

    Attributes:
        sums: int64 (N,) hundredths, as of the last time they were asked for; not to be written to.
        changed: rows that were asked about then, None for all.
    """

    def __init__(
        self,
        version: shape_answers.Version,
        names: tuple[str, ...],
        compute: shape_answers.ScoreFn,
    ) -> None:
        """Keep what `compute` says of rows, int64 (k, n) for the k score names.

        `version` tells when to ask it again.
        """
        self._names = names
        self._compute = compute
        self._version = version
        self._parts: columns.IntArray = np.zeros((len(names), 0), np.int64)
        self.sums: columns.IntArray = np.zeros(0, np.int64)
        self.changed: npt.NDArray[np.intp] | None = None

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Bring the sums up to date."""
        rows = self.changed = self._version.changed_rows(snap)
        if rows is None:
            self._parts = self._compute(state, pod, snap.all_rows())
            self.sums = _sum(self._parts)
        elif len(rows):
            self._lengthen(snap.size)
            changed = self._compute(state, pod, snap.at_rows(rows))
            self._parts[:, rows] = changed
            if len(self._names) > 1:
                self.sums[rows] = _sum(changed)

    def part(self) -> score_table.Part:
        """Return what the plugins gave; it is valid until the next cycle."""
        return score_table.Part(self._names, self._parts, is_by_row=True)

    def _lengthen(self, size: int) -> None:
        missing = size - len(self.sums)
        if missing > 0:
            self._parts = np.pad(self._parts, ((0, 0), (0, missing)))
            self.sums = _sum(self._parts)
            self.changed = None  # for whoever keeps the arrays


def _sum(parts: columns.IntArray) -> columns.IntArray:
    """Return the sum over plugins; that of a single one shares its memory."""
    total: columns.IntArray = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    return total
