"""What consecutive stages of Filter say together of every row, kept for equal pods.

Each stage keeps its own answers (`KeptStage`), some of them for pods of many shapes;
what they come to, and which rows are feasible, changes only where one of them changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, columns, pod_shape, snapshot
from policysched.framework import (
    cycle_state,
    kept_following,
    shape_answers,
    standings,
    status_table,
)

KeptStage: TypeAlias = shape_answers.KeptFilter | kept_following.KeptFollowing
DEAD = -1
"""What stands for a row that is no node."""
_FEW_ROWS = 16
"""So many changed rows are merged one by one."""


class _Stage:
    """The answers of a stage in the numbers of a shape."""

    def __init__(self, kept: KeptStage) -> None:
        self.kept = kept
        self._seen = change_log.Seen()
        self._numbers = [0]

    def refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        table: status_table.StatusTable,
    ) -> list[int] | None:
        """Bring the answers up to date; return the rows with other ones, None for all."""
        kept = self.kept
        kept.refresh(state, pod, snap)
        if len(kept.table.statuses) > len(self._numbers):
            self._numbers = [table.intern(each) for each in kept.table.statuses]
        return self._seen.news(kept.changes)

    def at(self, row: int) -> int:
        """Return the answer about a row."""
        return self._numbers[self.kept.current.item(row)]

    @property
    def rejects(self) -> bool:
        """Whether it has ever rejected a node."""
        return len(self._numbers) > 1

    def ids(self, rows: columns.RowIndex) -> status_table.StatusIds:
        """Return int16 (n,), the answers about `rows`; not to be written to."""
        numbers: status_table.StatusIds = np.array(self._numbers, np.int16)
        return numbers.take(self.kept.current[rows])


class KeptVerdicts:
    """First failures over several stages, in order."""

    def __init__(self, stages: Sequence[KeptStage]) -> None:
        """Merge `stages`, at least one."""
        self._stages = [_Stage(kept) for kept in stages]
        self._node_changes = change_log.Seen()
        self._ids: status_table.StatusIds = np.zeros(0, np.int16)
        self._feasible: npt.NDArray[np.intp] | None = None
        self._rejections = standings.KeptRejections()

    def ids(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        table: status_table.StatusTable,
    ) -> status_table.StatusIds:
        """Return int16 (N,), current, `DEAD` where there is no node; not to be written to."""
        changed = [stage.refresh(state, pod, snap, table) for stage in self._stages]
        changed.append(self._node_changes.news(snap.nodes.node_changes))  # some come or die
        if changed[-1] != []:
            self._rejections.forget()  # other names
        rows: list[int] | None = []  # with repeats
        for each in changed:
            if each is None or rows is None:
                rows = None
            elif each:
                rows = rows + each
        if rows is None or len(self._ids) != snap.size:
            self._ids = self._merged(slice(0, snap.size), snap)
            self._forget()
        elif len(rows) > _FEW_ROWS:
            at = np.array(rows, np.intp)
            self._ids[at] = self._merged(at, snap)
            self._forget()
        else:
            for row in rows:
                self._patch(row, snap)
        return self._ids

    def feasible_rows(self, ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
        """Return intp (f,): the rows that pass by `ids`.

        For what `ids` returned it is the same object as before while it is the same rows.
        """
        if ids is not self._ids:
            return _passing(ids)
        if self._feasible is None:
            self._feasible = _passing(self._ids)
        return self._feasible

    def rejections(self, ids: status_table.StatusIds) -> standings.KeptRejections | None:
        """Return what is kept of the rejections in `ids`, None unless `ids` returned these."""
        return self._rejections if ids is self._ids else None

    def _forget(self) -> None:
        self._feasible = None
        self._rejections.forget()

    def _merged(self, rows: columns.RowIndex, snap: snapshot.Snapshot) -> status_table.StatusIds:
        is_alive = snap.is_alive[rows]
        merged: status_table.StatusIds = np.zeros(len(is_alive), np.int16)
        for stage in self._stages:
            if stage.rejects:
                merged = status_table.first_of(merged, stage.ids(rows))
        merged[~is_alive] = DEAD
        return merged

    def _patch(self, row: int, snap: snapshot.Snapshot) -> None:
        found = DEAD
        if snap.is_alive[row]:
            found = next((answer for stage in self._stages if (answer := stage.at(row))), 0)
        before = self._ids.item(row)
        if found != before:
            self._ids[row] = found
            self._rejections.forget()
            if not (found and before):
                self._feasible = None


def _passing(ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
    rows: npt.NDArray[np.intp] = (ids == 0).nonzero()[0]  # `flatnonzero` without its checks
    return rows
