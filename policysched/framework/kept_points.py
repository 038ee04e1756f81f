"""Points of plugins that compare nodes, kept for equal pods and patched where numbers changed.

Each plugin has a number for each slot: a row, or a topology domain that many rows share. Plugins
that are asked together are one block; what changes in blocks with the same slots is added up by
slot, and gathered by row.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    compared_slots,
    comparing,
    cycle_state,
    interface,
    score_table,
    status_table,
)

Rows: TypeAlias = npt.NDArray[np.intp]
_NO_ROWS: Rows = np.zeros(0, np.intp)
_FEW = 16
"""So few numbers are looked at faster one by one."""


class Everything(NamedTuple):
    """All numbers of a block, as they may all be others.

    Attributes:
        numbers: float64 (S,) of each plugin.
        slots: intp (N,), the slot of each row; the same object while it is the same.
    """

    numbers: Sequence[interface.RawScores]
    slots: Rows


Changes: TypeAlias = Sequence[tuple[int, Sequence[float]]]
"""Slots with other numbers, each once, and the number of each plugin."""


class Numbers(Protocol):
    """Where the numbers of a block come from."""

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Everything | Changes:
        """Return what has changed since the last time."""
        ...


class DomainScorePlugin(comparing.ComparingPlugin, Protocol):
    """One whose raw scores follow from topology domains and not from the node's own row."""

    def by_domain(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Numbers:
        """Return the raw scores by domain for pods equal to `pod`."""
        ...


class Member(NamedTuple):
    """A plugin that compares nodes; a unit of its points counts `factor` hundredths."""

    name: str
    frame: comparing.Frame
    factor: int


class _Block:
    """The weighted points by slot of k plugins whose numbers come together.

    Attributes:
        rows: intp (N,), the slot of each row, as last told with all numbers.
        table: int64 (k, S) hundredths.
    """

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._values: columns.FloatArray = np.zeros((len(members), 0))
        self._lines = list(self._values)  # views, as each one made takes as long as a look-up
        self.rows = _NO_ROWS
        self.table: columns.IntArray = np.zeros((len(members), 0), np.int64)
        # Through these single numbers and points are read and written faster.
        self._single: list[tuple[memoryview, memoryview]] = []

    @property
    def slot_count(self) -> int:
        """S."""
        return int(self._values.shape[1])

    def take(self, all_of_them: Everything) -> None:
        """Take over numbers of all slots, to be compared in `begin`."""
        self._values = np.array(all_of_them.numbers, np.float64)
        self._lines = list(self._values)
        self.rows = all_of_them.slots
        if self.table.shape != self._values.shape:
            self.table = np.zeros(self._values.shape, np.int64)
        views = zip(self._lines, self.table, strict=True)
        self._single = [(numbers.data, points.data) for numbers, points in views]

    def begin(self, slots: compared_slots.Slots) -> None:
        """Compare anew."""
        for index, (member, values) in enumerate(zip(self._members, self._lines, strict=True)):
            member.frame.begin(values, slots)
            self._make(index, slots)

    def move(self, slots: compared_slots.Slots) -> None:
        """Compare other slots than the last time."""
        moved, rows_in = slots.moved, slots.rows_in.item
        for index, (_, frame, _) in enumerate(self._members):
            values = self._lines[index]
            if moved is None:
                is_other = frame.begin(values, slots)
            elif frame.holders and all(map(rows_in, frame.holders)):
                continue
            else:
                is_other = frame.move(values, slots, *moved)
            if is_other:
                self._make(index, slots)

    def replace(self, slot: int, numbers: Sequence[float], slots: compared_slots.Slots) -> None:
        """Take over the numbers of one slot."""
        by = 0
        for index, (kept, given) in enumerate(self._single):
            old, new = kept[slot], numbers[index]
            if new == old:
                continue
            kept[slot] = new  # type: ignore[call-overload]  # its numbers are floats
            _, frame, factor = self._members[index]
            points = frame.replace(self._lines[index], slots, slot, old, new)
            if points is None:
                self._make(index, slots)
            else:
                by += points * factor - given[slot]
                given[slot] = points * factor
        if by:
            slots.changes[slot] = slots.changes.get(slot, 0) + by

    def _make(self, index: int, slots: compared_slots.Slots) -> None:
        """Make all points of a plugin anew."""
        _, frame, factor = self._members[index]
        values = self._lines[index]
        if len(values) <= _FEW:
            points = np.array([frame.point(value) for value in values.tolist()]) * factor
        else:
            points = frame.points(values) * factor
        shift = points - self.table[index]
        self.table[index] = points
        slots.shift = shift if slots.shift is None else slots.shift + shift


class KeptPoints:
    """Weighted points of k plugins that compare nodes, for every row, and their sum.

    Attributes:
        sums: int64 (N,) hundredths, undefined on rows that are not feasible; not to be written to.
        changed: rows with another sum since the last time, None for all.
        change: int64 (N,), by how much all sums changed besides; None for not at all.
    """

    def __init__(self, asked: Sequence[tuple[Numbers, Sequence[Member]]]) -> None:
        """Add up the points of plugins, at least one; `asked` says where their numbers come from.

        Each is asked for the numbers of some of them.
        """
        self._names = tuple([member.name for _, members in asked for member in members])
        self._asked = [numbers for numbers, _ in asked]
        self._blocks = [_Block(members) for _, members in asked]
        self._slots: list[compared_slots.Slots] = []
        self._distinct: list[compared_slots.Slots] = []
        self._feasible: Rows | None = None
        self._is_feasible: columns.BoolArray = np.zeros(0, np.bool_)
        self.sums: columns.IntArray = np.zeros(0, np.int64)
        self.changed: Rows | None = None
        self.change: columns.IntArray | None = None

    def refresh(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        feasible: Rows,
        filtered: status_table.StatusIds | None = None,
    ) -> None:
        """Bring the sums up to date for the feasible rows, intp (f,).

        They are 0 in `filtered`, int16 (N,), where that is at hand.
        """
        told: list[Changes | None] = []
        for numbers, block in zip(self._asked, self._blocks, strict=True):
            answer = numbers.refresh(state, pod, snap)
            if isinstance(answer, Everything):
                block.take(answer)
                told.append(None)
            else:
                told.append(answer)
        is_new = self._look_at(feasible, self._moved(feasible, filtered, snap.size))
        for block, changes, slots in zip(self._blocks, told, self._slots, strict=True):
            if changes is None:
                block.begin(slots)
                continue
            if not slots.is_still:
                block.move(slots)
            for slot, new in changes:
                block.replace(slot, new, slots)
        if is_new:
            self._add_up()
        else:
            self._patch()

    def part(self) -> score_table.SlotPart:
        """Return what the plugins gave; it is valid until the next cycle."""
        return score_table.SlotPart(
            self._names, [(block.table, block.rows) for block in self._blocks]
        )

    def _look_at(self, feasible: Rows, moved: tuple[Rows, Rows] | None) -> bool:
        """Count feasible rows by slot; return whether any plugin has other slots than before."""
        rows_now = [block.rows for block in self._blocks]
        if self._slots and all(map(operator.is_, rows_now, [slots.slots for slots in self._slots])):
            for slots in self._distinct:
                slots.refresh(feasible, moved)
            return False
        made: dict[int, compared_slots.Slots] = {}
        for block in self._blocks:
            if id(block.rows) not in made:
                made[id(block.rows)] = compared_slots.Slots(block.rows, block.slot_count, feasible)
        self._slots = [made[id(rows)] for rows in rows_now]
        self._distinct = list(made.values())
        return True

    def _moved(
        self, feasible: Rows, filtered: status_table.StatusIds | None, size: int
    ) -> tuple[Rows, Rows] | None:
        if feasible is self._feasible:
            return compared_slots.NOTHING_MOVED
        if filtered is None:
            is_feasible = np.zeros(size, np.bool_)
            is_feasible[feasible] = True
        else:
            is_feasible = filtered == 0
        before, self._is_feasible = self._is_feasible, is_feasible
        self._feasible = feasible
        if len(before) != size:
            return None
        moved = (before != is_feasible).nonzero()[0]  # `flatnonzero` without its checks
        if len(moved) == 0:
            return compared_slots.NOTHING_MOVED
        comes = is_feasible[moved]
        return moved[comes], moved[~comes]

    def _add_up(self) -> None:
        self.sums = np.zeros(len(self._blocks[0].rows), np.int64)
        for block in self._blocks:
            self.sums += block.table.sum(axis=0).take(block.rows)
        self.changed = self.change = None

    def _patch(self) -> None:
        single, self.change = list[int](), None
        for slots in self._distinct:
            self.change, alone = slots.add_to(self.change)
            for row, by in alone:
                self.sums[row] += by
                single.append(row)
        if self.change is not None:
            self.sums += self.change
        self.changed = np.array(single, np.intp) if single else _NO_ROWS
