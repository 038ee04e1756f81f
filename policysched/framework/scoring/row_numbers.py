"""Numbers of plugins that compare nodes by what is on the node's own row, asked together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.framework import cycles, interface
from policysched.framework.answers import derived, together
from policysched.framework.scoring import compared_scores


class RowSlots:
    """The slots of plugins that read single rows, one object for all of them."""

    def __init__(self) -> None:
        """Start without rows."""
        self._slots: npt.NDArray[np.intp] = np.zeros(0, np.intp)

    def of(self, size: int) -> npt.NDArray[np.intp]:
        """Return intp (N,): each row is a slot."""
        if len(self._slots) != size:
            self._slots = np.arange(size)
        return self._slots


class RowNumbers:
    """Raw scores of k plugins that read the same, of every row (`compared_scores.Numbers`)."""

    def __init__(
        self, plugins: Sequence[interface.ScorePlugin], cycle: cycles.Cycle, slots: RowSlots
    ) -> None:
        """Tell what `plugins` say of rows for pods equal to that of the cycle."""
        answers = cycle.answers
        writer = together.ScoreWriter(plugins, answers.state, answers.example, cycle.snap)
        inputs = derived.SnapshotInputs(plugins[0].reads)
        self._by_row = derived.Derived(inputs, writer.write, np.float64, len(plugins))
        self._seen = change_log.ChangeLogCursor()
        self._slots = slots
        self._told_of = slots.of(0)

    def refresh(
        self, snap: snapshot.Snapshot
    ) -> compared_scores.Everything | compared_scores.Changes | None:
        """Return what has changed, None for nothing."""
        self._by_row.refresh(snap)
        numbers, slots = self._by_row.values, self._slots.of(snap.size)
        rows = self._seen.read_changes(self._by_row.changes)
        if rows is None or slots is not self._told_of:
            self._told_of = slots
            return compared_scores.Everything(numbers, slots)
        if not rows:
            return None
        changed = np.array(rows, np.intp)
        return compared_scores.Changes(changed, np.ascontiguousarray(numbers[:, changed].T))
