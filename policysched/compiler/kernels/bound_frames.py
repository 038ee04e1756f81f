"""Frames of bounds: what the smallest and the largest number make of all others.

A bound is kept with a slot that holds it: while that one stays and nothing beyond the bound comes,
there is nothing to do.
"""

from __future__ import annotations

import math

import numpy as np

from policysched.cluster.columns import columns
from policysched.compiler.kernels import points, points_frame
from policysched.framework import comparing

_NOBODY = -1
"""Stands for the slot that holds a bound where there is none."""
_FEW = 16
"""So few numbers are looked at faster one by one."""


class MinMax(points_frame.PointsFrame):
    """`points.minmax`: the position between the smallest and the largest number."""

    def __init__(self, floor: float, missing: int, *, prefer_low: bool) -> None:
        """Take the arguments of `points.minmax`."""
        super().__init__(missing)
        self._floor = floor
        self._prefers_low = prefer_low
        self._every = (math.inf, -math.inf)
        self._hold(0.0, 0.0, _NOBODY, _NOBODY)

    def begin(self, values: columns.FloatArray, places: comparing.Places) -> bool:
        """Compare with the numbers of `places`; note what no slot at all goes beyond."""
        if len(values) <= _FEW:
            return self._begin_few(values.tolist(), places.rows_in.tolist())
        before, present = self._bounds, places.present
        compared = values.take(present)
        smallest, largest = _extremes(compared)
        self._every = _extremes(values)
        if smallest <= largest:
            low, high = _first(compared, smallest, present), _first(compared, largest, present)
            self._hold(smallest, largest, low, high)
        else:  # there is no number
            self._hold(0.0, 0.0, _NOBODY, _NOBODY)
        return before != self._bounds

    def _begin_few(self, values: list[float], rows_in: list[int]) -> bool:
        """Do the same with few numbers."""
        before = self._bounds
        known = [slot for slot, value in enumerate(values) if value == value]  # noqa: PLR0124 - NaN is not itself
        told = [values[slot] for slot in known]
        self._every = min(told, default=math.inf), max(told, default=-math.inf)
        compared = [slot for slot in known if rows_in[slot]]
        if compared:
            low, high = min(compared, key=values.__getitem__), max(compared, key=values.__getitem__)
            self._hold(values[low], values[high], low, high)
        else:
            self._hold(0.0, 0.0, _NOBODY, _NOBODY)
        return before != self._bounds

    def _hold(self, smallest: float, largest: float, low: int, high: int) -> None:
        """Go by bounds that these slots hold."""
        self._bounds = smallest, largest
        self._low_high = low, high
        span = max(largest / 2 - smallest / 2, self._floor / 2)
        self._halves = smallest / 2, largest / 2, span
        self._look_beyond()

    def _look_beyond(self) -> None:
        """Name the slots that hold bounds if nothing beyond these can come."""
        (least, most), (smallest, largest) = self._every, self._bounds
        is_closed = smallest <= least and most <= largest and self._low_high[0] != _NOBODY
        self.holders = self._low_high if is_closed else ()

    def move(
        self,
        values: columns.FloatArray,
        places: comparing.Places,
        come: comparing.SlotNumbers,
        gone: comparing.SlotNumbers,
    ) -> bool:
        """Let numbers come, then others go."""
        before, (low, high) = self._bounds, self._low_high
        if low == _NOBODY:
            return self.begin(values, places)
        (smallest, largest), (least, most) = before, self._every
        if len(come) and (least < smallest or most > largest):
            new = values.take(come)
            least, most = _extremes(new)
            if least < smallest:
                smallest, low = least, _first(new, least, come)
            if most > largest:
                largest, high = most, _first(new, most, come)
        if len(gone):
            rows_in = places.rows_in
            low = low if rows_in.item(low) else _slot_with(values, smallest, places)
            high = high if rows_in.item(high) else _slot_with(values, largest, places)
            if _NOBODY in (low, high):
                return self.begin(values, places)
        self._hold(smallest, largest, low, high)
        return before != self._bounds

    def replace(
        self,
        values: columns.FloatArray,
        places: comparing.Places,
        slot: int,
        old: float,
        new: float,
    ) -> int | None:
        """Return the points of the number, None where it changes bounds."""
        (smallest, largest), (low, high) = self._bounds, self._low_high
        if slot in (low, high) or not smallest <= new <= largest:
            least, most = self._every
            if new < least or new > most:
                self._every = min(least, new), max(most, new)
                self._look_beyond()
            if places.rows_in.item(slot) and self._takes(values, places, slot, new):
                return None
        return self.point(new)

    def _takes(
        self, values: columns.FloatArray, places: comparing.Places, slot: int, new: float
    ) -> bool:
        """Take over the number of a slot that holds a bound or exceeds it; return if one moves."""
        before, (low, high) = self._bounds, self._low_high
        if low == _NOBODY or len(values) <= _FEW:
            return self.begin(values, places)
        smallest, largest = before
        if new < smallest:
            smallest, low = new, slot
        elif low == slot and new != smallest:
            low = _slot_with(values, smallest, places)
        if new > largest:
            largest, high = new, slot
        elif high == slot and new != largest:
            high = _slot_with(values, largest, places)
        if _NOBODY in (low, high):
            return self.begin(values, places)
        self._hold(smallest, largest, low, high)
        return before != self._bounds

    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        smallest, largest, span = self._halves
        if span == 0:
            return np.zeros(len(values), np.int64)
        halves = values / 2
        shares = (largest - halves if self._prefers_low else halves - smallest) / span
        return points.hundredths(np.minimum(np.maximum(shares, 0.0), 1.0))

    def point(self, value: float) -> int:
        """Return the same of one number."""
        smallest, largest, span = self._halves
        if value != value:  # noqa: PLR0124 - NaN is not itself
            return self._missing
        if span == 0:
            return 0
        share = (largest - value / 2 if self._prefers_low else value / 2 - smallest) / span
        if share <= 0.0:
            return 0
        return round(share * points.FULL) if share < 1.0 else points.FULL


class Largest(points_frame.PointsFrame):
    """`points.by_largest`: shares of the largest number, which is at least 0."""

    def __init__(self, missing: int, *, prefer_low: bool) -> None:
        """Take the arguments of `points.by_largest`."""
        super().__init__(missing)
        self._prefers_low = prefer_low
        self._every = -math.inf
        self._hold(0.0, _NOBODY)

    def begin(self, values: columns.FloatArray, places: comparing.Places) -> bool:
        """Compare with the numbers of `places`; note what no slot at all goes beyond."""
        before = self._largest
        compared = values.take(places.present)
        largest = float(np.fmax.reduce(compared, initial=0.0))
        self._every = float(np.fmax.reduce(values, initial=-math.inf))
        self._hold(largest, _first(compared, largest, places.present) if largest else _NOBODY)
        return before != largest

    def _hold(self, largest: float, holder: int) -> None:
        """Go by a largest number that a slot holds; name that one if no larger one can come."""
        self._largest, self._holder = largest, holder
        self.holders = (holder,) if self._every <= largest and holder != _NOBODY else ()

    def move(
        self,
        values: columns.FloatArray,
        places: comparing.Places,
        come: comparing.SlotNumbers,
        gone: comparing.SlotNumbers,
    ) -> bool:
        """Let numbers come, then others go."""
        before, holder = self._largest, self._holder
        if len(come) and self._every > before:
            new = values.take(come)
            most = float(np.fmax.reduce(new))
            if most > before:
                self._hold(most, _first(new, most, come))
                return True
        if len(gone) and holder != _NOBODY and not places.rows_in.item(holder):
            return self._lost(values, places)
        return False

    def replace(
        self,
        values: columns.FloatArray,
        places: comparing.Places,
        slot: int,
        old: float,
        new: float,
    ) -> int | None:
        """Return the points of the number, None where it changes the largest."""
        if new > self._largest:
            self._every = max(self._every, new)
            self._hold(self._largest, self._holder)
        if places.rows_in.item(slot):
            if new > self._largest:
                self._hold(new, slot)
                return None
            if slot == self._holder and new != self._largest and self._lost(values, places):
                return None
        return self.point(new)

    def _lost(self, values: columns.FloatArray, places: comparing.Places) -> bool:
        """Look for another slot with the largest number; return whether that is another one."""
        holder = _slot_with(values, self._largest, places)
        if holder == _NOBODY:
            return self.begin(values, places)
        self._hold(self._largest, holder)
        return False

    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        if self._largest == 0:
            return np.zeros(len(values), np.int64)
        shares = np.minimum(np.maximum(values, 0.0) / self._largest, 1.0)
        found = points.hundredths(shares)
        return points.FULL - found if self._prefers_low else found

    def point(self, value: float) -> int:
        """Return the same of one number."""
        if value != value:  # noqa: PLR0124 - NaN is not itself
            return self._missing
        if self._largest == 0:
            return 0
        found = round(min(max(value, 0.0) / self._largest, 1.0) * float(points.FULL))
        return points.FULL - found if self._prefers_low else found


def _extremes(values: columns.FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest number, inf and -inf where there is none."""
    return (
        float(np.fmin.reduce(values, initial=math.inf)),
        float(np.fmax.reduce(values, initial=-math.inf)),
    )


def _first(values: columns.FloatArray, value: float, slots: comparing.SlotNumbers) -> int:
    """Return the first of `slots` whose number among `values` is `value`; there is one."""
    return slots.item((values == value).argmax())


def _slot_with(values: columns.FloatArray, value: float, places: comparing.Places) -> int:
    """Return a slot that is compared and has the number `value`, `_NOBODY` where none has it."""
    has = values == value
    slot = int(has.argmax())
    if has.item(slot) and places.rows_in.item(slot):
        return slot
    has &= places.rows_in > 0
    slot = int(has.argmax())
    return slot if has.item(slot) else _NOBODY
