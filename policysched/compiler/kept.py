"""Columns that do not depend on the incoming pod, kept across pods and patched where nodes changed.

The framework keeps the answers of a rule for equal pods; this serves pods that differ.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Generic

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.compiler import column
from policysched.framework import cycle_state, interface, shape_answers


class KeptColumn(Generic[column.ColumnT]):
    """A column over all nodes with the last change that it has seen."""

    def __init__(self, reads: interface.Reads) -> None:
        """Keep values that depend on `reads`, which must not include other rows."""
        self._reads = reads
        self._nodes: columns.NodeColumns | None = None
        self._version = shape_answers.Version(reads)
        self._valid_until: datetime.datetime | None = None
        self._latest = datetime.datetime.min.replace(tzinfo=datetime.UTC)
        self._column: column.ColumnT | None = None

    def on(
        self,
        nodes: snapshot.NodeView,
        state: cycle_state.CycleState,
        compute: Callable[[snapshot.NodeView, cycle_state.CycleState], column.ColumnT],
    ) -> column.ColumnT:
        """Return the column on `nodes`, asking `compute` only about what changed.

        Entries are views of what is kept: not to be written to.
        """
        current = self._current(nodes.snapshot, compute)
        if self._valid_until is not None:
            state.expire_at(self._valid_until)
        return column.at_rows(current, nodes.rows)

    def _current(
        self,
        snap: snapshot.Snapshot,
        compute: Callable[[snapshot.NodeView, cycle_state.CycleState], column.ColumnT],
    ) -> column.ColumnT:
        rows = self._changed_rows(snap)
        self._nodes = None  # begins anew if `compute` raises
        own_state = cycle_state.CycleState()
        if self._column is None or rows is None:
            full = compute(snap.view_all_rows(), own_state)
            self._column = column.spread(full, snap.size)
            self._valid_until = own_state.valid_until
        elif len(rows):
            new = compute(snap.view_rows(rows), own_state)
            self._column = column.patched(self._column, rows, new, snap.size)
            self._valid_until = _earlier(self._valid_until, own_state.valid_until)
        self._nodes, self._latest = snap.nodes, snap.now
        return self._column

    def _changed_rows(self, snap: snapshot.Snapshot) -> columns.IntArray | None:
        is_over = self._valid_until is not None and snap.now >= self._valid_until
        if self._nodes is not snap.nodes or is_over or snap.now < self._latest:
            self._version = shape_answers.Version(self._reads)
        return self._version.changed_rows(snap)


def _earlier(
    one: datetime.datetime | None, other: datetime.datetime | None
) -> datetime.datetime | None:
    if one is None or other is None:
        return one or other
    return min(one, other)
