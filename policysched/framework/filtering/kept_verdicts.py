"""What consecutive stages of Filter say together of every row, kept for equal pods.

Each stage keeps its own answers (`KeptStage`), some of them for pods of many shapes;
what they come to, and which rows are feasible, changes only where one of them changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state
from policysched.framework.answers import shape_answers, status_table
from policysched.framework.filtering import kept_domains, kept_following, rejections

SharedStage: TypeAlias = shape_answers.KeptFilter | kept_following.KeptFollowing
KeptStage: TypeAlias = SharedStage | kept_domains.KeptDomains
Rows: TypeAlias = npt.NDArray[np.intp]
News: TypeAlias = list[int] | Rows | None
"""Rows with other answers, with repeats, None for all; an array where there may be many."""
DEAD = -1
"""What stands for a row that is no node."""
_NOTHING: list[int] = []
_FEW_ROWS = 16
"""So many changed rows are merged one by one."""
_RECENT = 4
"""So many different answers of large domains are kept: as many as there are when pods are spread
over three zones in turn, and one."""


class _Stage:
    """The answers of a stage, kept for pods of many shapes, in the numbers of one.

    Attributes:
        key: see `kept_domains.KeptDomains`; all other answers are told of by row.
    """

    key = b""

    def __init__(
        self,
        kept: SharedStage,
        state: cycle_state.CycleState,
        table: status_table.StatusTable,
    ) -> None:
        self.kept = kept
        self._state = state
        self._table = table
        self._seen_generation = -1
        self._numbers = [0]

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> News:
        """Bring the answers up to date; return the rows with other ones, None for all."""
        del state
        kept = self.kept
        kept.refresh(self._state, pod, snap)
        if kept.changes.generation == self._seen_generation:
            return _NOTHING
        if len(kept.table.statuses) > len(self._numbers):
            self._numbers = [self._table.intern(each) for each in kept.table.statuses]
        seen, self._seen_generation = self._seen_generation, kept.changes.generation
        if isinstance(kept, kept_following.KeptFollowing):
            blocks = kept.changes.list_changes_since(seen)
            return None if blocks is None else _joined(blocks)
        return kept.changes.list_changes_since(seen)

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


class _Merged:
    """What all stages say together, and what follows from that alone.

    Attributes:
        ids: int16 (N,).
        feasible: intp (f,), the rows that pass, None while nobody has asked.
        rejections: what is kept of them.
    """

    __slots__ = ("feasible", "ids", "rejections")

    def __init__(self, ids: status_table.StatusIds) -> None:
        self.ids = ids
        self.feasible: npt.NDArray[np.intp] | None = None
        self.rejections = rejections.KeptRejections()


class KeptVerdicts:
    """First failures over several stages, in order."""

    def __init__(
        self,
        stages: Sequence[KeptStage],
        state: cycle_state.CycleState,
        table: status_table.StatusTable,
    ) -> None:
        """Merge `stages`, at least one, in the numbers of `table`; `state` lives as long."""
        self._stages = [
            kept if isinstance(kept, kept_domains.KeptDomains) else _Stage(kept, state, table)
            for kept in stages
        ]
        self._node_generation = -1
        self._now = _Merged(np.zeros(0, np.int16))
        self._key = b""
        self._recent: dict[bytes, _Merged] = {}

    def ids(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> status_table.StatusIds:
        """Return int16 (N,), current, `DEAD` where there is no node; not to be written to.

        `state` is that of the cycle.
        """
        key = b""
        rows: list[int] | None = []  # with repeats
        many: Rows | None = None
        for stage in self._stages:
            news = stage.refresh(state, pod, snap)
            key += stage.key
            if news is _NOTHING:
                continue
            if news is None or rows is None:
                rows = None
            elif isinstance(news, np.ndarray):
                many = news if many is None else np.concatenate((many, news))
            elif news:
                rows = rows + news
        if snap.nodes.node_changes.generation != self._node_generation:  # some come or die
            news = snap.nodes.node_changes.list_changes_since(self._node_generation)
            self._node_generation = snap.nodes.node_changes.generation
            rows = None if news is None or rows is None else rows + news
            self._now.rejections.forget()  # other names
        if many is not None and rows is not None:
            self._renew(np.concatenate((many, rows)) if rows else many, key, snap)
        elif rows != [] or key != self._key or len(self._now.ids) != snap.size:
            self._renew(rows, key, snap)
        return self._now.ids

    def _renew(self, rows: News, key: bytes, snap: snapshot.Snapshot) -> None:
        """Merge anew what changed: `rows`, None for all, or what `key` is about."""
        has_rows = rows is not None and len(rows) > 0
        if rows is None or has_rows:
            self._recent.clear()
        known = self._recent.get(key)
        if known is not None and len(known.ids) == snap.size:
            self._now = known
        elif rows is None or not has_rows or key != self._key or len(self._now.ids) != snap.size:
            self._now = _Merged(self._merged(slice(0, snap.size), snap))
        elif len(rows) > _FEW_ROWS:
            at = np.asarray(rows, np.intp)
            self._now.ids[at] = self._merged(at, snap)
            self._now.feasible = None
            self._now.rejections.forget()
        else:
            for row in rows if isinstance(rows, list) else rows.tolist():
                self._patch(row, snap)
        if len(self._recent) >= _RECENT and known is None:
            self._recent.clear()
        self._key = key
        self._recent[key] = self._now

    def feasible_rows(self, ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
        """Return intp (f,): the rows that pass by `ids`.

        For what `ids` returned it is the same object as before while it is the same rows.
        """
        now = self._now
        if ids is not now.ids:
            return _passing(ids)
        if now.feasible is None:
            now.feasible = _passing(ids)
        return now.feasible

    def rejections(self, ids: status_table.StatusIds) -> rejections.KeptRejections | None:
        """Return what is kept of the rejections in `ids`, None unless `ids` returned these."""
        return self._now.rejections if ids is self._now.ids else None

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
        now = self._now
        before = now.ids.item(row)
        if found != before:
            now.ids[row] = found
            now.rejections.forget()
            if not (found and before):
                now.feasible = None


def _joined(blocks: Sequence[Rows]) -> Rows:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _passing(ids: status_table.StatusIds) -> npt.NDArray[np.intp]:
    rows: npt.NDArray[np.intp] = (ids == 0).nonzero()[0]  # `flatnonzero` without its checks
    return rows
