"""Raw scores brought into the range 0 to 100."""

from __future__ import annotations

import numpy as np

from policysched.cluster.columns import columns
from policysched.framework import interface

_FEW_SCORES = 2
"""So many nodes a possible score make it worthwhile to look points up."""


def by_range(scores: columns.IntArray) -> columns.IntArray:
    """Return int64 (f,): the position of each score between the smallest (0) and largest (100).

    `int(100 × ((score - smallest) / (largest - smallest)))` in float64, all 0 when they are equal.
    Source: `interpodaffinity/scoring.go`, NormalizeScore. Example: [-2, 0, 2] → [0, 50, 100].
    """
    if len(scores) == 0:
        return scores
    smallest, span = range_of(scores)
    return in_range(scores, smallest, span) if span else np.zeros(len(scores), np.int64)


def range_of(scores: columns.IntArray) -> tuple[int, int]:
    """Return the smallest score, and how far the largest is from it; there is at least one."""
    smallest = scores.item(scores.argmin())  # faster than `min`
    return smallest, scores.item(scores.argmax()) - smallest


def in_range(
    scores: columns.IntArray, smallest: int, span: int, factor: int = 1
) -> columns.IntArray:
    """Return int64 (n,): `factor` times the points of `by_range`, for a `span` above 0."""
    above = scores - smallest
    if span * _FEW_SCORES < len(scores):  # each possible score once, then one pass
        return in_range(np.arange(span + 1), 0, span, factor).take(above)
    position = above.astype(np.float64) / np.float64(span)
    return (np.float64(interface.MAX_NODE_SCORE) * position).astype(np.int64) * factor
