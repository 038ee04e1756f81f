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
_NO_ROWS: npt.NDArray[np.intp] = np.zeros(0, np.intp)


class ComparisonKind(enum.IntEnum):
    """What a number is compared with; `kernels.points.update_points` has the formulas."""

    MINMAX = kernels.MINMAX
    """The smallest and the largest number, in hundredths of a point."""
    LARGEST = kernels.LARGEST
    """The largest number, in hundredths."""
    MAXIMUM = kernels.MAXIMUM
    """The largest whole number, in whole points, as kube-scheduler does by default."""
    POINTS = kernels.POINTS
    """Nothing: the number is the score, in hundredths."""
    RANK = 4
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

    @property
    def kernel_kind(self) -> int:
        """What the kernel does with numbers, or with their positions for RANK."""
        return int(ComparisonKind.MINMAX if self.kind is ComparisonKind.RANK else self.kind)

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
        settings = [
            (each.kernel_kind, each.floor, each.missing, each.prefers_low, factor)
            for each, factor in zip(comparisons, factors, strict=True)
        ]
        self._settings = np.array(settings, np.float64)
        self._bounds = np.zeros((len(settings), 2))
        self._holders = np.zeros((len(settings), 2), np.int64)
        self._written = np.zeros((len(settings), 2))
        self._numbers = np.zeros((len(settings), 0))
        self._row_counts = np.zeros(0, np.int64)
        self._slot_of_row = _NO_ROWS
        self.points = np.zeros((len(settings), 0), np.int64)
        self.sums = np.zeros(0, np.int64)

    def begin(
        self,
        numbers: columns.FloatArray,
        row_counts: columns.IntArray,
        slot_of_row: npt.NDArray[np.intp] = _NO_ROWS,
    ) -> None:
        """Compare float64 (k, S) numbers of slots with `row_counts`, int64 (S,), feasible rows.

        Both arrays are written to from now on. `slot_of_row`, intp (N,), is needed for rows that
        become feasible later.
        """
        self._numbers, self._row_counts = np.ascontiguousarray(numbers), row_counts
        self._slot_of_row = slot_of_row
        self._written.fill(np.nan)
        self.points = np.zeros(numbers.shape, np.int64)
        self.sums = np.zeros(len(row_counts), np.int64)
        self.update(_NO_ROWS, np.zeros((len(numbers), 0)), _NO_ROWS, _NO_ROWS)

    def update(
        self,
        slots: npt.NDArray[np.intp],
        replacements: columns.FloatArray,
        came: npt.NDArray[np.intp],
        left: npt.NDArray[np.intp],
    ) -> None:
        """Take over the numbers of m slots, float64 (k, m), and rows that came or left.

        These became feasible, or are not feasible any more.
        """
        kernels.update_points(
            slots,
            replacements,
            came,
            left,
            self._slot_of_row,
            self._row_counts,
            self._numbers,
            self._bounds,
            self._holders,
            self._written,
            self._settings,
            self.points,
            self.sums,
        )
