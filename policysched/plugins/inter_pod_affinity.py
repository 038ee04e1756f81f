"""InterPodAffinity: pods near some pods and away from others.

Sources: `plugins/interpodaffinity/filtering.go`, `scoring.go`, `plugin.go`. Where kube-scheduler
walks all placed pods for every pod, this reads count columns and sums them by topology domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from policysched.cluster import columns, count_column, pod_counts, pod_shape, snapshot
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.plugins import (
    arguments,
    inter_pod_affinity_hints,
    memo,
    names,
    pod_affinity_errors,
)
from policysched.plugins.kernels import domains, normalization

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_MAX_HARD_WEIGHT = 100

DomainTable: TypeAlias = tuple[domains.Domains, columns.BoolArray]
"""Domains, and bool (D + 1,) with something about each of them."""


class InterPodAffinityArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments.

    `hard_pod_affinity_weight` is what the required affinity of a placed pod adds to the score of a
    pod that it matches.
    """

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class _FilterState:
    """Which domains the pod may go to: one table a term.

    Attributes:
        required: domains that a required affinity term allows.
        repelled: domains that a term of the pod forbids.
        repelling: domains that terms of placed pods forbid.
    """

    required: list[DomainTable]
    repelled: list[DomainTable]
    repelling: list[DomainTable]


@dataclasses.dataclass(frozen=True, slots=True)
class _Remembered:
    """What Filter read before anything was supposed.

    Attributes:
        required: pods that match all required affinity terms, in the topology of each term.
        repelled, repelling: pods by topology key, as in `_FilterState`.
    """

    required: list[domains.Counted]
    repelled: dict[str, domains.Counted]
    repelling: dict[str, domains.Counted]


@dataclasses.dataclass(frozen=True, slots=True)
class _ScoreState:
    """Float64 (D + 1,): what each domain adds to the score, one table a topology key."""

    tables: list[tuple[domains.Domains, columns.FloatArray]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
    """Pods that count with some weight in the domains of a topology key."""

    topology_key: str
    column: count_column.CountColumn
    weight: int


class InterPodAffinity:
    """Rejects by required terms, those of the pod and those of placed pods; scores preferred ones.

    The score of a node is the sum of the weights of all (pod, term) pairs in its domains, brought
    to 0..100 between the smallest and the largest.
    """

    name = names.INTER_POD_AFFINITY
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self, hard_pod_affinity_weight: int = 1, *, ignore_preferred_terms: bool = False
    ) -> None:
        """Take the arguments; see `InterPodAffinityArgs`."""
        self._hard_weight = hard_pod_affinity_weight
        self._ignores_preferences = ignore_preferred_terms
        self._domains = domains.DomainsByKey()
        self._acting: memo.ShapeMemo[dict[pod_counts.TermKind, list[_Column]]] = memo.ShapeMemo()
        self._errors: memo.ShapeMemo[str] = memo.ShapeMemo()
        self._hints = inter_pod_affinity_hints.Hints()
        self._no_affinity = status.unresolvable(self.name, REASON_AFFINITY)
        self._anti_affinity = status.unschedulable(self.name, REASON_ANTI_AFFINITY)
        self._existing = status.unschedulable(self.name, REASON_EXISTING)

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> InterPodAffinity:
        """Return the plugin for `InterPodAffinityArgs`."""
        given = arguments.decode(args, InterPodAffinityArgs)
        weight = given.hard_pod_affinity_weight
        arguments.require_range("hardPodAffinityWeight", weight, 0, _MAX_HARD_WEIGHT)
        return cls(weight, ignore_preferred_terms=given.ignore_preferred_terms_of_existing_pods)

    # --- filter ----------------------------------------------------------------------------------

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Sum matching pods by domain; skip when no required term concerns the pod."""
        self._hints.counts = snap.counts
        shape = pod.shape
        error = self._errors.get(shape, None, lambda: pod_affinity_errors.of_shape(shape))
        if error:
            rejected = status.unresolvable(self.name, f"parsing pod: {error}")
            return interface.PreFilterResult(rejected)
        repelling = self._repelling(shape, snap)
        if not (repelling or shape.affinity_terms or shape.anti_affinity_terms):
            return interface.PreFilterResult(status.SKIP)
        found = _FilterState(self._required(shape, snap), self._repelled(shape, snap), repelling)
        state.write(self.name, found)
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        del pod
        found = state.read(self.name, _FilterState)
        cases = []
        if found.required:
            excluded = _any_at(nodes, [(d, ~table) for d, table in found.required])
            cases.append((excluded, self._no_affinity))
        if found.repelled:
            cases.append((_any_at(nodes, found.repelled), self._anti_affinity))
        if found.repelling:
            cases.append((_any_at(nodes, found.repelling), self._existing))
        return status.NodeStatuses.first_of(len(nodes), cases)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep the counts of everything that Filter reads."""
        shape = pod.shape
        required = []
        if shape.affinity_terms:
            query = pod_counts.MatchesAllTerms(shape.affinity_terms)
            counts = snap.counts.matching(query).by_row(snap.size)
            by_key = [self._domains.get(snap, t.topology_key) for t in shape.affinity_terms]
            required = [domains.Counted(d, counts) for d in by_key]
        repelled = self._kept(snap, _repelled_columns(shape, snap))
        repelling = self._kept(snap, self._repelling_columns(shape, snap))
        state.write(f"{self.name}/apart", _Remembered(required, repelled, repelling))

    def _kept(
        self, snap: snapshot.Snapshot, counted: Iterable[_Column]
    ) -> dict[str, domains.Counted]:
        totals = _totals(snap, counted)
        return {k: domains.Counted(self._domains.get(snap, k), t) for k, t in totals.items()}

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed."""
        found = state.read(f"{self.name}/apart", _Remembered)
        shape, snap = pod.shape, nodes.snapshot
        repelled = _repelled_columns(shape, snap)
        repelling = self._repelling_columns(shape, snap)
        cases = []
        if found.required:
            cases.append((_lacks_company(found.required, shape, nodes), self._no_affinity))
        if repelled:
            cases.append(
                (self._occupied_apart(found.repelled, repelled, nodes), self._anti_affinity)
            )
        if repelling:
            cases.append((self._occupied_apart(found.repelling, repelling, nodes), self._existing))
        return status.NodeStatuses.first_of(len(nodes), cases)

    def _occupied_apart(
        self,
        before: dict[str, domains.Counted],
        counted: Sequence[_Column],
        nodes: snapshot.NodeView,
    ) -> columns.NodeMask:
        """Return bool (n,): the nodes in whose domain some counted pod is."""
        snap = nodes.snapshot
        hit = np.zeros(len(nodes), np.bool_)
        for key, total in _totals(snap, counted).items():
            kept = before.get(key)
            if kept is None:
                kept = domains.Counted(self._domains.get(snap, key), np.zeros_like(total))
            hit |= kept.here(total, nodes.rows) > 0
        return hit

    def _required(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> list[DomainTable]:
        """Return the domains that hold a pod which matches all required terms together.

        Where there is no such pod at all and the pod matches its own terms, it is the first of a
        series: then every domain will do.
        """
        if not shape.affinity_terms:
            return []
        query = pod_counts.MatchesAllTerms(shape.affinity_terms)
        counts = snap.counts.matching(query).by_row(snap.size)
        by_term = [self._domains.get(snap, t.topology_key) for t in shape.affinity_terms]
        tables = [(d, d.sums(counts) > 0) for d in by_term]
        is_first = not any(table.any() for _, table in tables)
        if is_first and query.matches(shape, snap.counts.namespaces):
            tables = [(d, np.arange(d.count + 1) > 0) for d in by_term]
        return tables

    def _repelled(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> list[DomainTable]:
        """Return, for each anti-affinity term of the pod, the domains that hold matching pods."""
        return self._occupied(snap, _repelled_columns(shape, snap))

    def _repelling(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> list[DomainTable]:
        """Return the domains that hold pods whose anti-affinity matches the pod."""
        return self._occupied(snap, self._repelling_columns(shape, snap))

    def _repelling_columns(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> list[_Column]:
        return self._acting_on(shape, snap)[pod_counts.TermKind.REQUIRED_ANTI_AFFINITY]

    def _occupied(self, snap: snapshot.Snapshot, counted: Iterable[_Column]) -> list[DomainTable]:
        """Return, by topology key, the domains with any counted pod; keys without one left out."""
        tables = []
        for key, total in _totals(snap, [c for c in counted if c.column.total]).items():
            by_key = self._domains.get(snap, key)
            occupied = by_key.sums(total) > 0
            if occupied.any():
                tables.append((by_key, occupied))
        return tables

    def _acting_on(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> dict[pod_counts.TermKind, list[_Column]]:
        """Return the terms of placed pods that match pods of `shape`."""
        counts = snap.counts
        stamp = (counts, counts.owned_generation, counts.namespaces_generation)
        return self._acting.get(shape, stamp, lambda: _matching_terms(shape, counts))

    # --- score -----------------------------------------------------------------------------------

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Sum weights by domain; skip when no preference of anyone concerns the pod."""
        if self._ignores_preferences and not pod.shape.preferred_terms:
            return status.SKIP
        snap = nodes.snapshot
        weighted = [c for c in self._weighted(pod.shape, snap) if c.column.total]
        tables = []
        is_concerned = False
        for key, total in _totals(snap, weighted).items():
            by_key = self._domains.get(snap, key)
            table = by_key.sums(total)
            is_concerned = is_concerned or bool(table.any())
            tables.append((by_key, table))
        if not is_concerned and not self._occupied(snap, _unweighted(weighted)):
            return status.SKIP
        state.write(f"{self.name}/score", _ScoreState(tables))
        return status.SUCCESS

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the sum over topology keys of what the node's domain adds."""
        del pod
        total = np.zeros(len(nodes))
        for by_key, table in state.read(f"{self.name}/score", _ScoreState).tables:
            total += table[by_key.slots[nodes.rows]]
        return total.astype(np.int64)

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): position between the smallest and the largest sum."""
        del state, pod
        return normalization.by_range(scores)

    def _weighted(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> list[_Column]:
        """Return everything that counts for the score: terms of the pod, terms of placed pods."""
        matching = snap.counts.matching
        own = [
            _Column(t.term.topology_key, matching(pod_counts.MatchesAllTerms((t.term,))), t.weight)
            for t in shape.preferred_terms
        ]
        acting = self._acting_on(shape, snap)
        hard = [
            dataclasses.replace(c, weight=self._hard_weight)
            for c in acting[pod_counts.TermKind.REQUIRED_AFFINITY]
            if self._hard_weight
        ]
        return own + acting[pod_counts.TermKind.PREFERRED] + hard

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for pods that come to match or no longer repel, and for nodes that change domain."""
        return self._hints.registrations()


def _repelled_columns(shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> list[_Column]:
    """Return, for each anti-affinity term of the pod, the pods that match it."""
    return [
        _Column(t.topology_key, snap.counts.matching(pod_counts.MatchesAllTerms((t,))), 1)
        for t in shape.anti_affinity_terms
    ]


def _lacks_company(
    kept: Sequence[domains.Counted], shape: pod_shape.PodShape, nodes: snapshot.NodeView
) -> columns.NodeMask:
    """Return bool (n,): the nodes that required affinity rules out; see `_required`."""
    snap, rows = nodes.snapshot, nodes.rows
    query = pod_counts.MatchesAllTerms(shape.affinity_terms)
    now = snap.counts.matching(query).by_row(snap.size)
    has_company = np.ones(len(nodes), np.bool_)
    may_be_first = np.full(len(nodes), query.matches(shape, snap.counts.namespaces))
    for each in kept:
        is_inside = each.domains.slots[rows] > 0
        has_company &= is_inside & (each.here(now, rows) > 0)
        may_be_first &= is_inside & (each.by_domain.sum() + each.change(now, rows) == 0)
    lacks: columns.NodeMask = ~(has_company | may_be_first)
    return lacks


def _matching_terms(
    shape: pod_shape.PodShape, counts: pod_counts.PodCounts
) -> dict[pod_counts.TermKind, list[_Column]]:
    labels = counts.namespaces.get(shape.namespace, {})
    return {
        kind: [
            _Column(owned.term.topology_key, column, owned.weight)
            for owned, column in counts.owned(kind).items()
            if owned.term.acts_on(shape.namespace, shape.labels, labels)
        ]
        for kind in pod_counts.TermKind
    }


def _unweighted(counted: Iterable[_Column]) -> list[_Column]:
    """Return the same columns with weight 1: weights of both signs may add up to 0."""
    return [dataclasses.replace(c, weight=1) for c in counted]


def _totals(snap: snapshot.Snapshot, counted: Iterable[_Column]) -> dict[str, columns.IntArray]:
    """Return int64 (N,) for each topology key: Σ weight × pods on the row."""
    totals: dict[str, columns.IntArray] = {}
    for item in counted:
        pods = item.weight * item.column.by_row(snap.size)
        known = totals.get(item.topology_key)
        totals[item.topology_key] = pods if known is None else known + pods
    return totals


def _any_at(nodes: snapshot.NodeView, tables: Sequence[DomainTable]) -> columns.NodeMask:
    """Return bool (n,): the nodes whose domain is marked in one of `tables`."""
    found = np.zeros(len(nodes), np.bool_)
    for by_key, table in tables:
        found |= table[by_key.slots[nodes.rows]]
    return found


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = InterPodAffinity
    _filter: type[interface.FilterPlugin] = InterPodAffinity
    _apart: type[apart.ApartFilterPlugin] = InterPodAffinity
    _pre_score: type[interface.PreScorePlugin] = InterPodAffinity
    _score: type[interface.ScorePlugin] = InterPodAffinity
    _normalize: type[interface.NormalizeScorePlugin] = InterPodAffinity
    _events: type[interface.EventsPlugin] = InterPodAffinity
