"""Topology spread as arithmetic on domains. Tables have D + 1 entries, see `kernels.domains`.

Sources: `plugins/podtopologyspread/filtering.go`, `scoring.go`.
"""

from __future__ import annotations

import numpy as np

from policysched.cluster import columns
from policysched.framework import interface
from policysched.plugins.kernels import go_math


def violating_domains(
    counts: columns.FloatArray,
    is_eligible: columns.BoolArray,
    *,
    own: int,
    max_skew: int,
    min_domains: int,
) -> columns.BoolArray:
    """Return bool (D + 1,): the domains in which `count + own - minimum > max_skew`.

    `counts` are matching pods by domain, `own` is 1 for a pod that matches itself. The minimum runs
    over the eligible domains and is 0 when there are fewer than `min_domains` of them.
    """
    eligible = counts[is_eligible]
    minimum = eligible.min() if len(eligible) >= max(min_domains, 1) else 0
    violating: columns.BoolArray = counts + own - minimum > max_skew
    return violating


def lowest_elsewhere(
    counts: columns.FloatArray, is_eligible: columns.BoolArray
) -> columns.FloatArray:
    """Return float64 (D + 1,): for each domain the minimum over all other eligible ones.

    It is infinite where there is no other.
    """
    eligible = np.flatnonzero(is_eligible)
    lowest = np.full(len(counts), np.inf)
    if len(eligible):
        first, *others = eligible[np.argsort(counts[eligible], kind="stable")[:2]]
        lowest[:] = counts[first]
        lowest[first] = counts[others[0]] if others else np.inf
    return lowest


def topology_weight(domain_count: int) -> float:
    """Return `log(domain_count + 2)`: pods count more in topologies with many domains."""
    return go_math.log(float(domain_count + 2))


def domain_points(counts: columns.FloatArray, weight: float, max_skew: int) -> columns.FloatArray:
    """Return `count × weight + (max_skew - 1)`; the larger the skew allowed, the less counts."""
    return counts * np.float64(weight) + np.float64(max_skew - 1)


def fewest_first(raw: columns.IntArray, is_ignored: columns.NodeMask) -> columns.IntArray:
    """Return int64 (f,): `100 × (largest + smallest - raw) / largest`, rounded down.

    Ignored nodes get 0 and count neither as largest nor as smallest; all others get 100 when the
    largest is 0.
    """
    considered = raw[~is_ignored]
    largest = int(considered.max(initial=0))
    if largest == 0:
        return np.where(is_ignored, 0, interface.MAX_NODE_SCORE)
    smallest = int(considered.min())
    points = interface.MAX_NODE_SCORE * (largest + smallest - raw) // largest
    return np.where(is_ignored, 0, points)
