"""Topology spread as arithmetic on domains. Tables have D + 1 entries, see `kernels.domains`.

Sources: `plugins/podtopologyspread/filtering.go`, `scoring.go`.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns
from policysched.framework import interface
from policysched.plugins.kernels import domains, go_math


def violating_domains(
    counts: columns.IntArray | columns.FloatArray,
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


class SpreadBefore:
    """How pods were spread before anything was supposed of them.

    Source: `filtering.go`, criticalPaths, which keep the two smallest counts for the same reason.
    """

    def __init__(
        self, counted: domains.Counted, is_eligible: columns.BoolArray, min_domains: int
    ) -> None:
        """Keep `counted`, and which domains count, bool (D + 1,).

        With fewer than `min_domains` of them the minimum is 0.
        """
        self._counted = counted
        self._is_eligible = is_eligible
        self._elsewhere: columns.FloatArray | None = None
        if np.count_nonzero(is_eligible) >= min_domains:
            self._elsewhere = _lowest_elsewhere(counted.by_domain, is_eligible)

    def skew(
        self,
        slots: npt.NDArray[np.intp],
        now: columns.IntArray,
        rows: columns.RowIndex,
    ) -> columns.FloatArray:
        """Return float64 (n,): the pods in the domain of each row, less the minimum.

        `slots`, intp (n,), are the domains of the rows, counted or not; `now`, int64 (N,), are the
        pods as they are supposed, of which each row takes only its own change.
        """
        here = self._counted.by_domain[slots] + self._counted.change(now, rows)
        if self._elsewhere is None:
            return here
        counts_here = np.where(self._is_eligible[slots], here, np.inf)
        lowest: columns.FloatArray = np.minimum(counts_here, self._elsewhere[slots])
        return here - lowest


def _lowest_elsewhere(
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


def domain_points(counts: columns.IntArray, weight: float, max_skew: int) -> columns.FloatArray:
    """Return `count × weight + (max_skew - 1)`; the larger the skew allowed, the less counts."""
    return counts * np.float64(weight) + np.float64(max_skew - 1)


@functools.lru_cache(maxsize=256)
def final_points(fewest: int, most: int, weight: float, max_skew: int) -> columns.IntArray:
    """Return int64 (most + 1,): final points by how many pods there are on a node.

    For a single constraint by which nodes have from `fewest` to `most` pods. Not to be written to.
    """
    raw = go_math.round_half_up(domain_points(np.arange(most + 1), weight, max_skew))
    points = np.zeros(most + 1, np.int64)
    points[fewest:] = _fewest_first(raw[fewest:])
    return points


def fewest_first(raw: columns.IntArray, is_ignored: columns.NodeMask | None) -> columns.IntArray:
    """Return int64 (f,): `100 × (largest + smallest - raw) / largest`, rounded down.

    Ignored nodes (None for none) get 0 and count neither as largest nor as smallest; all others get
    100 when the largest is 0.
    """
    if is_ignored is None:
        return _fewest_first(raw)
    points = np.zeros(len(raw), np.int64)
    points[~is_ignored] = _fewest_first(raw[~is_ignored])
    return points


def _fewest_first(considered: columns.IntArray) -> columns.IntArray:
    largest = considered.item(considered.argmax()) if len(considered) else 0  # faster than `max`
    if largest == 0:
        return np.full(len(considered), interface.MAX_NODE_SCORE)
    smallest = considered.item(considered.argmin())
    points: columns.IntArray = (
        interface.MAX_NODE_SCORE * (largest + smallest - considered) // largest
    )
    return points
