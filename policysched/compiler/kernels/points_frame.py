"""What numbers are compared with, kept while single numbers come and go (`comparing.Frame`).

`points` has the same comparisons over all numbers at once; both round alike. `bound_frames` go by
the smallest or largest numbers, `rank_frame` by all of them.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np

from policysched.cluster.columns import columns


class PointsFrame(abc.ABC):
    """Points of numbers, NaN for missing ones."""

    def __init__(self, missing: int) -> None:
        """Give `missing` hundredths to nodes without a number."""
        self._missing = missing
        self.holders: Sequence[int] = ()

    def points(self, values: columns.FloatArray) -> columns.IntArray:
        """Return int64 (n,) hundredths."""
        is_missing = np.isnan(values)
        with np.errstate(over="ignore"):  # far outside of close bounds, where no node is feasible
            if not is_missing.any():
                return self._of_known(values)
            found = self._of_known(np.where(is_missing, 0.0, values))
        found[is_missing] = self._missing
        return found

    @abc.abstractmethod
    def _of_known(self, values: columns.FloatArray) -> columns.IntArray:
        """Return int64 (n,), an array of its own."""

    @abc.abstractmethod
    def point(self, value: float) -> int:
        """Return the same of one number."""
