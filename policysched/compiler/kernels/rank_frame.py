"""The frame of ranks: which numbers there are, and how many of each."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from policysched.cluster.columns import columns
from policysched.compiler.kernels import points, points_frame
from policysched.framework import comparing

Counts: TypeAlias = Sequence[tuple[float, int]]
"""Numbers, each once, and how many there are of each."""


class Rank(points_frame.PointsFrame):
    """`points.rank`: the position among the distinct numbers."""

    def __init__(self, missing: int, *, prefer_low: bool) -> None:
        """Take the arguments of `points.rank`."""
        super().__init__(missing)
        self._prefers_low = prefer_low
        self._distinct: list[float] = []
        self._counts: dict[float, int] = {}

    def begin(self, values: columns.FloatArray, places: comparing.Places) -> bool:
        """Compare with the numbers of `places`."""
        before, compared = self._distinct, values.take(places.present)
        is_known = compared == compared  # noqa: PLR0124 - NaN is not itself
        distinct, counts = np.unique(compared[is_known], return_counts=True)
        self._distinct = distinct.tolist()
        self._counts = dict(zip(self._distinct, counts.tolist(), strict=True))
        return before != self._distinct

    def move(
        self,
        values: columns.FloatArray,
        places: comparing.Places,
        come: comparing.SlotNumbers,
        gone: comparing.SlotNumbers,
    ) -> bool:
        """Let numbers come, then others go."""
        del places
        return self._moved(
            _counted(values.take(come)) if len(come) else (),
            _counted(values.take(gone)) if len(gone) else (),
        )

    def _moved(self, come: Counts, gone: Counts) -> bool:
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
        return is_other

    def replace(
        self,
        values: columns.FloatArray,
        places: comparing.Places,
        slot: int,
        old: float,
        new: float,
    ) -> int | None:
        """Return the points of the number, None where it changes ranks."""
        if places.rows_in.item(slot):
            counts = self._counts
            if counts.get(old, 0) > 1 and new in counts:
                counts[old] -= 1
                counts[new] += 1
            elif self._moved(_alone(new), _alone(old)):
                return None
        return self.point(new)

    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        last = len(self._distinct) - 1
        if last <= 0:
            return np.zeros(len(values), np.int64)
        positions = np.arange(last + 1)
        steps = points.hundredths((last - positions if self._prefers_low else positions) / last)
        found = np.searchsorted(np.array(self._distinct), values)
        return steps[np.minimum(found, last)]

    def point(self, value: float) -> int:
        """Return the same of one number."""
        if value != value:  # noqa: PLR0124 - NaN is not itself
            return self._missing
        last = len(self._distinct) - 1
        if last <= 0:
            return 0
        position = min(bisect.bisect_left(self._distinct, value), last)
        share = (last - position if self._prefers_low else position) / last
        return round(share * float(points.FULL))


def _counted(values: columns.FloatArray) -> Counts:
    """Return which numbers there are, at least one, without NaN, and how many of each.

    For some hundred numbers it takes a quarter of the time of `np.unique`. `values` get sorted.
    """
    ordered = values
    ordered.sort()
    if math.isnan(ordered.item(-1)):  # NaN come last
        ordered = ordered[: ordered.searchsorted(math.nan)]
        if len(ordered) == 0:
            return ()
    ends: list[int] = ((ordered[1:] != ordered[:-1]).nonzero()[0] + 1).tolist()
    bounds = itertools.pairwise([0, *ends, len(ordered)])
    return [(ordered.item(start), end - start) for start, end in bounds]


def _alone(value: float) -> Counts:
    return [(value, 1)] if value == value else ()  # noqa: PLR0124 - NaN is not itself
