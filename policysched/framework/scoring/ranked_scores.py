"""Points of a plugin that ranks nodes, kept for equal pods and patched where numbers changed."""

from __future__ import annotations

import bisect
import collections
import dataclasses

import numpy as np

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.framework import comparison
from policysched.framework.scoring import compared_scores


class RankedScores:
    """Weighted points by the position of a row's number among the distinct ones of feasible rows.

    Most changes leave the distinct numbers as they are; then single rows get other points.

    Attributes:
        names: the score name of the plugin.
        same: none, as rows are compared even if all numbers are equal.
    """

    same: None = None

    def __init__(self, source: compared_scores.Numbers, member: compared_scores.Member) -> None:
        """Rank the numbers of `member`, of which each row has its own."""
        self._source = source
        self._seen = change_log.ChangeLogCursor()
        self.names = (member.name,)
        self._factor = member.factor
        self._missing = member.comparison.missing * member.factor
        self._steps = dataclasses.replace(member.comparison, kind=comparison.ComparisonKind.MINMAX)
        self._numbers: columns.FloatArray = np.zeros(0)
        self._is_feasible: columns.BoolArray = np.zeros(0, np.bool_)
        self._changed: list[int] = []
        self._counts: dict[float, int] = {}
        self._distinct: list[float] = []
        self._are_distinct_others = True
        self._is_begun = False
        self._points_of_position: columns.IntArray = np.zeros(0, np.int64)
        self._points: columns.IntArray = np.zeros(0, np.int64)

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the numbers up to date."""
        source = self._source
        source.refresh(snap)
        changed = self._seen.read_changes(source.changes)
        if changed is None or source.values.shape[1] != len(self._numbers):
            self._numbers = np.array(source.values[0], np.float64)
            self._is_begun = False
            return
        for row in changed:
            number = source.values.item(0, row)
            if self._is_begun and self._is_feasible.item(row):
                self._count(number, 1)
                self._count(self._numbers.item(row), -1)
            self._numbers[row] = number
            self._changed.append(row)

    def add_to(self, totals: columns.IntArray, feasible: compared_scores.FeasibleRows) -> None:
        """Add to int64 (N,) the points of each row."""
        if not self._is_begun or feasible.came is None or feasible.left is None:
            self._counts, self._distinct = {}, []
            self._is_feasible = np.zeros(len(self._numbers), np.bool_)
            self._move(feasible.rows, is_feasible=True)
            self._is_begun = self._are_distinct_others = True
        elif not feasible.are_still:
            self._move(feasible.came, is_feasible=True)
            self._move(feasible.left, is_feasible=False)
        if self._are_distinct_others:
            self._rank_all()
        else:
            for row in self._changed:
                self._points[row] = self._find_points(self._numbers.item(row))
        self._changed = []
        totals += self._points

    @property
    def table(self) -> tuple[columns.IntArray, None]:
        """Int64 (1, N) hundredths as of the last `add_to`."""
        return self._points[np.newaxis], None

    def _move(self, rows: compared_scores.Rows, *, is_feasible: bool) -> None:
        self._is_feasible[rows] = is_feasible
        moved = collections.Counter(self._numbers.take(rows).tolist())
        for number, count in moved.items():
            self._count(number, count if is_feasible else -count)

    def _count(self, number: float, by: int) -> None:
        """Count feasible rows with a number; NaN does not count."""
        if number != number:  # noqa: PLR0124 - NaN is not itself
            return
        before = self._counts.get(number, 0)
        self._counts[number] = before + by
        if before and before + by:
            return
        self._are_distinct_others = True
        if before:
            del self._counts[number]
            del self._distinct[bisect.bisect_left(self._distinct, number)]
        else:
            bisect.insort(self._distinct, number)

    def _rank_all(self) -> None:
        positions = np.arange(max(len(self._distinct), 1))
        self._points_of_position = self._steps.compare(positions) * self._factor
        found = np.searchsorted(np.array(self._distinct), self._numbers)
        self._points = self._points_of_position.take(found, mode="clip")
        self._points[np.isnan(self._numbers)] = self._missing
        self._are_distinct_others = False

    def _find_points(self, number: float) -> int:
        if number != number:  # noqa: PLR0124 - NaN is not itself
            return self._missing
        position = bisect.bisect_left(self._distinct, number)
        last = len(self._points_of_position) - 1
        return self._points_of_position.item(min(position, last))
