"""Sum the placed pods that affect pods of a shape in InterPodAffinity, by topology domain."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Hashable, Iterable, Sequence

from policysched.cluster import count_column, snapshot
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.plugins.inter_pod_affinity import required_term_verdicts
from policysched.plugins.kernels import domains
from policysched.plugins.shared import memo

TermColumns = dict[pod_counts.TermKind, list["WeightedCountColumn"]]


@dataclasses.dataclass(frozen=True, slots=True)
class WeightedCountColumn:
    """A count column whose pods count with a weight in the domains of a topology key."""

    topology_key: str
    column: count_column.CountColumn
    weight: int


@dataclasses.dataclass(slots=True, weakref_slot=True)
class AffinitySums:
    """The pods that affect pods of a shape, summed by topology domain.

    Attributes:
        required: verdicts of the required terms.
        weighted: pods that count towards the score, one entry for each topology key.
    """

    required: required_term_verdicts.RequiredTermVerdicts
    weighted: Sequence[domains.DomainSums]


@dataclasses.dataclass(slots=True)
class _KnownSums:
    """The sums of a shape and the state in which they are valid.

    Attributes:
        acting: terms of placed pods that the sums include.
        owned_generation: value of `PodCounts.owned_generation` for which `acting` is complete.
    """

    sums: AffinitySums
    acting: TermColumns
    owned_generation: int


class AffinitySumsByShape:
    """Caches the sums of shapes while the nodes and the terms of placed pods are unchanged.

    Counts can change without invalidating the sums. Shapes share their sums if the same pods count
    for them: for example, pods of one app that differ in other labels, or all pods that no term
    matches.
    """

    def __init__(self, hard_weight: int) -> None:
        """Start empty; `hard_weight` is the score of required affinity terms of placed pods."""
        self.domains = domains.DomainsByKey()
        self._hard_weight = hard_weight
        self._acting: memo.ShapeMemo[TermColumns] = memo.ShapeMemo()
        self._known: memo.ShapeMemo[_KnownSums] = memo.ShapeMemo()
        self._shared: weakref.WeakValueDictionary[Hashable, AffinitySums] = (
            weakref.WeakValueDictionary()
        )

    def get_sums(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> AffinitySums:
        """Return the sums for pods of a shape; the caller must refresh each sum before use."""
        counts, nodes = snap.counts, snap.nodes
        node_generation = nodes.node_changes.generation
        stamp = (counts, counts.namespaces_generation, nodes, node_generation, snap.size)
        known = self._known.get_or_compute(
            shape,
            stamp,
            lambda: self._find_sums(shape, snap, stamp),
            lambda kept: self._are_sums_current(kept, shape, snap),
        )
        return known.sums

    def _are_sums_current(
        self, kept: _KnownSums, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the same terms apply and all summed columns are still updated."""
        owned_generation = snap.counts.owned_generation
        if kept.owned_generation != owned_generation:
            if self._find_acting_terms(shape, snap) != kept.acting:
                return False
            kept.owned_generation = owned_generation  # the new terms do not match the shape
        for sums in kept.sums.weighted:
            if not sums.is_current:
                return False
        return kept.sums.required.is_current

    def _find_sums(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot, stamp: Hashable
    ) -> _KnownSums:
        """Find the sums for a shape, shared with other shapes for which the same pods count.

        The key contains everything on which the sums depend: columns, but not the terms or queries
        from which the columns were built.
        """
        acting = self._find_acting_terms(shape, snap)
        required: Sequence[WeightedCountColumn] = ()
        matches_itself = False
        if shape.affinity_terms:
            query = pod_counts.PodsMatchingAllTerms(shape.affinity_terms)
            column = snap.counts.get_column(query)
            required = [
                WeightedCountColumn(term.topology_key, column, 1) for term in shape.affinity_terms
            ]
            matches_itself = query.matches(shape, snap.counts.namespaces)
        parts = (
            tuple(required),
            tuple(list_repelled_pod_counts(shape, snap)),
            tuple(acting[pod_counts.TermKind.REQUIRED_ANTI_AFFINITY]),
            tuple(self._collect_weighted_counts(shape, snap, acting)),
        )
        key = (stamp, parts, matches_itself)
        sums = self._shared.get(key)
        if sums is None:
            sums = self._shared[key] = self._make_sums(snap, *parts, matches_itself=matches_itself)
        return _KnownSums(sums, acting, snap.counts.owned_generation)

    def _make_sums(
        self,
        snap: snapshot.Snapshot,
        required: Sequence[WeightedCountColumn],
        repelled_by: Sequence[WeightedCountColumn],
        repelling: Sequence[WeightedCountColumn],
        weighted: Sequence[WeightedCountColumn],
        *,
        matches_itself: bool,
    ) -> AffinitySums:
        """Build the sums by domain from the count columns of each kind of term."""
        get = self.domains.get
        terms = required_term_verdicts.RequiredTermVerdicts(
            [domains.DomainSums(get(snap, c.topology_key), [(c.column, 1)]) for c in required],
            self._sum_by_topology_key(snap, repelled_by),
            self._sum_by_topology_key(snap, repelling),
            matches_itself=matches_itself,
            has_own=bool(required or repelled_by),
        )
        return AffinitySums(terms, self._sum_by_topology_key(snap, weighted))

    def _sum_by_topology_key(
        self, snap: snapshot.Snapshot, counted: Iterable[WeightedCountColumn]
    ) -> list[domains.DomainSums]:
        by_key: dict[str, list[tuple[count_column.CountColumn, int]]] = {}
        for each in counted:
            by_key.setdefault(each.topology_key, []).append((each.column, each.weight))
        return [domains.DomainSums(self.domains.get(snap, k), c) for k, c in by_key.items()]

    def list_repelling_pod_counts(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> list[WeightedCountColumn]:
        """Return the counts of pods whose anti-affinity matches pods of `shape`."""
        return self._find_acting_terms(shape, snap)[pod_counts.TermKind.REQUIRED_ANTI_AFFINITY]

    def _collect_weighted_counts(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot, acting: TermColumns
    ) -> list[WeightedCountColumn]:
        """Return all counts for the score, from the terms of the pod and of placed pods."""
        matching = snap.counts.get_column
        own = [
            WeightedCountColumn(
                t.term.topology_key, matching(pod_counts.PodsMatchingAllTerms((t.term,))), t.weight
            )
            for t in shape.preferred_terms
        ]
        hard = [
            dataclasses.replace(c, weight=self._hard_weight)
            for c in acting[pod_counts.TermKind.REQUIRED_AFFINITY]
            if self._hard_weight
        ]
        return own + acting[pod_counts.TermKind.PREFERRED] + hard

    def _find_acting_terms(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> TermColumns:
        """Return the terms of placed pods that match pods of `shape`."""
        counts = snap.counts
        stamp = (counts, counts.owned_generation, counts.namespaces_generation)
        return self._acting.get_or_compute(
            shape, stamp, lambda: _make_acting_term_columns(shape, counts)
        )


def list_repelled_pod_counts(
    shape: pod_shape.PodShape, snap: snapshot.Snapshot
) -> list[WeightedCountColumn]:
    """Return the counts of pods that match each anti-affinity term of the pod."""
    return [
        WeightedCountColumn(
            t.topology_key, snap.counts.get_column(pod_counts.PodsMatchingAllTerms((t,))), 1
        )
        for t in shape.anti_affinity_terms
    ]


def _make_acting_term_columns(
    shape: pod_shape.PodShape, counts: pod_counts.PodCounts
) -> TermColumns:
    return {
        kind: [
            WeightedCountColumn(owned.term.topology_key, column, owned.weight)
            for owned, column in counts.find_terms_matching_incoming_pod(kind, shape)
        ]
        for kind in pod_counts.TermKind
    }
