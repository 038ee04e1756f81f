"""Numbers become points: hundredths of a point, 0 to 10,000, rounded to the nearest (half to even).

Equal numbers get equal points, so ties are exact. Numbers are halved before they are subtracted
from each other, which is exact and keeps differences of huge ones finite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.cluster.columns import columns

FULL = 10_000
"""100 points."""


def hundredths(shares: columns.FloatArray) -> columns.IntArray:
    """Return shares of 100 points, 0 to 1, as hundredths."""
    return np.rint(shares * float(FULL)).astype(np.int64)


def linear(values: columns.FloatArray, low: float, high: float) -> columns.IntArray:
    """Return `(v - low) / (high - low)` of 100 points, inside 0 to 100.

    Example: linear([0.3, 1.2], 0, 0.9) is [3333, 10000]. With equal bounds, or such that are next
    to each other near 0, it is a step. Far outside of close bounds it overflows, which does no
    harm; NumPy must not warn of it.
    """
    if low / 2 == high / 2:
        return FULL * (values >= high).astype(np.int64)
    shares = (values / 2 - low / 2) / (high / 2 - low / 2)
    return hundredths(np.minimum(np.maximum(shares, 0.0), 1.0))  # np.clip is slow on a few rows


def shape(values: columns.FloatArray, corners: Sequence[tuple[float, int]]) -> columns.IntArray:
    """Return the points on the line through (value, points), flat outside.

    Example: shape([5.0], [(0, 0), (10, 100)]) is [5000]. Between values next to each other near 0
    it is a step.
    """
    xs = np.array([x for x, _ in corners])
    ys = np.array([y for _, y in corners], np.float64)
    if len(corners) == 1:
        return np.full(values.shape, FULL * corners[0][1] // 100, np.int64)
    inside = np.clip(values, xs[0], xs[-1])
    left = np.clip(np.searchsorted(xs, inside, side="right") - 1, 0, len(xs) - 2)
    spans = xs[left + 1] / 2 - xs[left] / 2
    steps = (inside >= xs[left + 1]).astype(np.float64)
    share = np.divide(inside / 2 - xs[left] / 2, spans, out=steps, where=spans > 0)
    return hundredths((ys[left] + (ys[left + 1] - ys[left]) * share) / 100)


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
