"""Answers of Filter plugins that tell themselves which ones changed, kept for equal pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, status
from policysched.framework.answers import status_table

Rows: TypeAlias = npt.NDArray[np.intp]
_CHANGES_KEPT = 16
"""Each of them may be about many rows."""


class Follower(Protocol):
    """Keeps what a Filter plugin says of nodes, for equal pods."""

    @property
    def statuses(self) -> Sequence[status.Status]:
        """The answers, SUCCESS first; always the same."""
        ...

    @property
    def rejects(self) -> bool:
        """Whether it may say anything else of any node, as of `changed_rows`."""
        ...

    def changed_rows(self, snap: snapshot.Snapshot) -> Rows | None:
        """Return intp (n,): the rows with another answer, each once, None for all.

        They count as seen.
        """
        ...

    def ids(self, rows: columns.RowIndex) -> status_table.StatusIds:
        """Return int16 (n,): numbers of the answers about `rows`, as of `changed_rows`."""
        ...


class FollowingPlugin(Protocol):
    """A Filter plugin that reads `Reads.PODS` and knows itself which of its answers change."""

    name: str

    def follow(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Follower:
        """Return what follows its answers for pods equal to `pod`; `state` lives as long."""
        ...


class KeptFollowing:
    """First failures of consecutive Filter plugins that follow the pods of their domains.

    Attributes:
        current: int16 (N,), the answers as of the last `refresh`; not to be written to.
        table: numbers of the statuses.
        changes: rows that got another answer, each once in a change: mostly those of a domain.
    """

    def __init__(self, plugins: Sequence[FollowingPlugin]) -> None:
        """Keep answers of `plugins`, in order."""
        self.current: status_table.StatusIds = np.zeros(0, np.int16)
        self.table = status_table.StatusTable()
        self.changes = change_log.ChangeLog[Rows](_CHANGES_KEPT)
        self._plugins = plugins
        self._followers: list[tuple[Follower, status_table.StatusIds]] = []

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Bring the answers up to date."""
        if not self._followers:
            self._followers = [self._follower(each, state, pod, snap) for each in self._plugins]
        changed: list[Rows] = []
        are_all = False
        for follower, _ in self._followers:
            rows = follower.changed_rows(snap)
            if rows is None:
                are_all = True
            elif len(rows):
                changed.append(rows)
        if are_all:
            self.current = self._first_failures(slice(None), snap.size)
            self.changes.note_everything_changed()
        elif changed:
            self._patch(changed[0] if len(changed) == 1 else np.unique(np.concatenate(changed)))

    def _follower(
        self,
        plugin: FollowingPlugin,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> tuple[Follower, status_table.StatusIds]:
        """Return what follows a plugin's answers, and their numbers in the table, int16."""
        follower = plugin.follow(state, pod, snap)
        signed = (status_table.signed(plugin.name, each) for each in follower.statuses)
        return follower, np.array([self.table.intern(each) for each in signed], np.int16)

    def _patch(self, rows: Rows) -> None:
        found = self._first_failures(rows, len(rows))
        others = rows[found != self.current[rows]]
        if len(others):
            self.current[rows] = found
            self.changes.note_changed_item(others)

    def _first_failures(self, rows: columns.RowIndex, count: int) -> status_table.StatusIds:
        """Return int16 (n,) about so many `rows`, of the first follower that fails each."""
        merged: status_table.StatusIds | None = None
        for follower, numbers in self._followers:
            if follower.rejects:
                found = numbers.take(follower.ids(rows))
                merged = found if merged is None else status_table.first_of(merged, found)
        return np.zeros(count, np.int16) if merged is None else merged
