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
from policysched.framework import comparing, cycle_state, interface, score_table

Rows: TypeAlias = npt.NDArray[np.intp]
Refreshed: TypeAlias = tuple[Sequence[interface.RawScores], Rows, list[int] | None]
"""Live numbers (S,) of each plugin, the slot of each row, intp (N,), and the slots that changed,
each once, None for all."""
Refresh: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.Snapshot], Refreshed
]
_NO_ROWS: Rows = np.zeros(0, np.intp)
_NOTHING_MOVED: tuple[Rows, Rows] = (_NO_ROWS, _NO_ROWS)
_FEW = 16
"""So few numbers are compared faster one by one."""


class Slots:
    """What plugins with the same slots share: which rows are in them, and their points together.

    Attributes:
        slots: intp (N,), the slot of each row.
        is_still: whether the same slots have feasible rows as the last time.
        moved: intp, slots that got their first feasible row and those that lost all of them; None
            where there may be any.
        rows_in: int64 (S,), how many feasible rows each slot has.
        changes: by how much points of slots changed, None for all.
    """

    def __init__(self, slots: Rows, count: int, feasible: Rows) -> None:
        """Count `feasible` rows, intp (f,), by one of `count` slots."""
        self.slots = slots
        self.is_still = False
        self.moved: tuple[Rows, Rows] | None = None
        self.changes: dict[int, int] | None = None
        self._sizes = np.bincount(slots, minlength=count)
        self._are_single = int(self._sizes.max(initial=0)) <= 1
        self._last_row = np.zeros(count, np.intp)
        self._last_row[slots] = np.arange(len(slots))
        self._rows_of: dict[int, Rows] = {}
        self._members: list[Compared] = []
        self._table: columns.IntArray = np.zeros(count, np.int64)
        self.rows_in: columns.IntArray = np.zeros(0, np.int64)
        self._present: Rows | None = None
        self._count_all(feasible)

    # --- feasible rows ----------------------------------------------------------------------------

    def refresh(self, feasible: Rows, moved: tuple[Rows, Rows] | None) -> None:
        """Go by the feasible rows; `moved` are the new ones and those that left, None for any."""
        self.changes = {}
        if moved is _NOTHING_MOVED:
            self.is_still = True
        elif moved is None:
            self._count_all(feasible)
        else:
            self._present = None
            self.moved = self._move(*moved)
            self.is_still = not any(map(len, self.moved))

    @property
    def present(self) -> Rows:
        """Intp: the slots with a feasible row."""
        if self._present is None:
            self._present = np.flatnonzero(self.rows_in)
        return self._present

    def _count_all(self, feasible: Rows) -> None:
        self.rows_in = np.bincount(self.slots[feasible], minlength=len(self._table))
        self._present = self.moved = None
        self.is_still = False

    def _move(self, come: Rows, gone: Rows) -> tuple[Rows, Rows]:
        """Count other feasible rows; return which slots got their first one and lost all."""
        come, gone = self.slots.take(come), self.slots.take(gone)
        if self._are_single:
            self.rows_in[come] = 1
            self.rows_in[gone] = 0
            return come, gone
        count, had = len(self._table), self.rows_in > 0
        if len(come):
            self.rows_in = self.rows_in + np.bincount(come, minlength=count)
        if len(gone):
            self.rows_in = self.rows_in - np.bincount(gone, minlength=count)
        has = self.rows_in > 0
        return (has > had).nonzero()[0], (had > has).nonzero()[0]

    # --- points -----------------------------------------------------------------------------------

    def add_up(self, members: list[Compared]) -> columns.IntArray:
        """Add up the points of `members` from now on; return int64 (N,) hundredths."""
        self._members = members
        self._table = _sum([each.table for each in members])
        return self._table.take(self.slots)

    def patch(self) -> dict[int, int] | columns.IntArray:
        """Take over changed points; return by how much slots changed, int64 (S,) for all."""
        if self.changes is None:
            before, self._table = self._table, _sum([each.table for each in self._members])
            return self._table - before
        for slot, change in self.changes.items():
            self._table[slot] += change
        return self.changes

    def only_row(self, slot: int) -> int | None:
        """Return the row in a slot, None where there is not exactly one."""
        return self._last_row.item(slot) if self._sizes.item(slot) == 1 else None

    def rows(self, slot: int) -> Rows:
        """Return intp: the rows in a slot."""
        found = self._rows_of.get(slot)
        if found is None:
            found = self._rows_of[slot] = np.flatnonzero(self.slots == slot)
        return found


class Compared:
    """The weighted points of one plugin by slot.

    Attributes:
        table: int64 (S,) hundredths.
        slots: intp (N,), the slot of each row.
    """

    def __init__(self, frame: comparing.Frame, factor: int) -> None:
        """Compare by `frame`; a unit of it counts `factor` hundredths."""
        self._frame = frame
        self._factor = factor
        self._values: columns.FloatArray = np.zeros(0)
        self.table: columns.IntArray = np.zeros(0, np.int64)
        self.slots: Rows = _NO_ROWS

    def refresh(self, values: interface.RawScores, changed: list[int] | None, slots: Slots) -> None:
        """Bring the points up to date with live numbers (S,), of which some `changed`."""
        if changed is None or slots.slots is not self.slots:
            self._values = values.astype(np.float64)
            self.slots = slots.slots
            self._frame.begin(self._compared(slots))
            self._make(slots)
            return
        effect = comparing.Effect.SAME if slots.is_still else self._move(slots)
        if effect is comparing.Effect.SAME and self._replace(values, changed, slots):
            return
        is_other = effect is comparing.Effect.OTHER
        dirty, come, gone = self._take_over(values, changed, slots)
        if effect is not comparing.Effect.UNKNOWN and (come or gone):
            effect = self._frame.move(come, gone)
        if effect is comparing.Effect.UNKNOWN:
            effect = self._frame.begin(self._compared(slots))
        if is_other or effect is comparing.Effect.OTHER:
            self._make(slots)
            return
        for slot in dirty:
            self._give(slot, self._frame.point(self._values.item(slot)), slots)

    def _move(self, slots: Slots) -> comparing.Effect:
        """Let the numbers of slots come that have feasible rows now, and others go."""
        if slots.moved is None:
            return comparing.Effect.UNKNOWN
        come, gone = slots.moved
        if len(come) + len(gone) > _FEW:
            return self._frame.move_many(self._values, come, gone)
        return self._frame.move(_few(self._values, come), _few(self._values, gone))

    def _replace(self, values: interface.RawScores, changed: list[int], slots: Slots) -> bool:
        """Take over numbers one by one; return False at one that may change other points."""
        for slot in changed:
            old, new = self._values.item(slot), values.item(slot)
            if new == old:
                continue
            if slots.rows_in.item(slot):
                points = self._frame.replace(old, new)
                if points is None:
                    return False
            else:
                points = self._frame.point(new)
            self._values[slot] = new
            self._give(slot, points, slots)
        return True

    def _give(self, slot: int, points: int, slots: Slots) -> None:
        weighted = points * self._factor
        change = weighted - self.table.item(slot)
        if change:
            self.table[slot] = weighted
            if slots.changes is not None:
                slots.changes[slot] = slots.changes.get(slot, 0) + change

    def _take_over(
        self, values: interface.RawScores, changed: list[int], slots: Slots
    ) -> tuple[list[int], list[float], list[float]]:
        """Take over numbers; return the slots with other ones, and what came and went with them."""
        dirty, come, gone = list[int](), list[float](), list[float]()
        own = self._values
        for slot in changed:
            old, new = own.item(slot), values.item(slot)
            if new == old:
                continue
            is_known, was_known = new == new, old == old  # noqa: PLR0124 - NaN is not itself
            if is_known or was_known:
                dirty.append(slot)
                own[slot] = new
                if slots.rows_in.item(slot):
                    if is_known:
                        come.append(new)
                    if was_known:
                        gone.append(old)
        return dirty, come, gone

    def _make(self, slots: Slots) -> None:
        values = self._values
        if len(values) <= _FEW:
            point, factor = self._frame.point, self._factor
            self.table = np.array([point(value) * factor for value in values.tolist()], np.int64)
        else:
            self.table = self._frame.points(values) * self._factor
        slots.changes = None

    def _compared(self, slots: Slots) -> columns.FloatArray:
        """Return the numbers of slots with a feasible row."""
        return _known(self._values[slots.present])


class KeptPoints:
    """Weighted points of k plugins that compare nodes, for every row, and their sum.

    Attributes:
        sums: int64 (N,) hundredths, undefined on rows that are not feasible; not to be written to.
        changed: rows with another sum since the last time, None for all.
        change: int64 (N,), by how much all sums changed besides; None for not at all.
    """

    def __init__(
        self,
        names: Sequence[str],
        compared: Sequence[Compared],
        asked: Sequence[tuple[Refresh, Sequence[Compared]]],
    ) -> None:
        """Add up `compared`, at least one, which are called `names`.

        `asked` says where their numbers come from: each is asked for the numbers of some of them.
        """
        self._names = tuple(names)
        self._compared = compared
        self._asked = asked
        self._rows: list[Rows] = []
        self._slots: list[Slots] = []
        self._distinct: list[Slots] = []
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
    ) -> None:
        """Bring the sums up to date for the feasible rows, intp (f,)."""
        answers = [refresh(state, pod, snap) for refresh, _ in self._asked]
        is_new = self._look_at(feasible, answers, self._moved(feasible, snap.size))
        asked = zip(self._asked, answers, self._slots, strict=True)
        for (_, members), (numbers, _, changed), slots in asked:
            if changed or changed is None or is_new or not slots.is_still:
                for each, values in zip(members, numbers, strict=True):
                    each.refresh(values, changed, slots)
        if is_new:
            self._add_up()
        else:
            self._patch()

    def part(self) -> score_table.SlotPart:
        """Return what the plugins gave; it is valid until the next cycle."""
        return score_table.SlotPart(
            self._names, tuple((each.table, each.slots) for each in self._compared)
        )

    def _look_at(
        self, feasible: Rows, answers: Sequence[Refreshed], moved: tuple[Rows, Rows] | None
    ) -> bool:
        """Count feasible rows by slot; return whether any plugin has other slots than before."""
        rows_now = [rows for _, rows, _ in answers]
        if len(rows_now) == len(self._rows) and all(map(operator.is_, rows_now, self._rows)):
            for slots in self._distinct:
                slots.refresh(feasible, moved)
            return False
        made: dict[int, Slots] = {}
        for numbers, rows, _ in answers:
            if id(rows) not in made:
                made[id(rows)] = Slots(rows, len(numbers[0]), feasible)
        self._rows = rows_now
        self._slots = [made[id(rows)] for rows in rows_now]
        self._distinct = list(made.values())
        return True

    def _moved(self, feasible: Rows, size: int) -> tuple[Rows, Rows] | None:
        if feasible is self._feasible:
            return _NOTHING_MOVED
        is_feasible = np.zeros(size, np.bool_)
        is_feasible[feasible] = True
        before, self._is_feasible = self._is_feasible, is_feasible
        self._feasible = feasible
        if len(before) != size:
            return None
        moved = (before != is_feasible).nonzero()[0]  # `flatnonzero` without its checks
        if len(moved) == 0:
            return _NOTHING_MOVED
        comes = is_feasible[moved]
        return moved[comes], moved[~comes]

    def _add_up(self) -> None:
        members: dict[int, list[Compared]] = {}
        for each in self._compared:
            members.setdefault(id(each.slots), []).append(each)
        self.sums = _sum([slots.add_up(members[id(slots.slots)]) for slots in self._distinct])
        self.changed = self.change = None

    def _patch(self) -> None:
        single, self.change = list[int](), None
        for slots in self._distinct:
            changes = slots.patch()
            if not isinstance(changes, dict):
                change = changes.take(slots.slots, mode="clip")  # faster, all are in range
                self.change = change if self.change is None else self.change + change
                continue
            for slot, by in changes.items():
                row = slots.only_row(slot)
                if row is None:
                    if self.change is None:
                        self.change = np.zeros(len(self.sums), np.int64)
                    self.change[slots.rows(slot)] += by
                else:
                    self.sums[row] += by
                    single.append(row)
        if self.change is not None:
            self.sums += self.change
        self.changed = np.array(single, np.intp) if single else _NO_ROWS


def _sum(arrays: Sequence[columns.IntArray]) -> columns.IntArray:
    """Return the sum, an array of its own."""
    first, *others = arrays
    total = first.copy()
    for each in others:
        total += each
    return total


def _few(values: columns.FloatArray, slots: Rows) -> list[float]:
    """Return `values` of few slots, those that are numbers."""
    if len(slots) == 0:
        return []
    return [value for value in values.take(slots).tolist() if value == value]  # noqa: PLR0124 - NaN is not itself


def _known(values: columns.FloatArray) -> columns.FloatArray:
    """Return `values`, (n,), those that are numbers."""
    if not np.isnan(values.min(initial=np.inf)):  # which is NaN if any is
        return values
    known: columns.FloatArray = values[~np.isnan(values)]
    return known
