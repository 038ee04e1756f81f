"""Count pods on every row, updated incrementally."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log

_FIRST_CAPACITY = 64
_CHANGES_KEPT = 64
"""Applying more changes than this would cost as much as a recount; kept small, because there can be
a thousand columns."""


class CountColumn:
    """A count for each row.

    Attributes:
        total: sum over all rows.
        changes: log of (row, change to its count).
        is_current: False once the column is no longer updated.
    """

    def __init__(self) -> None:
        """Start with 0 in every row."""
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
        """A number that increases with every change."""
        return self.changes.generation

    def add_to_rows(self, rows: Sequence[int], change: int) -> None:
        """Add `change` to each of `rows`, once for each occurrence of a row."""
        highest = max(rows)
        if highest >= len(self._counts):
            self._grow(highest + 1)
        np.add.at(self._counts, rows, change)
        self.total += change * len(rows)
        self.changes.note_changed_items([(row, change) for row in rows])

    def get_counts(self, size: int) -> npt.NDArray[np.int64]:
        """Return int64 (size,): the counts as a view; do not write to it."""
        if size > len(self._counts):
            self._grow(size)
        return self._counts[:size]

    def _grow(self, size: int) -> None:
        longer = np.zeros(max(size, 2 * len(self._counts)), np.int64)
        longer[: len(self._counts)] = self._counts
        self._counts = longer
