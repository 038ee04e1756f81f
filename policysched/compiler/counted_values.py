"""Values of nodes that depend on counted pods, calculated again only where pods came or went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import expressions
from policysched.compiler.pods import counted_pods
from policysched.framework import interface
from policysched.framework.filtering import domain_filters
from policysched.lang.checked import checked_expr
from policysched.plugins.kernels import domains

Evaluate: TypeAlias = Callable[[snapshot.NodeView], columns.FloatArray]
"""Returns float64 (n,): the value of each node of a view."""
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)
_UNCHANGED = interface.Reads.NODE


class CountedValues:
    """Values of an expression that counts pods, by slot (`compared_scores.Numbers`).

    A slot is a topology domain if the expression reads nothing of nodes but the pods of one
    topologyKey: then one node answers for all nodes of its domain. Otherwise each row is a slot.

    Attributes:
        values: float64 (1, S), not to be written to.
        slot_of_row: intp (N,), the slot of each row, 0 for rows in no domain; None if each row is a
            slot of its own.
        changes: slots with other values; everything, if slots may be others.
    """

    def __init__(
        self,
        expr: checked_expr.TypedExpr,
        counted: Sequence[counted_pods.CountedPods],
        shape: pod_shape.PodShape,
        evaluate: Evaluate,
        *,
        by_row: bool = False,
    ) -> None:
        """Evaluate `expr`, which counts `counted`, for pods of `shape`; always `by_row`, if set."""
        rest = _reads_besides_counts(expr)
        keys = {each.topology_key for each in counted}
        self._topology_key = None if by_row or rest or len(keys) > 1 else keys.pop()
        self._by_key = counted[0].by_key
        self._varies = bool(rest & ~_UNCHANGED)
        self._counts = [each.by_domain(shape) for each in counted]
        self._evaluate = evaluate
        self._nodes_by_slot = _NO_ROWS
        self.values: columns.FloatArray = np.zeros((1, 1))
        self.slot_of_row: npt.NDArray[np.intp] | None = None
        self.changes = change_log.ChangeLog[int]()

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the values up to date."""
        changed = [counts.refresh(snap) for counts in self._counts]
        if any(each is None for each in changed) or snap.size == 0:
            self._begin(snap)
        elif self._varies:
            self._write(np.arange(len(self._nodes_by_slot)), snap)
        elif any(changed):
            self._write(self._find_slots(changed), snap)

    def _begin(self, snap: snapshot.Snapshot) -> None:
        if self._topology_key is None:
            self.slot_of_row, self._nodes_by_slot = None, np.arange(snap.size)
        else:
            found = self._by_key.get(snap, self._topology_key)
            self.slot_of_row, self._nodes_by_slot = found.slots, _find_first_rows(found)
        self.values = np.zeros((1, len(self._nodes_by_slot)))
        if snap.size:
            self.values[0] = self._evaluate(snap.view_rows(self._nodes_by_slot))
        self.changes.note_everything_changed()

    def _write(self, slots: npt.NDArray[np.intp], snap: snapshot.Snapshot) -> None:
        new = self._evaluate(snap.view_rows(self._nodes_by_slot[slots]))
        old = self.values[0, slots]
        is_other = (new != old) & ~(np.isnan(new) & np.isnan(old))
        if is_other.any():
            self.values[0, slots] = new
            self.changes.note_changed_items(slots[is_other].tolist())

    def _find_slots(self, changed: Sequence[list[int] | None]) -> npt.NDArray[np.intp]:
        """Return intp: the slots whose values may be others, each once."""
        if self.slot_of_row is not None:
            return np.unique([slot for each in changed for slot in each or ()])
        found = [
            (counts.domains.slots == slot).nonzero()[0]
            for counts, each in zip(self._counts, changed, strict=True)
            for slot in each or ()
        ]
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


class CountedRejections:
    """Which nodes a condition that counts pods rejects, by slot."""

    def __init__(self, values: CountedValues) -> None:
        """Reject where `values` are not 0."""
        self._values = values
        self._seen = change_log.ChangeLogCursor()
        self._table = domain_filters.DomainTable(_NO_ROWS, 0)
        self._first_slot = 0

    def refresh(self, snap: snapshot.Snapshot) -> domain_filters.DomainTable:
        """Return the answers, 1 for rejected; the same table while slots are the same."""
        self._values.refresh(snap)
        changed = self._seen.read_changes(self._values.changes)
        if changed is None:
            self._begin()
        for slot in changed or ():
            is_rejected = self._values.values.item(0, slot) != 0
            self._table.set(slot + self._first_slot, int(is_rejected))
        return self._table

    def _begin(self) -> None:
        """Make a table; slot 0 of a table is for rows in no domain."""
        rejected = (self._values.values[0] != 0).astype(np.int16)
        slots, self._first_slot = self._values.slot_of_row, 0
        if slots is None:
            slots, self._first_slot = np.arange(1, len(rejected) + 1), 1
            rejected = np.concatenate((np.zeros(1, np.int16), rejected))
        self._table = domain_filters.DomainTable(slots, len(rejected) - 1)
        self._table.replace(rejected)


def _reads_besides_counts(expr: checked_expr.TypedExpr) -> interface.Reads:
    """Return what an expression reads of nodes, apart from the pods that it counts."""
    found = expressions.NOTHING
    for each in checked_expr.walk_expressions(expr):
        if not isinstance(each, checked_expr.PlacedPodCount):
            found |= expressions.own_reads(each)
    return found


def _find_first_rows(found: domains.Domains) -> npt.NDArray[np.intp]:
    """Return intp (D + 1,): a row of each domain, entry 0 for none; 0 where there is no row."""
    rows = np.zeros(found.count + 1, np.intp)
    rows[found.slots[::-1]] = np.arange(len(found.slots))[::-1]
    return rows
