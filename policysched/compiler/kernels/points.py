"""Numbers become points: hundredths of a point, 0 to 10,000, rounded to the nearest (half to even).

Equal numbers get equal points, so ties are exact. Numbers are halved before they are subtracted
from each other, which is exact and keeps differences of huge ones finite.
"""

from __future__ import annotations

import numpy as np

from policysched.cluster.columns import columns

FULL = 10_000
"""100 points."""


def hundredths(shares: columns.FloatArray) -> columns.IntArray:
    """Return shares of 100 points, 0 to 1, as hundredths."""
    return np.rint(shares * float(FULL)).astype(np.int64)


def minmax(values: columns.FloatArray, floor: float, *, prefer_low: bool) -> columns.IntArray:
    """Return the position between the smallest and the largest value, which are `floor` apart.

    `(v - smallest) / max(largest - smallest, floor)`, or `(largest - v) / …` for low; all 0 where
    the span is 0. Example: minmax([1.0, 2.0, 3.0], 4, prefer_low=True) is [5000, 2500, 0].
    """
    if len(values) == 0:
        return np.zeros(0, np.int64)
    halves = values / 2
    smallest, largest = halves.min(), halves.max()
    span = max(largest - smallest, floor / 2)
    if span == 0:
        return np.zeros(len(values), np.int64)
    low, high = (halves, largest) if prefer_low else (smallest, halves)
    shares: columns.FloatArray = np.subtract(high, low, out=halves)
    shares /= span
    return hundredths(shares)


def rank(values: columns.FloatArray, *, prefer_low: bool) -> columns.IntArray:
    """Return the position among the distinct values in even steps; a single value gets 0.

    Example: rank([7.0, 1.0, 7.0, 3.0], prefer_low=False) is [10000, 0, 10000, 5000].
    """
    distinct, position = np.unique(values, return_inverse=True)
    last = len(distinct) - 1
    if last <= 0:
        return np.zeros(len(values), np.int64)
    return hundredths((last - position if prefer_low else position) / last)


def by_largest(values: columns.FloatArray, *, prefer_low: bool) -> columns.IntArray:
    """Return `v / largest`, or 100 points minus that; below 0 counts as 0, largest 0 gives all 0.

    Example: by_largest([1.0, 4.0], prefer_low=True) is [7500, 0].
    """
    largest = values.max(initial=0.0)
    if largest == 0:
        return np.zeros(len(values), np.int64)
    found = hundredths(np.maximum(values, 0.0) / largest)
    return FULL - found if prefer_low else found
