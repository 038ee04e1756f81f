"""Scores from requested and allocatable resources.

Arrays are int64 (k, n): k resources of n nodes, `requested` with the incoming pod counted. A
resource that a node does not have (allocatable 0) is left out for that node. Amounts near 2⁶³
overflow as kube-scheduler's do, and scores are out of range then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.framework import interface
from policysched.plugins.kernels import go_math

FULL_UTILIZATION = 100
_LARGE = 2**55
"""A hundred times less is far from 2⁶³."""
_EXACT = 2**53
"""Up to here integers are divided as the float64 that arrays make of them first."""
_FULL_SCORE = float(interface.MAX_NODE_SCORE)
_PAIR = 2
"""Two resources have a formula of their own."""


class Strategy(Protocol):
    """How NodeResourcesFit turns utilisation into points."""

    def __call__(
        self,
        requested: columns.IntArray,
        allocatable: columns.IntArray,
        weights: columns.IntArray,
    ) -> columns.IntArray:
        """Return int64 (n,), 0 to 100; `weights` is int64 (k,)."""
        ...


def least_allocated(
    requested: columns.IntArray, allocatable: columns.IntArray, weights: columns.IntArray
) -> columns.IntArray:
    """Return the weighted mean of `(allocatable - requested) × 100 / allocatable`, rounded down.

    Twice: each resource, then the mean. More requested than allocatable counts 0.
    Source: `noderesources/least_allocated.go`. Example: 1 of 4 CPUs, weight 1 → 75.
    """
    free = np.where(requested > allocatable, 0, allocatable - requested)
    points = go_math.divide(free * interface.MAX_NODE_SCORE, np.maximum(allocatable, 1))
    return _weighted_mean(points, allocatable != 0, weights)


def most_allocated(
    requested: columns.IntArray, allocatable: columns.IntArray, weights: columns.IntArray
) -> columns.IntArray:
    """Return the weighted mean of `requested × 100 / allocatable`, rounded down twice.

    Source: `noderesources/most_allocated.go`. Example: 1 of 4 CPUs, weight 1 → 25.
    """
    used = np.minimum(requested, allocatable)
    points = go_math.divide(used * interface.MAX_NODE_SCORE, np.maximum(allocatable, 1))
    return _weighted_mean(points, allocatable != 0, weights)


def of_rows(
    strategy: Strategy, scored: Sequence[tuple[int, bool, int, int]], by_arrays: interface.RowScorer
) -> interface.RowScorer:
    """Return what gives the points of least or most allocated for one node after the other.

    `scored` are columns of resources, whether defaults count there, what the pod asks for, and
    weights. `by_arrays` is asked for other strategies, and about amounts near an overflow.
    """
    is_least = strategy is least_allocated
    if not is_least and strategy is not most_allocated:
        return by_arrays

    def points(node: snapshot.NodeRow) -> int:
        sizes, used, with_defaults = node.allocatable, node.requested, node.nonzero_requested
        total = weights = 0
        for column, counts_defaults, asked, weight in scored:
            size = sizes[column]
            requested = (with_defaults if counts_defaults else used)[column] + asked
            if not (0 <= requested < _LARGE and 0 <= size < _LARGE):
                return by_arrays(node)
            if size:
                is_full = requested >= size
                if is_least:
                    counted = 0 if is_full else size - requested
                else:
                    counted = size if is_full else requested
                total += weight * (counted * interface.MAX_NODE_SCORE // size)
                weights += weight
        return total // weights if weights else 0

    return points


class RequestedToCapacityRatio:
    """The weighted mean of a broken line over the utilisation; resources with 0 points left out.

    Source: `noderesources/requested_to_capacity_ratio.go`.
    """

    def __init__(self, shape: Sequence[tuple[int, int]]) -> None:
        """Take the line's corners as (utilisation in percent, points 0..100), increasing."""
        self._points = broken_line(shape)

    def __call__(
        self,
        requested: columns.IntArray,
        allocatable: columns.IntArray,
        weights: columns.IntArray,
    ) -> columns.IntArray:
        """Return `round(Σ weight × points / Σ weight)`, halves up."""
        used = np.minimum(requested, allocatable)
        percent = used * FULL_UTILIZATION // np.maximum(allocatable, 1)
        points = self._points[np.clip(percent, 0, FULL_UTILIZATION)]
        counted = (allocatable != 0) & (points > 0)
        weight_sum = weights @ counted
        total = weights @ (points * counted)
        mean: columns.FloatArray = total / np.maximum(weight_sum, 1)
        return go_math.round_half_up(mean)


def broken_line(shape: Sequence[tuple[int, int]]) -> columns.IntArray:
    """Return int64 (101,): the points of each whole percent of utilisation.

    Flat outside the corners, between them `y0 + (y1 - y0) × (x - x0) / (x1 - x0)` with the quotient
    rounded towards 0. Source: `plugins/helper/shape_score.go`.
    """
    return np.array([_on_line(shape, x) for x in range(FULL_UTILIZATION + 1)], np.int64)


def _on_line(shape: Sequence[tuple[int, int]], x: int) -> int:
    before: tuple[int, int] | None = None
    for x1, y1 in shape:
        if x <= x1:
            if before is None:
                return y1
            x0, y0 = before
            rise = abs(y1 - y0) * (x - x0) // (x1 - x0)
            return y0 + rise if y1 >= y0 else y0 - rise
        before = (x1, y1)
    return shape[-1][1]


def balanced_allocation(
    requested: columns.IntArray, allocated: columns.IntArray, allocatable: columns.IntArray
) -> columns.IntArray:
    """Return `50 + (50 + balance with the pod - balance without it) / 2`, rounded down.

    The more evenly the pod leaves resources used, the more points; 75 when it changes nothing.
    Source: `noderesources/balanced_allocation.go`, balancedResourceScorer.
    """
    half = interface.MAX_NODE_SCORE // 2
    gain = balance(requested, allocatable) - balance(allocated, allocatable)
    return half + go_math.divide(half + gain, np.array(2))


def balance_of_rows(
    counted: Sequence[tuple[int, int]], by_arrays: interface.RowScorer
) -> interface.RowScorer:
    """Return what gives the points of `balanced_allocation` for one node after the other.

    `counted` are columns of resources and what the pod asks for. `by_arrays` is asked unless there
    are two of them, and about amounts that float64 does not hold exactly.
    """
    if len(counted) != _PAIR:
        return by_arrays
    (one_column, one_asked), (other_column, other_asked) = counted
    half = interface.MAX_NODE_SCORE // 2

    def points(node: snapshot.NodeRow) -> int:
        used, sizes = node.requested, node.allocatable
        one, other = used[one_column], used[other_column]
        one_after, other_after = one + one_asked, other + other_asked
        one_size, other_size, gain = sizes[one_column], sizes[other_column], 0
        if not (
            -_EXACT < one <= one_after < _EXACT > one_size > -_EXACT
            and -_EXACT < other <= other_after < _EXACT > other_size > -_EXACT
        ):
            return by_arrays(node)
        if one_size and other_size:
            gain = _balance_of_pair(one_after / one_size, other_after / other_size)
            gain -= _balance_of_pair(one / one_size, other / other_size)
        return half + int((half + gain) / 2)

    return points


def _balance_of_pair(one_share: float, other_share: float) -> int:
    if one_share > 1:
        one_share = 1.0
    if other_share > 1:
        other_share = 1.0
    return int((1 - abs((one_share - other_share) / 2)) * _FULL_SCORE)


def balance(requested: columns.IntArray, allocatable: columns.IntArray) -> columns.IntArray:
    """Return int64 (n,): `int((1 - standard deviation of the used fractions) × 100)`.

    For two resources the deviation is half their distance, for one it is 0. Fractions end at 1.
    Source: `noderesources/balanced_allocation.go`, balancedResourceScore.
    """
    counted = allocatable != 0
    fractions = np.minimum(requested / np.where(counted, allocatable, 1), 1.0) * counted
    if len(fractions) == _PAIR:
        deviation = np.where(counted.all(axis=0), np.abs((fractions[0] - fractions[1]) / 2), 0.0)
    else:
        deviation = _deviation(fractions, counted)
    return ((1 - deviation) * np.float64(interface.MAX_NODE_SCORE)).astype(np.int64)


def _deviation(fractions: columns.FloatArray, counted: columns.BoolArray) -> columns.FloatArray:
    """Return float64 (n,): the deviation of each node's counted fractions; the others are 0.

    Sums run over the resources in order, as in Go, so that float rounding is the same.
    """
    count = counted.sum(axis=0)
    divisor = np.maximum(count, 1)
    total = np.zeros(len(count))
    distance = np.zeros(len(count))
    sign = np.ones(len(count))
    for fraction, counts in zip(fractions, counted, strict=True):
        total += fraction
        distance += sign * fraction
        sign = np.where(counts, -sign, sign)
    mean = total / divisor
    squares = np.zeros(len(count))
    for fraction, counts in zip(fractions, counted, strict=True):
        squares += np.where(counts, (fraction - mean) * (fraction - mean), 0.0)
    deviation = np.where(count == _PAIR, np.abs(distance / 2), np.sqrt(squares / divisor))
    return np.where(count > 1, deviation, 0.0)


def _weighted_mean(
    points: columns.IntArray, counted: columns.BoolArray, weights: columns.IntArray
) -> columns.IntArray:
    weight_sum = weights @ counted
    return go_math.divide(weights @ (points * counted), np.maximum(weight_sum, 1))
