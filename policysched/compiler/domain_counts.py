"""How many pods of a set each topology domain holds, patched where pods came or went."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from policysched.cluster import count_column, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler import domain_judges
from policysched.framework import cycle_state, status
from policysched.framework.answers import status_table
from policysched.framework.scoring import compared_scores
from policysched.plugins.kernels import domains

_OUTSIDE = 2
"""The number of the answer about nodes in no domain, if there is one."""
_FEW_DOMAINS = 8
"""The rows of so many are put together faster than they are looked for."""
_NONE: list[int] = []
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class DomainCounts:
    """The pods that a query selects, by domain.

    Attributes:
        totals: float64 (D + 1,), live; entry 0 answers for nodes in no domain and is 0.
        total_of: the same, to read single ones.
        domains: of which the pods count.
        present: bool (D + 1,), the domains that have a node.
    """

    def __init__(
        self,
        query: pod_counts.PodQuery,
        domains_of: Callable[[snapshot.Snapshot], domains.Domains],
    ) -> None:
        """Count what `query` selects in `domains_of`, which may change when nodes do."""
        self._query = query
        self._domains_of = domains_of
        self._nodes: columns.NodeColumns | None = None
        self._node_generation = -1
        self._column = count_column.CountColumn()
        self._counted = -1
        self.totals: columns.FloatArray = np.zeros(1)
        self.domains = domains.Domains(_NO_ROWS, 0)
        self.present: columns.BoolArray = np.zeros(1, np.bool_)
        # Through these single numbers are read and written faster.
        self.total_of = self.totals.data
        self._slot_of = self.domains.slots.data

    def refresh(self, snap: snapshot.Snapshot) -> list[int] | None:
        """Bring the totals up to date; return the domains that may have other ones, each once.

        None for all, where the domains may be others too.
        """
        nodes, column = snap.nodes, self._column
        if (
            nodes is not self._nodes
            or nodes.node_changes.generation != self._node_generation
            or not column.is_current
        ):
            self._begin(snap)
            return None
        changes = column.changes
        if changes.generation == self._counted:
            return _NONE
        news = changes.list_changes_since(self._counted)
        self._counted = changes.generation
        if news is None:
            return self._recount(snap)
        changed, slot_of, total_of = [], self._slot_of, self.total_of
        for row, change in news:
            slot = slot_of[row]
            if slot:
                total_of[slot] += change
                changed.append(slot)
        return list(dict.fromkeys(changed)) if len(changed) > 1 else changed

    def _begin(self, snap: snapshot.Snapshot) -> None:
        self._nodes, self._node_generation = snap.nodes, snap.nodes.node_changes.generation
        self._column = snap.counts.get_column(self._query)
        self._counted = self._column.changes.generation
        self.domains = self._domains_of(snap)
        self.present = self.domains.present()
        self._slot_of = self.domains.slots.data
        self._count(snap)

    def _recount(self, snap: snapshot.Snapshot) -> list[int]:
        before = self.totals
        self._count(snap)
        changed: list[int] = (before != self.totals).nonzero()[0].tolist()
        return changed

    def _count(self, snap: snapshot.Snapshot) -> None:
        self.totals = self.domains.sums(self._column.get_counts(snap.size))
        self.total_of = self.totals.data


class DomainValues:
    """Raw scores of nodes by the pods in their domain (`compared_scores.Numbers`)."""

    def __init__(
        self,
        counts: DomainCounts,
        slots_of: Callable[[snapshot.Snapshot], npt.NDArray[np.intp]],
        outside: float,
    ) -> None:
        """Give nodes in no domain `outside`, where `slots_of` says which are in one."""
        self._counts = counts
        self._slots_of = slots_of
        self._outside = outside

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> compared_scores.Everything | compared_scores.Changes:
        """Return the domains with other scores."""
        changed = self._counts.refresh(snap)
        if changed is not None:
            total_of = self._counts.total_of
            return [(slot, (total_of[slot],)) for slot in changed] if changed else ()
        values = self._counts.totals.copy()
        values[0] = self._outside
        return compared_scores.Everything([values], self._slots_of(snap))


class DomainVerdicts:
    """What a rule says of nodes by the pods in their domain, and for which rows that has changed.

    Attributes:
        statuses: the answers, SUCCESS first.
        rejects: whether any domain may fail.
    """

    def __init__(
        self,
        counts: DomainCounts,
        slots_of: Callable[[snapshot.Snapshot], npt.NDArray[np.intp]],
        judge: domain_judges.Judge,
        *answers: status.Status,
    ) -> None:
        """Let `judge` say which domains fail.

        `answers` are the one about their nodes and, unless these pass, that about nodes in none.
        """
        self._counts = counts
        self._slots_of = slots_of
        self._slots: npt.NDArray[np.intp] = _NO_ROWS
        self._judge = judge
        self.statuses = (status.SUCCESS, *answers)
        self._ids: status_table.StatusIds = np.zeros(1, np.int16)
        self._outside = 0
        self.rejects = False
        self._rows_of: dict[int, npt.NDArray[np.intp]] = {}

    def changed_rows(self, snap: snapshot.Snapshot) -> npt.NDArray[np.intp] | None:
        """Return intp (n,): the rows with another answer, each once, None for all."""
        changed = self._counts.refresh(snap)
        if changed is None:
            self._slots = self._slots_of(snap)
            are_inside = len(self.statuses) == _OUTSIDE or self._slots.all()
            self._outside = 0 if are_inside else _OUTSIDE
            self._ids = self._judged()
            self._rows_of = {}
            return None
        if not changed:
            return _NO_ROWS
        flipped, total_of = [], self._counts.total_of
        for slot in changed:
            is_failing = self._judge.one(slot, total_of[slot])
            if is_failing is None:
                before, self._ids = self._ids, self._judged()
                return self._rows((before != self._ids).nonzero()[0].tolist())
            if is_failing is not bool(self._ids.item(slot)):
                flipped.append(slot)
        for slot in flipped:
            self._ids[slot] = not self._ids[slot]
            self.rejects = True
        return self._rows(flipped)

    def ids(self, rows: columns.RowIndex) -> status_table.StatusIds:
        """Return int16 (n,): numbers of the answers about `rows`, as of `changed_rows`."""
        return self._ids[self._slots[rows]]

    def _judged(self) -> status_table.StatusIds:
        """Return int16 (D + 1,), entry 0 for nodes in no domain."""
        ids = self._judge.every(self._counts.totals, self._counts.present).astype(np.int16)
        ids[0] = self._outside
        self.rejects = bool(ids.any())
        return ids

    def _rows(self, slots: list[int]) -> npt.NDArray[np.intp]:
        if not slots:
            return _NO_ROWS
        if len(slots) <= _FEW_DOMAINS:
            found = [self._rows_in(slot) for slot in slots]
            return found[0] if len(found) == 1 else np.concatenate(found)
        is_flipped = np.zeros(len(self._ids), np.bool_)
        is_flipped[slots] = True
        flipped: npt.NDArray[np.intp] = is_flipped[self._slots].nonzero()[0]
        return flipped

    def _rows_in(self, slot: int) -> npt.NDArray[np.intp]:
        rows = self._rows_of.get(slot)
        if rows is None:
            rows = self._rows_of[slot] = np.flatnonzero(self._slots == slot)
        return rows
