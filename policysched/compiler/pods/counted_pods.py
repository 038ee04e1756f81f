"""`count(…)`: how many pods of a set are placed on a node, or in the topology domain of a node."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler import domain_counts
from policysched.compiler.pods import pod_sets, scope
from policysched.lang.checked import checked_expr, checked_selector
from policysched.plugins.kernels import domains


@dataclasses.dataclass(frozen=True, slots=True)
class CountedPods:
    """The pods of a set, and where they are counted. Terminating pods do not count.

    Attributes:
        topology_key: the label whose values are the domains; None if each node is a domain.
    """

    pods: pod_sets.PodSet
    topology_key: str | None
    by_key: domains.DomainsByKey

    def make_query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the query for the pods that count for a pod of `shape`."""
        return pod_sets.PodsInSet(self.pods, self.pods.anchor(shape), counts_terminating=False)

    def find_domains(self, snap: snapshot.Snapshot) -> domains.Domains:
        """Return the domain of each node."""
        return self.by_key.get(snap, self.topology_key)

    def count_by_domain(self, shape: pod_shape.PodShape) -> domain_counts.DomainCounts:
        """Return the numbers of counted pods by domain, which follow changes of pods."""
        return domain_counts.DomainCounts(self.make_query(shape), self.find_domains)

    def count_live(self, shape: pod_shape.PodShape) -> LiveCounts:
        """Return the numbers that count for pods of `shape`."""
        return LiveCounts(self, shape)

    def count_what_if(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> WhatIfCounts:
        """Return the same for a what-if: each row is asked as if no other row had changed."""
        return WhatIfCounts(self, shape, snap)


class LiveCounts:
    """The counted pods of nodes as they are now."""

    def __init__(self, counted: CountedPods, shape: pod_shape.PodShape) -> None:
        """Count for pods of `shape`; all numbers are missing if these lack a compared value."""
        self._is_missing = counted.pods.lacks_value(shape)
        self._counts = counted.count_by_domain(shape)

    def compute(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number for each of `rows`, NaN if it is missing."""
        self._counts.refresh(snap)
        slots = self._counts.domains.slots[rows]
        return _without_missing(self._counts.totals[slots], slots, is_missing=self._is_missing)


class WhatIfCounts:
    """The counted pods of nodes, each as if only the pods of this node had changed."""

    def __init__(
        self, counted: CountedPods, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> None:
        """Keep what is counted now."""
        self._is_missing = counted.pods.lacks_value(shape)
        self._query = counted.make_query(shape)
        found = counted.find_domains(snap)
        self._before = domains.Counted(found, self._read(snap))

    def compute(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number for each of `rows`, NaN if it is missing."""
        slots = self._before.domains.slots[rows]
        here = self._before.here(self._read(snap), rows)
        return _without_missing(here, slots, is_missing=self._is_missing)

    def _read(self, snap: snapshot.Snapshot) -> columns.IntArray:
        return snap.counts.get_column(self._query).get_counts(snap.size)


def _without_missing(
    counts: columns.FloatArray, slots: npt.NDArray[np.intp], *, is_missing: bool
) -> columns.FloatArray:
    """Return `counts` with NaN for rows in no domain, or for all rows."""
    return np.full(len(slots), np.nan) if is_missing else np.where(slots > 0, counts, np.nan)


class PodCounters:
    """Compiles `count(…)`; equal sets of pods are one object, so their count columns are shared."""

    def __init__(self, pods: pod_sets.PodSets, by_key: domains.DomainsByKey) -> None:
        """Take the sets of pods from `pods`, and domains from `by_key`."""
        self._pods = pods
        self._by_key = by_key

    def compile(self, expr: checked_expr.PlacedPodCount) -> CountedPods:
        """Return what an expression counts."""
        policy = expr.policy or checked_selector.EVERY_POD
        pods = self._pods.compile(expr.pods, policy, scope.PolicyScope(policy))
        return CountedPods(pods, expr.topology_key, self._by_key)
