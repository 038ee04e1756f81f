"""Points of plugins that compare nodes, kept for equal pods and patched where numbers changed.

Each plugin has a number for each slot: a row, or a topology domain that many rows share. What
plugins with the same slots give is added up by slot, and gathered by row.
"""

from __future__ import annotations

import operator
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
_NOTHING_MOVED: tuple[list[int], list[int]] = ([], [])
_FEW = 16
"""Beyond so many rows that became feasible or not, or got other points, all are looked at."""


class Presence:
    """How many feasible rows each slot has, for all plugins with the same slots.

    Attributes:
        slots: intp (N,), the slot of each row.
        moved: slots that got their first feasible row the last time and those that lost all of
            them; None where there may be many.
    """

    def __init__(self, slots: Rows, count: int, feasible: Rows) -> None:
        """Count `feasible` rows, intp (f,), by one of `count` slots."""
        self.slots = slots
        self._count = count
        self.moved: tuple[list[int], list[int]] | None = None
        self._rows_in: columns.IntArray = np.zeros(0, np.int64)
        self._present: Rows | None = None
        self._count_all(feasible)

    def refresh(self, feasible: Rows, moved: tuple[Rows, Rows] | None) -> None:
        """Go by the feasible rows; `moved` are the new ones and those that left, None for many."""
        if moved is None:
            self._count_all(feasible)
            return
        come_rows, gone_rows = moved
        come, gone = list[int](), list[int]()
        if len(come_rows) or len(gone_rows):
            self._present = None
            self._move(come_rows, 1, 1, come)
            self._move(gone_rows, -1, 0, gone)
        self.moved = (come, gone) if come or gone else _NOTHING_MOVED

    @property
    def is_still(self) -> bool:
        """Whether the same slots have feasible rows as before."""
        return self.moved is _NOTHING_MOVED

    def is_present(self, slot: int) -> bool:
        """Return whether the slot has a feasible row."""
        return self._rows_in.item(slot) > 0

    @property
    def present(self) -> Rows:
        """Intp: the slots with a feasible row."""
        if self._present is None:
            self._present = np.flatnonzero(self._rows_in)
        return self._present

    def _count_all(self, feasible: Rows) -> None:
        self._rows_in = np.bincount(self.slots[feasible], minlength=self._count)
        self._present = None
        self.moved = None

    def _move(self, rows: Rows, change: int, at: int, found: list[int]) -> None:
        for slot in self.slots[rows].tolist():
            self._rows_in[slot] += change
            if self._rows_in[slot] == at:
                found.append(slot)


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
        self.table: columns.IntArray = np.zeros(0, np.int64)
        self.slots: Rows = _NO_ROWS
        self.changed: list[int] | None = None

    def ask(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Refreshed:
        """Return current numbers."""
        return self._refresh(state, pod, snap)

    def refresh(self, refreshed: Refreshed, presence: Presence) -> None:
        """Bring the points up to date with what `ask` returned."""
        values, slots, changed = refreshed
        if changed is None or slots is not self.slots:
            self._begin(values, slots, presence)
            return
        if not changed and presence.is_still:
            self.changed = changed
            return
        come, gone = list[float](), list[float]()
        if presence.moved is not None and not presence.is_still:
            come, gone = (_known(self._values[moved].tolist()) for moved in presence.moved)
        dirty = self._changed(values, changed, presence, come, gone)
        effect = comparing.Effect.SAME
        if presence.moved is None:
            effect = comparing.Effect.UNKNOWN
        elif come or gone:
            effect = self._frame.move(come, gone)
        if effect is comparing.Effect.UNKNOWN:
            effect = self._frame.begin(self._compared(presence))
        if effect is comparing.Effect.OTHER:
            self._make()
            return
        for slot in dirty:
            self.table[slot] = self._frame.point(self._values.item(slot)) * self._factor
        self.changed = dirty

    def _begin(self, values: columns.FloatArray, slots: Rows, presence: Presence) -> None:
        self._values = values.astype(np.float64)
        self.slots = slots
        self._frame.begin(self._compared(presence))
        self._make()

    def _make(self) -> None:
        self.table = self._frame.points(self._values) * self._factor
        self.changed = None

    def _compared(self, presence: Presence) -> columns.FloatArray:
        """Return the numbers of slots with a feasible row."""
        values: columns.FloatArray = self._values[presence.present]
        if not np.isnan(values.min(initial=np.inf)):  # which is NaN if any is
            return values
        known: columns.FloatArray = values[~np.isnan(values)]
        return known

    def _changed(
        self,
        values: columns.FloatArray,
        changed: list[int],
        presence: Presence,
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
                if presence.is_present(slot):
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
        self._table = _sum([each.table for each in members])
        self.by_row: columns.IntArray = self._table.take(self._slots)
        self._sizes = np.bincount(self._slots, minlength=len(self._table))
        self._last_row = np.zeros(len(self._table), np.intp)
        self._last_row[self._slots] = np.arange(len(self._slots))
        self._rows_of: dict[int, Rows] = {}

    def patch(self) -> list[tuple[Rows, int]] | None:
        """Take over changed points; return rows and by how much they changed, None for all."""
        if any(each.changed is None for each in self._members):
            self._table = _sum([each.table for each in self._members])
            self.by_row = self._table.take(self._slots)
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
        self._slots: list[Rows] = []
        self._presences: dict[int, Presence] = {}
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
        asked = [each.ask(state, pod, snap) for each in self._compared]
        self._look_at(feasible, asked, self._moved(feasible, snap.size))
        for each, refreshed in zip(self._compared, asked, strict=True):
            each.refresh(refreshed, self._presences[id(refreshed[1])])
        slots = [refreshed[1] for refreshed in asked]
        if len(slots) == len(self._slots) and all(map(operator.is_, slots, self._slots)):
            self._patch()
            return
        self._slots = slots
        groups: dict[int, list[Compared]] = {}
        for each in self._compared:
            groups.setdefault(id(each.slots), []).append(each)
        self._groups = [_Group(members) for members in groups.values()]
        self._add_up()

    def part(self) -> score_table.SlotPart:
        """Return what the plugins gave; it is valid until the next cycle."""
        return score_table.SlotPart(
            self._names, tuple((each.table, each.slots) for each in self._compared)
        )

    def _look_at(
        self, feasible: Rows, asked: Sequence[Refreshed], moved: tuple[Rows, Rows] | None
    ) -> None:
        """Count feasible rows by slot, once for all plugins with the same slots."""
        before, self._presences = self._presences, {}
        for values, slots, _ in asked:
            if id(slots) in self._presences:
                continue
            known = before.get(id(slots))
            if known is None:
                known = Presence(slots, len(values), feasible)
            else:
                known.refresh(feasible, moved)
            self._presences[id(slots)] = known

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
        self.sums = _sum([group.by_row for group in self._groups])
        self.changed = None


def _sum(arrays: Sequence[columns.IntArray]) -> columns.IntArray:
    """Return the sum, an array of its own."""
    first, *others = arrays
    total = first.copy()
    for each in others:
        total += each
    return total


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
