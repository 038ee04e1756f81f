"""Values of nodes that depend on counted pods; only changed counts cause a new calculation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import domain_counts, expressions
from policysched.compiler.pods import counted_pods
from policysched.framework import interface
from policysched.framework.filtering import domain_filters
from policysched.lang.checked import checked_expr
from policysched.plugins.kernels import domains

Evaluate: TypeAlias = Callable[[snapshot.NodeView], columns.FloatArray]
"""Returns float64 (n,): the value of each node of a view."""
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)
_MAX_KNOWN = 10_000
"""Maximum number of cached values; it limits memory if counts vary a lot."""


ValueByCounts: TypeAlias = dict[tuple[float, ...], float]
"""Value of an expression, keyed by the numbers that it counts."""


class CountingExpression:
    """An expression that counts pods, for pods of any shape.

    Attributes:
        counted: the pods that it counts.
        is_by_domain: whether it reads only the counts of one topologyKey and the pod.
        varies: whether it reads values that change more often than nodes do.
    """

    def __init__(
        self, expr: checked_expr.TypedExpr, counted: Sequence[counted_pods.CountedPods]
    ) -> None:
        """Take `expr`, which counts `counted`."""
        others = [
            each
            for each in checked_expr.walk_expressions(expr)
            if not isinstance(each, checked_expr.PlacedPodCount)
        ]
        reads = functools.reduce(
            operator.or_, map(expressions.own_reads, others), expressions.NOTHING
        )
        self.counted = counted
        self.is_by_domain = not reads and len({each.topology_key for each in counted}) == 1
        self.varies = bool(reads & ~interface.Reads.NODE)
        self._ignores_pod = not any(map(checked_expr.is_pod_field, others))
        self._known: ValueByCounts = {}

    def find_known_values(self, shape: pod_shape.PodShape) -> ValueByCounts:
        """Return the cache of values for pods of `shape`, shared if no value reads the pod."""
        lacks_value = any(each.pods.lacks_value(shape) for each in self.counted)
        return self._known if self._ignores_pod and not lacks_value else {}


class CountedValues:
    """Values of an expression that counts pods, by slot (`compared_scores.Numbers`).

    If the expression reads only the counts of one topologyKey and the pod, a slot is a topology
    domain: one node answers for its whole domain, and a value is calculated once for each count.
    Otherwise each row is a slot.

    Attributes:
        values: float64 (1, S), read-only.
        slot_of_row: intp (N,), the slot of each row, 0 for rows in no domain; None if each row is a
            slot of its own.
        changes: log of slots whose value changed; all of them if slots are numbered again.
    """

    def __init__(
        self,
        expression: CountingExpression,
        shape: pod_shape.PodShape,
        evaluate: Evaluate,
        *,
        by_row: bool = False,
    ) -> None:
        """Evaluate `expression` with `evaluate` for pods of `shape`; `by_row` makes rows slots."""
        self._is_by_domain = expression.is_by_domain and not by_row
        self._find_domains = expression.counted[0].find_domains
        self._varies = expression.varies
        self._counts = [each.count_by_domain(shape) for each in expression.counted]
        self._evaluate = evaluate
        self._known = expression.find_known_values(shape)
        self._node_of_slot = _NO_ROWS
        self.values: columns.FloatArray = np.zeros((1, 1))
        self.slot_of_row: npt.NDArray[np.intp] | None = None
        self.changes = change_log.ChangeLog[int]()

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the values up to date."""
        is_other = False
        changed: list[tuple[domain_counts.DomainCounts, list[int]]] = []
        for counts in self._counts:
            slots = counts.refresh(snap)
            is_other |= slots is None
            if slots:
                changed.append((counts, slots))
        if is_other or snap.size == 0:
            self._begin(snap)
        elif self._varies:
            self._write(snap.nodes.all_rows, snap)
        elif changed and self._is_by_domain:
            self._look_up(list({slot for _, slots in changed for slot in slots}), snap)
        elif changed:
            self._write(_find_rows(changed), snap)

    def _begin(self, snap: snapshot.Snapshot) -> None:
        """Calculate all values; the value of a slot without rows is never read."""
        if self._is_by_domain:
            self._begin_domains(self._find_domains(snap), snap)
        else:
            self.slot_of_row = None
            self.values = np.zeros((1, snap.size))
            if snap.size:
                self.values[0] = self._evaluate(snap.view_rows(snap.nodes.all_rows))
        self.changes.note_everything_changed()

    def _begin_domains(self, found: domains.Domains, snap: snapshot.Snapshot) -> None:
        """Calculate the values of all domains; those without counted pods have the same value."""
        self.slot_of_row, self._node_of_slot = found.slots, found.first_rows
        is_occupied = np.logical_or.reduce([each.totals != 0 for each in self._counts])
        empty = (self._counts[0].present & ~is_occupied).nonzero()[0]
        self.values = np.zeros((1, found.count + 1))
        self.values[0, empty] = self._find_values(empty[:1].tolist(), snap)
        occupied = is_occupied.nonzero()[0]
        self.values[0, occupied] = self._find_values(occupied.tolist(), snap)
        if not found.slots.all():
            self.values[0, 0] = self._evaluate(snap.view_rows(self._node_of_slot[:1])).item(0)

    def _look_up(self, slots: Sequence[int], snap: snapshot.Snapshot) -> None:
        """Update the values of a few domains."""
        others = []
        for slot, value in zip(slots, self._find_values(slots, snap), strict=True):
            if value != self.values.item(0, slot):
                self.values[0, slot] = value
                others.append(slot)
        if others:
            self.changes.note_changed_items(others)

    def _find_values(self, slots: Sequence[int], snap: snapshot.Snapshot) -> list[float]:
        """Return the values of domains that have nodes, by their counts."""
        counts = [tuple([each.totals.item(slot) for each in self._counts]) for slot in slots]
        known = self._known
        if len(known) > _MAX_KNOWN:
            known.clear()
        unknown = {
            each: slot for slot, each in zip(slots, counts, strict=True) if each not in known
        }
        if unknown:
            nodes = snap.view_rows(self._node_of_slot[list(unknown.values())])
            known.update(zip(unknown, self._evaluate(nodes).tolist(), strict=True))
        return [known[each] for each in counts]

    def _write(self, rows: npt.NDArray[np.intp], snap: snapshot.Snapshot) -> None:
        """Calculate the values of rows again."""
        new, old = self._evaluate(snap.view_rows(rows)), self.values[0, rows]
        is_other = (new != old) & ~(np.isnan(new) & np.isnan(old))
        if is_other.any():
            self.values[0, rows] = new
            self.changes.note_changed_items(rows[is_other].tolist())


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


def _find_rows(
    changed: Iterable[tuple[domain_counts.DomainCounts, list[int]]],
) -> npt.NDArray[np.intp]:
    """Return intp: the rows of changed domains, each once."""
    found = [
        (counts.domains.slots == slot).nonzero()[0] for counts, slots in changed for slot in slots
    ]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))
