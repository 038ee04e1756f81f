"""Sums over topology domains: all nodes that share the value of one label."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, count_column, snapshot
from policysched.cluster.columns import columns


@dataclasses.dataclass(frozen=True)
class Domains:
    """The domain of every node, for one topology key.

    Attributes:
        slots: intp (N,), 1..D for the nodes of a domain, 0 for nodes outside all of them: dead
            ones, those without the label, those that a caller leaves out.
        count: D. Tables by domain have D + 1 entries; entry 0 answers for nodes outside.
    """

    slots: npt.NDArray[np.intp]
    count: int

    def sums(self, values: columns.IntArray) -> columns.FloatArray:
        """Return float64 (D + 1,): the sum of int64 (N,) in each domain; entry 0 is 0.

        The sums are whole numbers, exact below 2**53.
        """
        weights = values.astype(np.float64)
        totals = np.bincount(self.slots, weights, self.count + 1).astype(np.float64, copy=False)
        totals[0] = 0
        return totals

    def at(self, rows: columns.RowIndex) -> npt.NDArray[np.intp]:
        """Return intp (n,): the slots of `rows`."""
        return self.slots[rows] if isinstance(rows, slice) else self.slots.take(rows)

    def present(self, rows: columns.RowIndex = slice(None)) -> columns.BoolArray:
        """Return bool (D + 1,): the domains that `rows` touch; entry 0 is False."""
        found: columns.BoolArray = np.bincount(self.slots[rows], minlength=self.count + 1) > 0
        found[0] = False
        return found

    @functools.cached_property
    def first_rows(self) -> npt.NDArray[np.intp]:
        """Intp (D + 1,): a row of each slot, 0 where there is no row."""
        rows = np.zeros(self.count + 1, np.intp)
        rows[self.slots[::-1]] = np.arange(len(self.slots))[::-1]
        return rows

    def only(self, mask: columns.NodeMask) -> Domains:
        """Return the same domains without the nodes that `mask`, bool (N,), leaves out."""
        return Domains(np.where(mask, self.slots, 0), self.count)


class DomainSums:
    """Weighted pods by domain, patched where pods came or went.

    Attributes:
        domains: where each node is.
        table: int64 (D + 1,), Σ weight × pods, as of the last `refresh`; entry 0 is 0.
        pods: how many pods are counted, without weights.
    """

    def __init__(
        self, domains: Domains, counted: Sequence[tuple[count_column.CountColumn, int]]
    ) -> None:
        """Sum the pods of columns, each with a weight, for as long as no node changes."""
        self.domains = domains
        self.table: columns.IntArray = np.zeros(domains.count + 1, np.int64)
        self.pods = 0
        self._counted = [
            (column, weight, change_log.ChangeLogCursor()) for column, weight in counted
        ]

    @property
    def is_current(self) -> bool:
        """Whether all columns are counted in still."""
        for column, _, _ in self._counted:  # noqa: SIM110 - `all` of a generator takes three times as long
            if not column.is_current:
                return False
        return True

    def refresh(self) -> list[int] | None:
        """Bring the sums up to date; return the domains with others, with repeats, None for all."""
        slots: list[int] = []
        for column, weight, seen in self._counted:
            changes = seen.read_changes(column.changes)
            if changes is None:
                self._count()
                return None
            for row, change in changes:
                slot = self.domains.slots.item(row)
                if slot:
                    self.table[slot] += weight * change
                    self.pods += change
                    slots.append(slot)
        return slots

    def _count(self) -> None:
        for column, _, seen in self._counted:
            seen.read_changes(column.changes)
        self.pods = 0
        self.table = np.zeros(self.domains.count + 1, np.int64)
        for column, weight, _ in self._counted:
            if not column.generation:
                continue  # no pod was ever counted, as for the first pod of its kind
            pods = self.domains.sums(column.get_counts(len(self.domains.slots))).astype(np.int64)
            self.pods += int(pods.sum())
            self.table += weight * pods


class Counted:
    """Pods by domain before anything was supposed of them.

    Attributes:
        domains: where each node is.
        by_row: int64 (N,), a copy.
        by_domain: float64 (D + 1,).
    """

    def __init__(self, domains: Domains, by_row: columns.IntArray) -> None:
        """Keep `by_row`, int64 (N,), and its sums."""
        self.domains = domains
        self.by_row = by_row.copy()
        self.by_domain = domains.sums(by_row)

    def change(self, now: columns.IntArray, rows: columns.RowIndex) -> columns.IntArray:
        """Return int64 (n,): the pods by which `rows` differ in `now`, int64 (N,); outside 0."""
        return np.where(self.domains.slots[rows] > 0, now[rows] - self.by_row[rows], 0)

    def here(self, now: columns.IntArray, rows: columns.RowIndex) -> columns.FloatArray:
        """Return float64 (n,): the pods in the domain of each row if no other row had changed."""
        return self.by_domain[self.domains.slots[rows]] + self.change(now, rows)


def of_label(snap: snapshot.Snapshot, key: str) -> Domains:
    """Return the domains of topology key `key`: one for each value of that label."""
    column = snap.nodes.get_label_column(key)
    # Dead rows have no labels (`NodeColumns.remove_node`), so their id is -1 as well.
    return Domains(column.ids[: snap.size].astype(np.intp) + 1, len(column.values))


def of_rows(snap: snapshot.Snapshot) -> Domains:
    """Return one domain for each node."""
    numbers = np.arange(1, snap.size + 1, dtype=np.intp)
    return Domains(np.where(snap.is_alive, numbers, 0), snap.size)


def joined(nodes: Domains, snap: snapshot.Snapshot, key: str) -> Domains:
    """Return the domains with nodes that lack the label in the one of the value "", if it exists.

    kube-scheduler reads an absent label as the empty value when it sums up for the score; the
    filter never counts nodes that lack one.
    """
    empty = snap.nodes.get_label_column(key).values.find("")
    if empty is None:
        return nodes
    return Domains(np.where(nodes.slots > 0, nodes.slots, empty + 1), nodes.count)


Stamp: TypeAlias = tuple[object, int, int]


def stamp_of(snap: snapshot.Snapshot) -> Stamp:
    """Return what stays the same while domains do."""
    return snap.nodes, snap.nodes.node_changes.generation, snap.size


class DomainsByKey:
    """The domains of all topology keys in use, kept while no node changes."""

    def __init__(self) -> None:
        """Start with nothing kept."""
        self._stamp: Stamp | None = None
        self._kept: dict[str | None, Domains] = {}

    def get(self, snap: snapshot.Snapshot, key: str | None) -> Domains:
        """Return the domains of `key` in `snap`; for None, each node is one."""
        stamp = stamp_of(snap)
        if stamp != self._stamp:
            self._kept.clear()
            self._stamp = stamp
        found = self._kept.get(key)
        if found is None:
            found = of_rows(snap) if key is None else of_label(snap, key)
            self._kept[key] = found
        return found
