"""What consecutive stages of Filter say together of every row, kept for equal pods.

Each stage keeps its own answers (`shape_answers.KeptFilter`); what they come to, and which rows are
feasible, changes only where one of them changed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import pod_shape, snapshot
from policysched.framework import cycle_state, shape_answers, status_table

DEAD = -1
"""What stands for a row that is no node."""
_FEW_ROWS = 16
"""Beyond so many changed rows merging all of them is cheaper."""


class KeptVerdicts:
    """First failures over several stages, in order."""

    def __init__(self, stages: Sequence[shape_answers.KeptFilter]) -> None:
        """Merge `stages`, at least one."""
        self._stages = stages
        self._ids: status_table.StatusIds = np.zeros(0, np.int16)
        self._feasible: npt.NDArray[np.intp] | None = None

    def ids(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        table: status_table.StatusTable,
    ) -> status_table.StatusIds:
        """Return int16 (N,), current, `DEAD` where there is no node; not to be written to."""
        is_new = len(self._ids) != snap.size
        rows: set[int] = set()
        for stage in self._stages:
            stage.ids(state, pod, snap, table)
            if stage.changed is None:
                is_new = True
            elif 0 < len(stage.changed) <= _FEW_ROWS:
                rows.update(stage.changed.tolist())
            elif len(stage.changed):
                is_new = True
        if is_new or len(rows) > _FEW_ROWS:
            self._ids = self._merged(snap)
            self._feasible = None
        else:
            for row in rows:
                self._patch(row, snap)
        return self._ids

    def feasible_rows(self, ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
        """Return intp (f,): the rows that pass by `ids`.

        For what `ids` returned it is the same object as before while it is the same rows.
        """
        if ids is not self._ids:
            return np.flatnonzero(ids == 0)
        if self._feasible is None:
            self._feasible = np.flatnonzero(self._ids == 0)
        return self._feasible

    def _merged(self, snap: snapshot.Snapshot) -> status_table.StatusIds:
        merged = self._stages[0].current[: snap.size].copy()
        for stage in self._stages[1:]:
            merged = np.where(merged == 0, stage.current[: snap.size], merged)
        merged[~snap.is_alive] = DEAD
        return merged

    def _patch(self, row: int, snap: snapshot.Snapshot) -> None:
        found = DEAD
        if snap.is_alive[row]:
            answers = (stage.current.item(row) for stage in self._stages)
            found = next((answer for answer in answers if answer), 0)
        before = self._ids.item(row)
        if found != before:
            self._ids[row] = found
            if not (found and before):
                self._feasible = None
