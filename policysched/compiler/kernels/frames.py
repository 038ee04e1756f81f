"""What numbers are compared with, kept while single numbers come and go (`comparing.Frame`).

`points` has the same comparisons over all numbers at once; both round alike.
"""

from __future__ import annotations

import abc
import bisect
import itertools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from policysched.cluster import columns
from policysched.compiler.kernels import points
from policysched.framework import comparing

Counts: TypeAlias = Sequence[tuple[float, int]]
"""Numbers, each once, and how many there are of each."""
_FEW = 16
"""For so few numbers Python is faster than NumPy."""


class _Frame(abc.ABC):
    """Points of numbers, NaN for missing ones."""

    def __init__(self, missing: int) -> None:
        """Give `missing` hundredths to nodes without a number."""
        self._missing = missing

    def points(self, values: columns.FloatArray) -> columns.IntArray:
        """Return int64 (n,) hundredths."""
        is_missing = np.isnan(values)
        with np.errstate(over="ignore"):  # far outside of close bounds, where no node is feasible
            if not is_missing.any():
                return self._of_known(values)
            found = self._of_known(np.where(is_missing, 0.0, values))
        found[is_missing] = self._missing
        return found

    def point(self, value: float) -> int:
        """Return the same of one number."""
        return self._of_one(value) if value == value else self._missing  # noqa: PLR0124 - NaN is not

    @abc.abstractmethod
    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        """Return int64 (n,), an array of its own."""

    @abc.abstractmethod
    def _of_one(self, value: float) -> int: ...


class MinMax(_Frame):
    """`points.minmax`: the position between the smallest and the largest number."""

    def __init__(self, floor: float, missing: int, *, prefer_low: bool) -> None:
        """Take the arguments of `points.minmax`."""
        super().__init__(missing)
        self._floor = floor
        self._prefers_low = prefer_low
        self._set_bounds(0.0, 0.0)
        self._values: columns.FloatArray | None = None
        self._at_bounds = (0, 0)

    def begin(self, values: columns.FloatArray) -> comparing.Effect:
        """Compare with `values`."""
        before, self._values = self._bounds, values
        self._set_bounds(*_bounds_of(values))
        return comparing.effect(before != self._bounds)

    def _set_bounds(self, smallest: float, largest: float) -> None:
        self._bounds = smallest, largest
        span = max(largest / 2 - smallest / 2, self._floor / 2)
        self._halves = smallest / 2, largest / 2, span

    def _count(self, values: columns.FloatArray) -> None:
        """Count the numbers at the bounds, when that is first needed."""
        smallest, largest = self._bounds
        self._at_bounds = (_how_many(values, smallest), _how_many(values, largest))
        self._values = None

    def move(self, come: Sequence[float], gone: Sequence[float]) -> comparing.Effect:
        """Let numbers come, then others go."""
        if not self._is_counted():
            return comparing.Effect.UNKNOWN
        (smallest, largest), (lowest, highest) = self._bounds, self._at_bounds
        for value in come:
            if value <= smallest:
                lowest = lowest + 1 if value == smallest else 1
                smallest = value
            if value >= largest:
                highest = highest + 1 if value == largest else 1
                largest = value
        for value in gone:
            lowest -= value == smallest
            highest -= value == largest
        return self._moved((smallest, largest), (lowest, highest))

    def move_many(
        self, values: columns.FloatArray, come: comparing.Slots, gone: comparing.Slots
    ) -> comparing.Effect:
        """Do the same with some of `values`."""
        if not self._is_counted():
            return comparing.Effect.UNKNOWN
        (smallest, largest), (lowest, highest) = self._bounds, self._at_bounds
        if len(come):
            new = values.take(come)
            least, most = float(np.fmin.reduce(new)), float(np.fmax.reduce(new))
            if least <= smallest:
                lowest = _how_many(new, least) + (lowest if least == smallest else 0)
                smallest = least
            if most >= largest:
                highest = _how_many(new, most) + (highest if most == largest else 0)
                largest = most
        if len(gone):
            old = values.take(gone)
            lowest -= _how_many(old, smallest)
            highest -= _how_many(old, largest)
        return self._moved((smallest, largest), (lowest, highest))

    def _is_counted(self) -> bool:
        """Count the numbers at the bounds if need be; return whether there are any."""
        if self._values is not None:
            self._count(self._values)
        return self._at_bounds[0] > 0

    def _moved(self, bounds: tuple[float, float], at_bounds: tuple[int, int]) -> comparing.Effect:
        if not all(at_bounds):
            return comparing.Effect.UNKNOWN
        self._at_bounds = at_bounds
        if bounds == self._bounds:
            return comparing.Effect.SAME
        self._set_bounds(*bounds)
        return comparing.Effect.OTHER

    def replace(self, old: float, new: float) -> int | None:
        """Return the points of a number in the place of another, None where bounds may change."""
        smallest, largest = self._bounds
        if not smallest <= new <= largest:
            return None
        if self._values is not None:
            self._count(self._values)
        lowest, highest = self._at_bounds
        lowest += (new == smallest) - (old == smallest)
        highest += (new == largest) - (old == largest)
        if not (lowest and highest):
            return None
        self._at_bounds = lowest, highest
        return self._of_one(new)

    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        smallest, largest, span = self._halves
        if span == 0:
            return np.zeros(len(values), np.int64)
        halves = values / 2
        shares = (largest - halves if self._prefers_low else halves - smallest) / span
        return points.hundredths(np.minimum(np.maximum(shares, 0.0), 1.0))

    def _of_one(self, value: float) -> int:
        smallest, largest, span = self._halves
        if span == 0:
            return 0
        share = (largest - value / 2 if self._prefers_low else value / 2 - smallest) / span
        if share <= 0.0:
            return 0
        return round(share * points.FULL) if share < 1.0 else points.FULL


def _how_many(values: columns.FloatArray, value: float) -> int:
    """Return how many of `values` are `value`."""
    return int(np.count_nonzero(values == value))


def _counted(values: columns.FloatArray) -> Counts:
    """Return which numbers there are, without NaN, and how many of each.

    For some hundred numbers it takes a quarter of the time of `np.unique`.
    """
    ordered = np.sort(values[values == values])  # noqa: PLR0124 - NaN is not itself
    if len(ordered) == 0:
        return ()
    ends: list[int] = ((ordered[1:] != ordered[:-1]).nonzero()[0] + 1).tolist()
    bounds = itertools.pairwise([0, *ends, len(ordered)])
    return [(ordered.item(start), end - start) for start, end in bounds]


def _bounds_of(values: columns.FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest number, 0 where there is none."""
    if len(values) <= _FEW:
        few: list[float] = values.tolist()
        return min(few, default=0.0), max(few, default=0.0)
    return float(values.min()), float(values.max())


class Largest(_Frame):
    """`points.by_largest`: shares of the largest number."""

    def __init__(self, missing: int, *, prefer_low: bool) -> None:
        """Take the arguments of `points.by_largest`."""
        super().__init__(missing)
        self._prefers_low = prefer_low
        self._largest = 0.0
        self._count = 0

    def begin(self, values: columns.FloatArray) -> comparing.Effect:
        """Compare with `values`."""
        before = self._largest
        self._largest = float(values.max(initial=0.0))
        self._count = _how_many(values, self._largest)
        return comparing.effect(before != self._largest)

    def move(self, come: Sequence[float], gone: Sequence[float]) -> comparing.Effect:
        """Let numbers come, then others go."""
        largest, count = self._largest, self._count
        for value in come:
            if value >= largest:
                count = count + 1 if value == largest else 1
                largest = value
        return self._moved(largest, count - sum(value == largest for value in gone))

    def move_many(
        self, values: columns.FloatArray, come: comparing.Slots, gone: comparing.Slots
    ) -> comparing.Effect:
        """Do the same with some of `values`."""
        largest, count = self._largest, self._count
        if len(come):
            new = values.take(come)
            most = float(np.fmax.reduce(new))
            if most >= largest:
                count = _how_many(new, most) + (count if most == largest else 0)
                largest = most
        if len(gone):
            count -= _how_many(values.take(gone), largest)
        return self._moved(largest, count)

    def _moved(self, largest: float, count: int) -> comparing.Effect:
        if largest > 0 and count <= 0:
            return comparing.Effect.UNKNOWN
        before, self._largest, self._count = self._largest, largest, count
        return comparing.effect(before != largest)

    def replace(self, old: float, new: float) -> int | None:
        """Return the points of a number in the place of another, None where it is the largest."""
        if not (new < self._largest and old <= self._largest):
            return None
        if old == self._largest:
            if self._count <= 1:
                return None
            self._count -= 1
        return self._of_one(new)

    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        if self._largest == 0:
            return np.zeros(len(values), np.int64)
        shares = np.minimum(np.maximum(values, 0.0) / self._largest, 1.0)
        found = points.hundredths(shares)
        return points.FULL - found if self._prefers_low else found

    def _of_one(self, value: float) -> int:
        if self._largest == 0:
            return 0
        found = round(min(max(value, 0.0) / self._largest, 1.0) * float(points.FULL))
        return points.FULL - found if self._prefers_low else found


class Rank(_Frame):
    """`points.rank`: the position among the distinct numbers."""

    def __init__(self, missing: int, *, prefer_low: bool) -> None:
        """Take the arguments of `points.rank`."""
        super().__init__(missing)
        self._prefers_low = prefer_low
        self._distinct: list[float] = []
        self._counts: dict[float, int] = {}

    def begin(self, values: columns.FloatArray) -> comparing.Effect:
        """Compare with `values`."""
        before = self._distinct
        distinct, counts = np.unique(values, return_counts=True)
        self._distinct = distinct.tolist()
        self._counts = dict(zip(self._distinct, counts.tolist(), strict=True))
        return comparing.effect(before != self._distinct)

    def move(self, come: Sequence[float], gone: Sequence[float]) -> comparing.Effect:
        """Let numbers come, then others go."""
        return self._moved([(value, 1) for value in come], [(value, 1) for value in gone])

    def move_many(
        self, values: columns.FloatArray, come: comparing.Slots, gone: comparing.Slots
    ) -> comparing.Effect:
        """Do the same with some of `values`."""
        return self._moved(_counted(values.take(come)), _counted(values.take(gone)))

    def _moved(self, come: Counts, gone: Counts) -> comparing.Effect:
        counts, is_other = self._counts, False
        for value, count in come:
            if value not in counts:
                bisect.insort(self._distinct, value)
                is_other = True
            counts[value] = counts.get(value, 0) + count
        for value, count in gone:
            counts[value] -= count
            if not counts[value]:
                del counts[value]
                del self._distinct[bisect.bisect_left(self._distinct, value)]
                is_other = True
        return comparing.effect(is_other)

    def replace(self, old: float, new: float) -> int | None:
        """Return the points of a number in the place of another, None where ranks may change."""
        counts = self._counts
        if counts.get(old, 0) <= 1 or new not in counts:
            return None
        counts[old] -= 1
        counts[new] += 1
        return self._of_one(new)

    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        last = len(self._distinct) - 1
        if last <= 0:
            return np.zeros(len(values), np.int64)
        positions = np.arange(last + 1)
        steps = points.hundredths((last - positions if self._prefers_low else positions) / last)
        found = np.searchsorted(np.array(self._distinct), values)
        return steps[np.minimum(found, last)]

    def _of_one(self, value: float) -> int:
        last = len(self._distinct) - 1
        if last <= 0:
            return 0
        position = min(bisect.bisect_left(self._distinct, value), last)
        share = (last - position if self._prefers_low else position) / last
        return round(share * float(points.FULL))
