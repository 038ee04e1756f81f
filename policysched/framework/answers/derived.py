"""Numbers by row that are kept for equal pods, and computed again where the cluster changed.

Most pods of a backlog are copies of each other, and mostly one node has changed since the last one.
`Derived` caches everything that is computed row by row: answers of Filter, raw scores, points and
totals. The same function writes one row, some rows, and all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.framework import interface

Rows: TypeAlias = npt.NDArray[np.intp]
WriteRows: TypeAlias = Callable[[snapshot.Snapshot, Rows, npt.NDArray[Any]], None]
"""Writes the numbers of rows, intp (m,), as `out[..., rows]` of an array like `Derived.values`."""

_MAX_AMOUNTS = 64
ALL_ROWS_SHARE = 4
"""If more than a quarter of the rows changed, all rows are written."""


class Inputs(Protocol):
    """The inputs of a `Derived`.

    Attributes:
        are_amounts: whether the numbers depend only on the amounts of their own row.
    """

    are_amounts: bool

    def list_changed_rows(self, snap: snapshot.Snapshot) -> Sequence[int] | None:
        """Return the rows that changed since the last call, each once; None for all rows."""
        ...


class SnapshotInputs:
    """The parts of a snapshot that plugins read.

    Attributes:
        are_amounts: whether they read `interface.Reads.AMOUNTS` alone.
    """

    def __init__(self, reads: interface.Reads) -> None:
        """Follow what `reads` names, except pods on other nodes and ANYTHING."""
        self.are_amounts = reads == interface.Reads.AMOUNTS
        self._reads_usage = reads.has_own_pods
        self._reads_metrics = interface.Reads.METRICS in reads
        self._reads_all_nodes = interface.Reads.ALL_NODES in reads
        self._node = self._usage = self._metrics = -1

    def list_changed_rows(self, snap: snapshot.Snapshot) -> Sequence[int] | None:
        """Return the rows that changed since the last call, each once; None for all rows."""
        nodes = snap.nodes
        node, usage, metrics = nodes.node_changes.generation, self._usage, self._metrics
        if self._reads_usage:
            usage = nodes.usage_changes.generation
        if self._reads_metrics:
            metrics = snap.metrics.generation
        if node == self._node and metrics == self._metrics:
            if usage == self._usage:
                return ()
            rows = nodes.usage_changes.list_changes_since(self._usage)  # mostly only these
        else:
            rows = self._list_rows_of_all_logs(snap, usage, metrics)
        self._node, self._usage, self._metrics = node, usage, metrics
        return _limit_rows(rows, snap)

    def _list_rows_of_all_logs(
        self, snap: snapshot.Snapshot, usage: int, metrics: int
    ) -> list[int] | None:
        if self._node < 0 or metrics != self._metrics:
            return None
        rows = snap.nodes.node_changes.list_changes_since(self._node)
        if rows is None or (rows and self._reads_all_nodes):
            return None
        if usage != self._usage:
            used = snap.nodes.usage_changes.list_changes_since(self._usage)
            return None if used is None else rows + used
        return rows


class DerivedInputs:
    """Other derived numbers, which are refreshed first, and the nodes themselves."""

    are_amounts = False

    def __init__(self, arrays: Sequence[Derived]) -> None:
        """Follow `arrays`."""
        self._arrays = [(each, change_log.ChangeLogCursor()) for each in arrays]
        self._nodes = change_log.ChangeLogCursor()

    def list_changed_rows(self, snap: snapshot.Snapshot) -> Sequence[int] | None:
        """Return the rows that changed since the last call, each once; None for all rows."""
        rows = self._nodes.read_changes(snap.nodes.node_changes)
        for array, seen in self._arrays:
            array.refresh(snap)
            news = seen.read_changes(array.changes)
            rows = None if news is None or rows is None else rows + news if news else rows
        return _limit_rows(rows, snap) if rows or rows is None else rows


class Derived:
    """Numbers by row that follow from `Inputs`.

    Attributes:
        values: (N,), or (k, N) for k numbers of each row, as of the last `refresh`; not to be
            written to.
        changes: rows that got other numbers.
        slot_of_row: None, as each row has its own (`compared_scores.Numbers`).
    """

    slot_of_row: None = None

    def __init__(
        self,
        inputs: Inputs,
        write: WriteRows,
        dtype: npt.DTypeLike,
        numbers_per_row: int | None = None,
    ) -> None:
        """Keep what `write` writes; it reads nothing of the cluster but `inputs`."""
        self._inputs = inputs
        self._write = write
        self._shape = () if numbers_per_row is None else (numbers_per_row,)
        self.values: npt.NDArray[Any] = np.zeros((*self._shape, 0), dtype)
        self.changes = change_log.ChangeLog[int]()
        self._by_amounts: dict[bytes, npt.NDArray[Any]] = {}

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the numbers up to date."""
        rows = self._inputs.list_changed_rows(snap)
        if rows is None:
            self._by_amounts = {}
            self.values = np.zeros((*self._shape, snap.size), self.values.dtype)
            self._write(snap, snap.nodes.all_rows, self.values)
            self.changes.note_everything_changed()
        elif rows:
            self._write_again(snap, rows)

    def _write_again(self, snap: snapshot.Snapshot, changed: Sequence[int]) -> None:
        missing = snap.size - self.values.shape[-1]
        if missing:  # new nodes, which are among `changed`
            added = np.zeros((*self._shape, missing), self.values.dtype)
            self.values = np.concatenate((self.values, added), axis=-1)
        rows: Rows | int = changed[0] if len(changed) == 1 else np.array(changed, np.intp)
        before = self.values[..., rows].tobytes()  # in which NaN equals itself
        if isinstance(rows, int):
            self._write_row(snap, rows)
        else:
            self._write(snap, rows, self.values)
        if missing or self.values[..., rows].tobytes() != before:
            self.changes.note_changed_items(changed)

    def _write_row(self, snap: snapshot.Snapshot, row: int) -> None:
        """Write a single row, or copy what was written for the same amounts.

        Nodes of a pool often have the same. Without this, ten rules cost 1.25 times as much.
        """
        amounts = _get_amounts(snap, row) if self._inputs.are_amounts else b""
        known = self._by_amounts.get(amounts)
        if known is not None:
            self.values[..., row] = known
            return
        self._write(snap, np.array([row]), self.values)
        if amounts:
            if len(self._by_amounts) >= _MAX_AMOUNTS:
                self._by_amounts.clear()
            self._by_amounts[amounts] = self.values[..., row].copy()


def _get_amounts(snap: snapshot.Snapshot, row: int) -> bytes:
    """Return all amounts and numbers of pods of a row, for comparison with other rows."""
    nodes = snap.nodes
    return b"".join(
        (
            nodes.allocatable[row].tobytes(),
            nodes.requested[row].tobytes(),
            nodes.nonzero_requested[row].tobytes(),
            nodes.allowed_pods[row].tobytes(),
            nodes.pod_count[row].tobytes(),
        )
    )


def _limit_rows(rows: list[int] | None, snap: snapshot.Snapshot) -> Sequence[int] | None:
    """Return each of `rows` once, ascending; None if computing all rows is cheaper."""
    if rows is None or len(rows) * ALL_ROWS_SHARE > snap.size:
        return None
    return rows if len(rows) <= 1 else sorted(set(rows))
