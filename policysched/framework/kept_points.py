"""Points of plugins that compare nodes, kept for equal pods and patched where numbers changed.

Each plugin has a number for each slot: a row, or a topology domain that many rows share. What
plugins with the same slots give is added up by slot, and gathered by row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import comparing, cycle_state, score_table

Rows: TypeAlias = npt.NDArray[np.intp]
Refreshed: TypeAlias = tuple[columns.FloatArray, Rows, list[int] | None]
"""Live numbers (S,), the slot of each row, intp (N,), and the slots that changed, None for all."""
Refresh: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.Snapshot], Refreshed
]
_NO_ROWS: Rows = np.zeros(0, np.intp)
_FEW = 16
"""Beyond so many rows that became feasible or not, everything is made anew."""


class Compared:
    """The weighted points of one plugin by slot.

    Attributes:
        table: int64 (S,) hundredths.
        slots: intp (N,), the slot of each row.
        changed: slots with other points since the last time, None for all.
    """

    def __init__(self, refresh: Refresh, frame: comparing.Frame, factor: int) -> None:
        """Compare what `refresh` gives by `frame`; a unit of it counts `factor` hundredths."""
        self._refresh = refresh
        self._frame = frame
        self._factor = factor
        self._values: columns.FloatArray = np.zeros(0)
        self._present: columns.IntArray = np.zeros(0, np.int64)
        self.table: columns.IntArray = np.zeros(0, np.int64)
        self.slots: Rows = _NO_ROWS
        self.changed: list[int] | None = None

    def refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        feasible: Rows,
        moved: tuple[Rows, Rows] | None,
    ) -> None:
        """Bring the points up to date.

        `feasible` rows are compared; `moved` are those that are new among them and those that left,
        None where everything is to be made anew.
        """
        values, slots, changed = self._refresh(state, pod, snap)
        if changed is None or moved is None or slots is not self.slots:
            self._begin(values, slots, feasible)
            return
        come, gone = self._moved(*moved)
        dirty = self._changed(values, changed, come, gone)
        effect = self._frame.move(come, gone) if come or gone else comparing.Effect.SAME
        if effect is comparing.Effect.UNKNOWN:
            effect = self._frame.begin(self._compared())
        if effect is comparing.Effect.OTHER:
            self._make()
            return
        for slot in dirty:
            self.table[slot] = self._frame.point(self._values.item(slot)) * self._factor
        self.changed = dirty

    def _begin(self, values: columns.FloatArray, slots: Rows, feasible: Rows) -> None:
        self._values = values.astype(np.float64)
        self.slots = slots
        self._present = np.bincount(slots[feasible], minlength=len(values))
        self._frame.begin(self._compared())
        self._make()

    def _make(self) -> None:
        self.table = self._frame.points(self._values) * self._factor
        self.changed = None

    def _compared(self) -> columns.FloatArray:
        """Return the numbers of slots with a feasible row."""
        values = self._values[self._present > 0]
        known: columns.FloatArray = values[~np.isnan(values)]
        return known

    def _moved(self, come_rows: Rows, gone_rows: Rows) -> tuple[list[float], list[float]]:
        """Count feasible rows; return the numbers of slots that got their first, or lost all."""
        come, gone = [], []
        for slot in self.slots[come_rows].tolist():
            self._present[slot] += 1
            if self._present[slot] == 1:
                come.append(self._values.item(slot))
        for slot in self.slots[gone_rows].tolist():
            self._present[slot] -= 1
            if not self._present[slot]:
                gone.append(self._values.item(slot))
        return _known(come), _known(gone)

    def _changed(
        self,
        values: columns.FloatArray,
        changed: list[int],
        come: list[float],
        gone: list[float],
    ) -> list[int]:
        """Take over numbers; return the slots with other ones."""
        dirty = []
        for slot in dict.fromkeys(changed):
            old, new = self._values.item(slot), values.item(slot)
            if new != old and not (new != new and old != old):  # noqa: PLR0124 - NaN is not itself
                dirty.append(slot)
                self._values[slot] = new
                if self._present[slot]:
                    come.extend(_known([new]))
                    gone.extend(_known([old]))
        return dirty


class _Group:
    """Points of plugins with the same slots, together.

    Attributes:
        by_row: int64 (N,) hundredths.
    """

    def __init__(self, members: Sequence[Compared]) -> None:
        self._members = members
        self._slots = members[0].slots
        self._table: columns.IntArray = np.sum([each.table for each in members], axis=0)
        self.by_row: columns.IntArray = self._table[self._slots]
        self._sizes = np.bincount(self._slots, minlength=len(self._table))
        self._last_row = np.zeros(len(self._table), np.intp)
        self._last_row[self._slots] = np.arange(len(self._slots))
        self._rows_of: dict[int, Rows] = {}

    def is_of(self, members: Sequence[Compared]) -> bool:
        """Return whether this is still about the same slots."""
        return all(each.slots is self._slots for each in members)

    def patch(self) -> list[tuple[Rows, int]] | None:
        """Take over changed points; return rows and by how much they changed, None for all."""
        if any(each.changed is None for each in self._members):
            self._table = np.sum([each.table for each in self._members], axis=0)
            self.by_row = self._table[self._slots]
            return None
        changes = []
        for slot in {slot for each in self._members for slot in each.changed or ()}:
            total = sum([each.table.item(slot) for each in self._members])
            change = total - self._table.item(slot)
            if change:
                rows = self._rows(slot)
                self._table[slot] = total
                self.by_row[rows] = total
                changes.append((rows, change))
        return changes

    def _rows(self, slot: int) -> Rows:
        found = self._rows_of.get(slot)
        if found is None:
            is_one = self._sizes.item(slot) == 1
            found = self._last_row[slot : slot + 1] if is_one else None
            if found is None:
                found = np.flatnonzero(self._slots == slot)
            self._rows_of[slot] = found
        return found


class KeptPoints:
    """Weighted points of k plugins that compare nodes, for every row, and their sum.

    Attributes:
        sums: int64 (N,) hundredths, undefined on rows that are not feasible; not to be written to.
        changed: rows with another sum since the last time, None for all.
    """

    def __init__(self, names: Sequence[str], compared: Sequence[Compared]) -> None:
        """Add up `compared`, at least one, which are called `names`."""
        self._names = tuple(names)
        self._compared = compared
        self._groups: list[_Group] = []
        self._feasible: Rows | None = None
        self._is_feasible: columns.BoolArray = np.zeros(0, np.bool_)
        self.sums: columns.IntArray = np.zeros(0, np.int64)
        self.changed: Rows | None = None

    def refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        feasible: Rows,
    ) -> None:
        """Bring the sums up to date for the feasible rows, intp (f,)."""
        moved = self._moved(feasible, snap.size)
        for each in self._compared:
            each.refresh(state, pod, snap, feasible, moved)
        groups: dict[int, list[Compared]] = {}
        for each in self._compared:
            groups.setdefault(id(each.slots), []).append(each)
        grouped = list(groups.values())
        is_same = len(grouped) == len(self._groups) and all(
            group.is_of(members) for group, members in zip(self._groups, grouped, strict=True)
        )
        if is_same:
            self._patch()
        else:
            self._groups = [_Group(members) for members in grouped]
            self._add_up()

    def part(self) -> score_table.SlotPart:
        """Return what the plugins gave; it is valid until the next cycle."""
        return score_table.SlotPart(
            self._names, tuple((each.table, each.slots) for each in self._compared)
        )

    def _moved(self, feasible: Rows, size: int) -> tuple[Rows, Rows] | None:
        if feasible is self._feasible:
            return _NO_ROWS, _NO_ROWS
        is_feasible = np.zeros(size, np.bool_)
        is_feasible[feasible] = True
        before, self._is_feasible = self._is_feasible, is_feasible
        self._feasible = feasible
        if len(before) != size:
            return None
        moved = np.flatnonzero(before != is_feasible)
        if len(moved) > _FEW:
            return None
        comes = is_feasible[moved]
        return moved[comes], moved[~comes]

    def _patch(self) -> None:
        patches = [group.patch() for group in self._groups]
        if any(each is None for each in patches):
            self._add_up()
            return
        rows = [_NO_ROWS]
        for changed, change in (each for patch in patches for each in patch or ()):
            self.sums[changed] += change
            rows.append(changed)
        self.changed = np.concatenate(rows) if len(rows) > 1 else _NO_ROWS
        if len(self.changed) > _FEW:
            self.changed = None

    def _add_up(self) -> None:
        self.sums = np.sum([group.by_row for group in self._groups], axis=0)
        self.changed = None


def _known(values: list[float]) -> list[float]:
    return [value for value in values if value == value]  # noqa: PLR0124 - NaN is not itself


class RowSlots:
    """The slots of plugins that read single rows, one object for all of them."""

    def __init__(self) -> None:
        """Start without rows."""
        self._slots: Rows = _NO_ROWS

    def of(self, size: int) -> Rows:
        """Return intp (N,): each row is a slot."""
        if len(self._slots) != size:
            self._slots = np.arange(size)
        return self._slots
