"""InterPodAffinity: filter and score nodes by the affinity between pods.

Sources: `plugins/interpodaffinity/filtering.go`, `scoring.go`, `plugin.go`. kube-scheduler visits
all placed pods for every pod. This plugin reads count columns and sums them by topology domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.framework.filtering import domain_filters
from policysched.plugins import arguments, names
from policysched.plugins.inter_pod_affinity import (
    domain_sums,
    queueing_hints,
    rejecting_pods,
    term_errors,
)
from policysched.plugins.kernels import domain_verdicts, domains, normalization
from policysched.plugins.shared import memo

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"

_MAX_HARD_WEIGHT = 100
_SUMS = f"{names.INTER_POD_AFFINITY}/sums"
_SCORE = f"{names.INTER_POD_AFFINITY}/score"


class InterPodAffinityArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments of InterPodAffinity.

    `hard_pod_affinity_weight` is the score for each required affinity term of a placed pod that
    matches the incoming pod.
    """

    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class _CountsBeforeWhatIf:
    """The counts that Filter reads, before any hypothetical change.

    Attributes:
        required: pods that match all required affinity terms, for the topology key of each term.
        repelled: topology key → pods that match an anti-affinity term of the incoming pod.
        repelling: topology key → pods with an anti-affinity term that matches the incoming pod.
    """

    required: list[domains.Counted]
    repelled: dict[str, domains.Counted]
    repelling: dict[str, domains.Counted]


@dataclasses.dataclass(frozen=True, slots=True)
class _ScoreState:
    """The score of each domain, in one table for each topology key."""

    sums: Sequence[domains.DomainSums]


class InterPodAffinity:
    """Filters nodes by required terms of the pod and of placed pods; scores by preferred terms.

    The raw score of a node is the sum of the weights of all (pod, term) pairs in its domains. It is
    normalised linearly, from 0 for the smallest sum to 100 for the largest.
    """

    name = names.INTER_POD_AFFINITY
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self, hard_pod_affinity_weight: int = 1, *, ignore_preferred_terms: bool = False
    ) -> None:
        """Configure the plugin; see `InterPodAffinityArgs` for the parameters."""
        self._ignores_preferences = ignore_preferred_terms
        self._sums = domain_sums.AffinitySumsByShape(hard_pod_affinity_weight)
        self._domains = self._sums.domains
        self._errors: memo.ShapeMemo[str] = memo.ShapeMemo()
        self._hints = queueing_hints.PodAffinityHints()
        self._no_affinity = status.unresolvable(self.name, REASON_AFFINITY)
        self._anti_affinity = status.unschedulable(self.name, REASON_ANTI_AFFINITY)
        self._existing = status.unschedulable(self.name, REASON_EXISTING)
        self.answers = (status.SUCCESS, self._existing, self._anti_affinity, self._no_affinity)

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> InterPodAffinity:
        """Create the plugin from `InterPodAffinityArgs`."""
        given = arguments.decode_arguments(args, InterPodAffinityArgs)
        weight = given.hard_pod_affinity_weight
        arguments.require_range("hardPodAffinityWeight", weight, 0, _MAX_HARD_WEIGHT)
        return cls(weight, ignore_preferred_terms=given.ignore_preferred_terms_of_existing_pods)

    # --- filter ----------------------------------------------------------------------------------

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Sum matching pods by domain; skip Filter if no required term applies to the pod."""
        self._hints.counts = snap.counts
        shape = pod.shape
        if _lacks_terms(shape, snap):
            return interface.SKIP_FILTER
        error = self._errors.get_or_compute(
            shape, None, lambda: term_errors.find_term_errors(shape)
        )
        if error:
            rejected = status.unresolvable(self.name, f"parsing pod: {error}")
            return interface.PreFilterResult(rejected)
        sums = self._sums.get_sums(shape, snap)
        state.write(_SUMS, sums)
        if not sums.required.refresh():
            return interface.SKIP_FILTER
        state.write(self.name, sums.required.verdicts)
        return interface.ALL_NODES

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the verdicts of PreFilter by domain."""
        del pod, snap
        return state.read(self.name, domain_verdicts.DomainVerdicts).tables

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        del pod
        verdicts = state.read(self.name, domain_verdicts.DomainVerdicts)
        return verdicts.of_nodes(nodes.rows, self.answers)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the pods that cause the rejection, or the domains without a matching pod."""
        del state
        snap, row = node.snapshot, int(node.row_numbers[0])
        if reason == REASON_EXISTING:
            return rejecting_pods.format_repelling_pods(pod.shape, snap, row)
        if reason == REASON_ANTI_AFFINITY:
            return rejecting_pods.format_repelled_pods(pod.shape, snap, row)
        is_lonely = reason == REASON_AFFINITY
        return rejecting_pods.format_unmatched_domains(pod.shape, snap, row) if is_lonely else ""

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Copy all counts that Filter reads, for `filter_apart`."""
        shape = pod.shape
        required = []
        if shape.affinity_terms:
            query = pod_counts.PodsMatchingAllTerms(shape.affinity_terms)
            counts = snap.counts.get_column(query).get_counts(snap.size)
            by_key = [self._domains.get(snap, t.topology_key) for t in shape.affinity_terms]
            required = [domains.Counted(d, counts) for d in by_key]
        repelled = self._copy_counts(snap, domain_sums.list_repelled_pod_counts(shape, snap))
        repelling = self._copy_counts(snap, self._sums.list_repelling_pod_counts(shape, snap))
        state.write(f"{self.name}/apart", _CountsBeforeWhatIf(required, repelled, repelling))

    def _copy_counts(
        self, snap: snapshot.Snapshot, counted: Iterable[domain_sums.WeightedCountColumn]
    ) -> dict[str, domains.Counted]:
        totals = _sum_weighted_pods_by_row(snap, counted)
        return {k: domains.Counted(self._domains.get(snap, k), t) for k, t in totals.items()}

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return the status of each of the n nodes as if only its own pods had changed."""
        found = state.read(f"{self.name}/apart", _CountsBeforeWhatIf)
        shape, snap = pod.shape, nodes.snapshot
        repelled = domain_sums.list_repelled_pod_counts(shape, snap)
        repelling = self._sums.list_repelling_pod_counts(shape, snap)
        cases = []
        if found.required:
            cases.append(
                (_find_nodes_failing_affinity(found.required, shape, nodes), self._no_affinity)
            )
        if repelled:
            cases.append(
                (
                    self._find_nodes_near_counted_pods(found.repelled, repelled, nodes),
                    self._anti_affinity,
                )
            )
        if repelling:
            cases.append(
                (
                    self._find_nodes_near_counted_pods(found.repelling, repelling, nodes),
                    self._existing,
                )
            )
        return status.NodeStatuses.first_of(len(nodes), cases)

    def _find_nodes_near_counted_pods(
        self,
        before: dict[str, domains.Counted],
        counted: Sequence[domain_sums.WeightedCountColumn],
        nodes: snapshot.NodeView,
    ) -> columns.NodeMask:
        """Return bool (n,): the nodes with at least one counted pod in their domain."""
        snap = nodes.snapshot
        hit = np.zeros(len(nodes), np.bool_)
        for key, total in _sum_weighted_pods_by_row(snap, counted).items():
            kept = before.get(key)
            if kept is None:
                kept = domains.Counted(self._domains.get(snap, key), np.zeros_like(total))
            hit |= kept.here(total, nodes.rows) > 0
        return hit

    # --- score -----------------------------------------------------------------------------------

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Sum weights by domain; skip Score if no term of the pod or of placed pods applies."""
        weighted = self._get_weighted_sums(state, pod, nodes)
        if not weighted:
            return status.SKIP
        state.write(_SCORE, _ScoreState(weighted))
        return status.SUCCESS

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the sum of the scores of the node's domains over all topology keys."""
        del pod
        return _add_up_domain_sums(state.read(_SCORE, _ScoreState).sums, nodes)

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): the position between the smallest and the largest sum, 0 to 100."""
        del state, pod
        return normalization.by_range(scores)

    def score_at_once(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        nodes: snapshot.NodeView,
        factor: int,
    ) -> columns.IntArray | int | status.Status:
        """Run PreScore, Score and NormalizeScore; return `factor` times the scores, int64 (f,).

        A single number means that all scores are equal; SKIP means that PreScore would skip.
        """
        weighted = self._get_weighted_sums(state, pod, nodes)
        if not weighted:
            return status.SKIP
        total = _add_up_domain_sums(weighted, nodes)
        smallest, span = normalization.range_of(total)
        return normalization.in_range(total, smallest, span, factor) if span else 0

    def _get_weighted_sums(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> Sequence[domains.DomainSums]:
        """Return the refreshed sums of weights by domain; empty if no pod affects the score."""
        is_ignored = self._ignores_preferences and not pod.shape.preferred_terms
        if is_ignored or _lacks_terms(pod.shape, nodes.snapshot):
            return ()
        sums = state.find(_SUMS, domain_sums.AffinitySums)
        weighted = (sums or self._sums.get_sums(pod.shape, nodes.snapshot)).weighted
        pods = 0
        for each in weighted:
            each.refresh()
            pods += each.pods
        return weighted if pods else ()

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for changes to pods, nodes and namespaces that can affect required terms."""
        return self._hints.make_registrations()


def _lacks_terms(shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
    """Return whether neither the pod nor any placed pod has a term, which is the common case."""
    return shape.spec.affinity is None and not snap.counts.has_owned_terms


def _find_nodes_failing_affinity(
    kept: Sequence[domains.Counted], shape: pod_shape.PodShape, nodes: snapshot.NodeView
) -> columns.NodeMask:
    """Return bool (n,): the nodes that required affinity rejects; see `RequiredTermVerdicts`."""
    snap, rows = nodes.snapshot, nodes.rows
    query = pod_counts.PodsMatchingAllTerms(shape.affinity_terms)
    now = snap.counts.get_column(query).get_counts(snap.size)
    has_company = np.ones(len(nodes), np.bool_)
    may_be_first = np.full(len(nodes), query.matches(shape, snap.counts.namespaces))
    for each in kept:
        is_inside = each.domains.slots[rows] > 0
        has_company &= is_inside & (each.here(now, rows) > 0)
        may_be_first &= is_inside & (each.by_domain.sum() + each.change(now, rows) == 0)
    lacks: columns.NodeMask = ~(has_company | may_be_first)
    return lacks


def _add_up_domain_sums(
    sums: Sequence[domains.DomainSums], nodes: snapshot.NodeView
) -> columns.IntArray:
    """Return int64 (n,): the sum of the domain scores of each node."""
    first, *others = sums
    total = first.table.take(first.domains.at(nodes.rows))
    for each in others:
        total += each.table.take(each.domains.at(nodes.rows))
    return total


def _sum_weighted_pods_by_row(
    snap: snapshot.Snapshot, counted: Iterable[domain_sums.WeightedCountColumn]
) -> dict[str, columns.IntArray]:
    """Return the weighted number of pods on each row, int64 (N,), for each topology key."""
    totals: dict[str, columns.IntArray] = {}
    for item in counted:
        pods = item.weight * item.column.get_counts(snap.size)
        known = totals.get(item.topology_key)
        totals[item.topology_key] = pods if known is None else known + pods
    return totals


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = InterPodAffinity
    _pre_filter: type[interface.PreFilterPlugin] = InterPodAffinity
    _filter: type[interface.FilterPlugin] = InterPodAffinity
    _by_domain: type[domain_filters.DomainFilterPlugin] = InterPodAffinity
    _apart: type[apart.ApartFilterPlugin] = InterPodAffinity
    _pre_score: type[interface.PreScorePlugin] = InterPodAffinity
    _score: type[interface.ScorePlugin] = InterPodAffinity
    _normalize: type[interface.AtOnceScorePlugin] = InterPodAffinity
    _events: type[interface.EventsPlugin] = InterPodAffinity
