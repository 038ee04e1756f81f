"""Which slots have feasible rows, and what changes of slots come to by row.

A slot is a row, or a topology domain that many rows share; plugins that compare nodes have a number
for each (`kept_points`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns

Rows: TypeAlias = npt.NDArray[np.intp]
_NO_ROWS: Rows = np.zeros(0, np.intp)
NOTHING_MOVED: tuple[Rows, Rows] = (_NO_ROWS, _NO_ROWS)
"""No row comes, and none leaves."""
_FEW_SLOTS = 3
"""Changes of so few domains are given to their rows one domain after the other."""
_MANY_DOMAINS = 256
"""Beyond that it takes longer to find out that few of them change than to look each row's up."""
_LARGE = 16
"""A domain with more than such a part of all rows gets its changes through a mask."""


class Slots:
    """What blocks with the same slots share: which rows are in them, and what changed there.

    Attributes:
        slots: intp (N,), the slot of each row.
        is_still: whether the same slots have feasible rows as the last time.
        moved: intp, slots that got their first feasible row and those that lost all of them; None
            where there may be any.
        rows_in: int64 (S,), how many feasible rows each slot has.
        changes: by how much the points of single slots changed.
        shift: int64 (S,), by how much those of all slots changed besides, None for not at all.
    """

    def __init__(self, slots: Rows, count: int, feasible: Rows) -> None:
        """Count `feasible` rows, intp (f,), by one of `count` slots."""
        self.slots = slots
        self.moved: tuple[Rows, Rows] | None = None
        self.changes: dict[int, int] = {}
        self.shift: columns.IntArray | None = None
        self._count = count
        self._sizes = np.bincount(slots, minlength=count)
        self._are_single = int(self._sizes.max(initial=0)) <= 1
        self._last_row = np.zeros(count, np.intp)
        self._last_row[slots] = np.arange(len(slots))
        self._rows_of: dict[int, Rows] = {}
        self._masks: dict[int, columns.IntArray] = {}
        self._present: Rows | None = None
        self._count_all(feasible)

    # --- feasible rows ----------------------------------------------------------------------------

    def refresh(self, feasible: Rows, moved: tuple[Rows, Rows] | None) -> None:
        """Go by the feasible rows; `moved` are the new ones and those that left, None for any."""
        self.changes, self.shift = {}, None
        if moved is NOTHING_MOVED:
            self.is_still = True
        elif moved is None:
            self._count_all(feasible)
        else:
            self._present = None
            self.moved = self._move(*moved)
            self.is_still = self.moved is NOTHING_MOVED

    @property
    def present(self) -> Rows:
        """Intp: the slots with a feasible row."""
        if self._present is None:
            self._present = self.rows_in.nonzero()[0]  # `flatnonzero` without its checks
        return self._present

    def _count_all(self, feasible: Rows) -> None:
        self.rows_in: columns.IntArray = np.bincount(self.slots[feasible], minlength=self._count)
        self._has = self.rows_in.astype(np.bool_)
        self._present = self.moved = None
        self.is_still = False

    def _move(self, come: Rows, gone: Rows) -> tuple[Rows, Rows]:
        """Count other feasible rows; return which slots got their first one and lost all."""
        come = self.slots.take(come) if len(come) else come
        gone = self.slots.take(gone) if len(gone) else gone
        if self._are_single:
            if len(come):
                self.rows_in[come] = 1
            if len(gone):
                self.rows_in[gone] = 0
            return come, gone
        if len(come):
            self.rows_in = self.rows_in + np.bincount(come, minlength=self._count)
        if len(gone):
            self.rows_in = self.rows_in - np.bincount(gone, minlength=self._count)
        has, had = self.rows_in.astype(np.bool_), self._has
        if (has == had).all():
            return NOTHING_MOVED
        self._has = has
        return (has > had).nonzero()[0], (had > has).nonzero()[0]

    # --- rows of slots ----------------------------------------------------------------------------

    def add_to(
        self, change: columns.IntArray | None
    ) -> tuple[columns.IntArray | None, Sequence[tuple[int, int]]]:
        """Return by how much the points of rows changed, with the `change` of other slots.

        That is int64 (N,), None for nothing, and some single rows that are named besides.
        """
        if self.shift is not None:
            shifted = self._shifted(self.shift)
            if shifted is None:
                for slot, by in self.changes.items():
                    self.shift[slot] += by
                part = self.shift.take(self.slots, mode="clip")  # faster, all are in range
                return _sum(change, part), ()
            for slot in shifted:
                self.changes[slot] = self.changes.get(slot, 0) + self.shift.item(slot)
        alone = []
        for slot, by in self.changes.items():
            size = self._sizes.item(slot)
            if size == 1:
                alone.append((self._last_row.item(slot), by))
            elif size * _LARGE > len(self.slots):
                change = _sum(change, self._mask(slot) & by)
            else:
                change = np.zeros(len(self.slots), np.int64) if change is None else change
                change[self._rows(slot)] += by
        return change, alone

    def _shifted(self, shift: columns.IntArray) -> list[int] | None:
        """Return the slots that `shift` changes if these are few."""
        if len(shift) > _MANY_DOMAINS:
            return None
        found: list[int] = shift.nonzero()[0].tolist()
        if len(found) > _FEW_SLOTS + 1:  # slot 0, which mostly has no rows, may be one of them
            return None
        found = [slot for slot in found if self._sizes.item(slot)]
        return found if len(found) <= _FEW_SLOTS else None

    def _rows(self, slot: int) -> Rows:
        """Return intp: the rows in a slot."""
        found = self._rows_of.get(slot)
        if found is None:
            found = self._rows_of[slot] = np.flatnonzero(self.slots == slot)
        return found

    def _mask(self, slot: int) -> columns.IntArray:
        """Return int64 (N,): all bits set for the rows in a slot, none for others."""
        found = self._masks.get(slot)
        if found is None:
            found = self._masks[slot] = -(self.slots == slot).astype(np.int64)
        return found


def _sum(change: columns.IntArray | None, part: columns.IntArray) -> columns.IntArray:
    """Return the sum of both; neither is used any more."""
    return part if change is None else np.add(change, part, out=part)
