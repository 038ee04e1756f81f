"""Answers of a Filter plugin that keeps them itself by topology domain, for pods of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeGuard

import numpy as np

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, status
from policysched.framework.answers import status_table


class Verdicts(Protocol):
    """What a plugin says of every row, as of its last PreFilter for pods of a shape.

    Attributes:
        changes: rows with other answers, as far as `key` does not tell.
    """

    changes: change_log.ChangeLog[int]

    @property
    def key(self) -> bytes:
        """What is the same while all answers are that `changes` does not tell of.

        Where it is the same as some time before, and no row changed since, so are all answers.
        """
        ...

    def at(self, row: int) -> int:
        """Return the number of the answer about a row."""
        ...

    def ids(
        self, rows: columns.RowIndex, numbers: status_table.StatusIds
    ) -> status_table.StatusIds:
        """Return int16 (n,): the answers about `rows`, in place of each number k `numbers[k]`."""
        ...


class DomainFilterPlugin(interface.FilterPlugin, Protocol):
    """One that is asked at PreFilter in every cycle and knows then what it says of every row."""

    @property
    def answers(self) -> Sequence[status.Status]:
        """What it says, by number; the first is SUCCESS."""
        ...

    def verdicts(self, state: cycle_state.CycleState) -> Verdicts:
        """Return what PreFilter has found out in this cycle, if it did not skip.

        That is the same object as before for equal pods as long as only `Verdicts.changes` and
        `Verdicts.key` tell of other answers.
        """
        ...


def keeps_verdicts(plugin: interface.Plugin) -> TypeGuard[DomainFilterPlugin]:
    """Return whether a plugin of this package is one of those."""
    return hasattr(plugin, "verdicts") and not asking.is_third_party(plugin)


class KeptDomains:
    """The answers of one such plugin in the numbers of a shape.

    Attributes:
        key: see `Verdicts.key`.
    """

    def __init__(self, plugin: DomainFilterPlugin, table: status_table.StatusTable) -> None:
        """Number what `plugin` says by `table`."""
        self.key = b""
        self._plugin = plugin
        self._table = table
        self._verdicts: Verdicts | None = None
        self._seen = change_log.ChangeLogCursor()
        self._numbers: status_table.StatusIds | None = None

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> list[int] | None:
        """Bring the answers up to date; return rows with other ones, None for all."""
        del pod, snap
        verdicts = asking.ask(self._plugin, "Filter", self._plugin.verdicts, state)
        if verdicts is not self._verdicts:
            self._verdicts = verdicts
            self._seen = change_log.ChangeLogCursor()
        self.key = verdicts.key
        return self._seen.read_changes(verdicts.changes)

    def at(self, row: int) -> int:
        """Return the answer about a row."""
        assert self._verdicts is not None, "refreshed before"  # noqa: S101 - for the type checker
        found = self._verdicts.at(row)
        return found and self._numbered().item(found)

    @property
    def rejects(self) -> bool:
        """Whether it may reject a node."""
        return True

    def ids(self, rows: columns.RowIndex) -> status_table.StatusIds:
        """Return int16 (n,), the answers about `rows`."""
        assert self._verdicts is not None, "refreshed before"  # noqa: S101 - for the type checker
        return self._verdicts.ids(rows, self._numbered())

    def _numbered(self) -> status_table.StatusIds:
        """Return int16: the number in the shape's table of each answer."""
        if self._numbers is None:
            answers = self._plugin.answers
            signed = [status_table.signed(self._plugin.name, answer) for answer in answers]
            self._numbers = np.array([self._table.intern(each) for each in signed], np.int16)
        return self._numbers
