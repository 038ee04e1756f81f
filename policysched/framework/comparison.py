"""How the number of a node becomes points by comparison with those of other nodes."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns
from policysched.kernels import points as kernels

FULL = 10_000
"""100 points, in hundredths."""


class ComparisonKind(enum.IntEnum):
    """What a number is compared with; `kernels.points.write_points` has the formulas."""

    MINMAX = kernels.MINMAX
    """The smallest and the largest number, in hundredths of a point."""
    LARGEST = kernels.LARGEST
    """The largest number, in hundredths."""
    MAXIMUM = kernels.MAXIMUM
    """The largest whole number, in whole points, as kube-scheduler does by default."""
    RANK = 3
    """All numbers: the position among the distinct ones in even steps, in hundredths."""


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """How numbers of the feasible nodes become final scores.

    Attributes:
        prefers_low: whether the smallest number gets most.
        missing: the final score of a node without a number (NaN).
        floor: of MINMAX: bounds that are closer count as this far apart.
    """

    kind: ComparisonKind
    prefers_low: bool = False
    missing: int = 0
    floor: float = 0.0

    def compare(self, numbers: npt.NDArray[np.float64] | columns.IntArray) -> columns.IntArray:
        """Return int64 (f,): final scores for the numbers of the f feasible nodes.

        Example: MINMAX with `floor` 4 makes [0, 2500, 5000] of [1.0, 2.0, 3.0].
        """
        values = numbers.astype(np.float64)
        if self.kind is ComparisonKind.RANK:
            values = _find_positions(values)
        table = PointTable([self], [1])
        table.begin(values[np.newaxis], np.ones(len(values), np.int64))
        return table.sums


def _find_positions(values: columns.FloatArray) -> columns.FloatArray:
    """Return float64 (f,): the position of each number among the distinct ones; NaN stays."""
    is_known = ~np.isnan(values)
    positions = np.full(len(values), np.nan)
    positions[is_known] = np.unique(values[is_known], return_inverse=True)[1]
    return positions


class PointTable:
    """Weighted points of k scores by slot: a row, or a topology domain that many rows share.

    A rank is a MINMAX of positions, which the caller has to find.

    Attributes:
        points: int64 (k, S) hundredths; those of slots without a feasible row mean nothing.
        sums: int64 (S,), the sum over all scores.
    """

    def __init__(self, comparisons: Sequence[Comparison], factors: Sequence[int]) -> None:
        """Compare by `comparisons`; a unit of each counts one of `factors`."""
        count = len(comparisons)
        is_rank = [each.kind is ComparisonKind.RANK for each in comparisons]
        kinds = np.array([each.kind for each in comparisons], np.int32)
        self._kinds = np.where(is_rank, kernels.MINMAX, kinds).astype(np.int32)
        settings = [(each.floor, each.missing, each.prefers_low) for each in comparisons]
        self._settings = np.array(settings, np.float64)
        self._factors = np.array(factors, np.int64)
        self._scores = np.arange(count)
        self._bounds = np.zeros((count, 2))
        self._told = b""
        self._is_lost = False
        self._holders = np.zeros((count, 2), np.int64)
        self._numbers = np.zeros((count, 0))
        self._row_counts = np.zeros(0, np.int64)
        self._every = np.arange(0)
        self.points = np.zeros((count, 0), np.int64)
        self.sums = np.zeros(0, np.int64)

    def begin(self, numbers: columns.FloatArray, row_counts: columns.IntArray) -> None:
        """Compare float64 (k, S) numbers of slots with `row_counts`, int64 (S,), feasible rows.

        Both arrays are written to from now on.
        """
        self._numbers, self._row_counts = np.ascontiguousarray(numbers), row_counts
        self._every = np.arange(len(row_counts))
        self.points = np.zeros(numbers.shape, np.int64)
        self.sums = np.zeros(len(row_counts), np.int64)
        self._find_bounds(self._scores)
        self._write(self._scores, self._every)
        self._told = self._bounds.tobytes()

    def replace_numbers(
        self, slots: npt.NDArray[np.intp], replacements: columns.FloatArray
    ) -> None:
        """Take over the numbers of m slots, float64 (m, k)."""
        self._is_lost |= kernels.replace_numbers(
            slots, replacements, self._row_counts, self._numbers, self._bounds, self._holders
        )

    def move_rows(
        self,
        came: npt.NDArray[np.intp],
        left: npt.NDArray[np.intp],
        slot_of_row: npt.NDArray[np.intp],
    ) -> None:
        """Take note of rows that became feasible, and of others that are not feasible any more."""
        self._is_lost |= kernels.move_rows(
            came,
            left,
            slot_of_row,
            self._row_counts,
            self._numbers,
            self._bounds,
            self._holders,
        )

    def update_points(self, slots: npt.NDArray[np.intp]) -> None:
        """Bring the points up to date; `slots` have other numbers than before."""
        if self._is_lost:
            self._find_bounds((self._holders == 0).any(axis=1).nonzero()[0])
            self._is_lost = False
        bounds = self._bounds.tobytes()
        if bounds != self._told:
            before = np.frombuffer(self._told).reshape(self._bounds.shape)
            self._write((before != self._bounds).any(axis=1).nonzero()[0], self._every)
            self._told = bounds
        if len(slots):
            self._write(self._scores, slots)

    def _find_bounds(self, scores: npt.NDArray[np.intp]) -> None:
        kernels.find_bounds(scores, self._numbers, self._row_counts, self._bounds, self._holders)

    def _write(self, scores: npt.NDArray[np.intp], slots: npt.NDArray[np.intp]) -> None:
        kernels.write_points(
            scores,
            slots,
            self._kinds,
            self._settings,
            self._factors,
            self._numbers,
            self._bounds,
            self.points,
            self.sums,
        )
