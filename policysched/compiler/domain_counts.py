"""How many pods of a set each topology domain holds, patched where pods came or went."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, count_column, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.framework.filtering import domain_filters
from policysched.plugins.kernels import domains

_NONE: list[int] = []
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class DomainCounts:
    """The pods that a query selects, by domain.

    Attributes:
        totals: float64 (D + 1,), live; entry 0 answers for nodes in no domain and is 0.
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
        self._total_of = self.totals.data
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
        changed, slot_of, total_of = [], self._slot_of, self._total_of
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
        if self._column.generation:
            self.totals = self.domains.sums(self._column.get_counts(snap.size))
        else:  # no pod was ever counted, as for the first pod of its kind
            self.totals = np.zeros(self.domains.count + 1)
        self._total_of = self.totals.data


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
        self.values: columns.FloatArray = np.zeros((1, 1))
        self.slot_of_row = _NO_ROWS
        self.changes = change_log.ChangeLog[int]()

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the scores up to date."""
        changed = self._counts.refresh(snap)
        if changed is None:
            self.values = self._counts.totals[np.newaxis].copy()
            self.values[0, 0] = self._outside
            self.slot_of_row = self._slots_of(snap)
            self.changes.note_everything_changed()
        elif changed:
            for slot in changed:  # mostly one
                self.values[0, slot] = self._counts.totals[slot]
            self.changes.note_changed_items(changed)


FindFailing: TypeAlias = Callable[[columns.FloatArray, columns.BoolArray], columns.BoolArray]
"""Returns which domains fail, bool (D + 1,), by the pods in each, float64 (D + 1,).

The second argument, bool (D + 1,), are the domains that have a node.
"""


class FailingDomains:
    """What a rule says of nodes by the pods in their domain.

    The answer is 0, `FAILS`, or `OUTSIDE` for nodes in no domain.
    """

    FAILS, OUTSIDE = 1, 2

    def __init__(
        self,
        counts: DomainCounts,
        domains_of: Callable[[snapshot.Snapshot], domains.Domains],
        find_failing: FindFailing,
        *,
        rejects_outside: bool,
    ) -> None:
        """Let `find_failing` say which of the domains fail, of which all nodes are a part."""
        self._counts = counts
        self._domains_of = domains_of
        self._find_failing = find_failing
        self._rejects_outside = rejects_outside
        self._outside = 0
        self._table = domain_filters.DomainTable(_NO_ROWS, 0)

    def refresh(self, snap: snapshot.Snapshot) -> domain_filters.DomainTable:
        """Return the answers by domain, up to date; the same table while no node changes."""
        changed = self._counts.refresh(snap)
        if changed is None:
            of = self._domains_of(snap)
            self._table = domain_filters.DomainTable(of.slots, of.count)
            self._outside = self.OUTSIDE if self._rejects_outside and not of.slots.all() else 0
        if changed != []:
            failing = self._find_failing(self._counts.totals, self._counts.present)
            answers = failing * np.int16(self.FAILS)
            answers[0] = self._outside
            self._table.replace(answers)
        return self._table


def find_occupied(totals: columns.FloatArray, present: columns.BoolArray) -> columns.BoolArray:
    """Return the domains with pods."""
    del present
    return np.greater(totals, 0)
