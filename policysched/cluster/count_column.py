"""The number of pods on every row, updated by single additions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log

_FIRST_CAPACITY = 64
_CHANGES_KEPT = 64
"""Beyond this number a recount is as cheap; there may be a thousand columns."""


class CountColumn:
    """Counts by row.

    Attributes:
        total: the sum over all rows.
        changes: rows and the amounts by which their counts changed.
        is_current: False if the column is no longer updated.
    """

    def __init__(self) -> None:
        """Start with zero everywhere."""
        self.total = 0
        self.changes = change_log.ChangeLog[tuple[int, int]](_CHANGES_KEPT)
        self.is_current = True
        self._counts: npt.NDArray[np.int64] = np.zeros(_FIRST_CAPACITY, np.int64)

    def add(self, row: int, change: int) -> None:
        """Add `change` to one row."""
        if row >= len(self._counts):
            self._grow(row + 1)
        self._counts[row] += change
        self.total += change
        self.changes.note_changed_item((row, change))

    @property
    def generation(self) -> int:
        """Increases with every change."""
        return self.changes.generation

    def add_to_rows(self, rows: Sequence[int], change: int) -> None:
        """Add `change` to each of `rows`, repeatedly for repeated rows."""
        highest = max(rows)
        if highest >= len(self._counts):
            self._grow(highest + 1)
        np.add.at(self._counts, rows, change)
        self.total += change * len(rows)
        self.changes.note_changed_items([(row, change) for row in rows])

    def get_counts(self, size: int) -> npt.NDArray[np.int64]:
        """Return int64 (size,): the counts, as a view that must not be written to."""
        if size > len(self._counts):
            self._grow(size)
        return self._counts[:size]

    def _grow(self, size: int) -> None:
        longer = np.zeros(max(size, 2 * len(self._counts)), np.int64)
        longer[: len(self._counts)] = self._counts
        self._counts = longer
