"""`podAffinity` and `podAntiAffinity`: near, or away from, the pods of a set.

Each rule is a term of its own: a node must satisfy every required one.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler import domain_counts
from policysched.compiler.pods import pod_sets, scope
from policysched.compiler.rules import base
from policysched.framework import apart, comparison, cycle_state, interface, status
from policysched.framework.filtering import domain_filters
from policysched.framework.scoring import compared_scores
from policysched.lang.checked import checked
from policysched.plugins.kernels import domains
from policysched.plugins.shared import node_rejection_texts


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """The pods that a rule counts, and the label whose values are the domains."""

    pods: pod_sets.PodSet
    topology_key: str
    by_key: domains.DomainsByKey

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods of the set as a pod of `shape` sees it."""
        return pod_sets.PodsInSet(self.pods, self.pods.anchor(shape), counts_terminating=True)

    def repelling(
        self, shape: pod_shape.PodShape, carriers: scope.RuleScope
    ) -> pod_counts.PodQuery:
        """Return the question for the pods of `carriers` that see pods of `shape` in the set."""
        return pod_sets.PodsRepelling(carriers, self.pods, self.pods.anchor(shape))

    def in_domain_of(
        self, query: pod_counts.PodQuery, nodes: snapshot.NodeView
    ) -> columns.FloatArray | None:
        """Return float64 (n,): the pods that `query` selects in the domain of each node.

        None where no domain holds any, which is cheap to find out.
        """
        snap = nodes.snapshot
        counted = snap.counts.get_column(query)
        if counted.total == 0:
            return None
        found = self._domains(snap)
        totals = found.sums(counted.get_counts(snap.size))
        return totals[found.slots[nodes.rows]] if totals.any() else None

    def by_domain(self, query: pod_counts.PodQuery) -> domain_counts.DomainCounts:
        """Return the pods that `query` selects by domain, patched where pods come and go."""
        return domain_counts.DomainCounts(query, self._domains)

    def failing(
        self,
        query: pod_counts.PodQuery,
        find_failing: domain_counts.FindFailing,
        *,
        rejects_outside: bool,
    ) -> domain_counts.FailingDomains:
        """Return which domains fail by the pods that `query` selects."""
        counts = self.by_domain(query)
        return domain_counts.FailingDomains(
            counts, self._domains, find_failing, rejects_outside=rejects_outside
        )

    def slots(self, snap: snapshot.Snapshot) -> npt.NDArray[np.intp]:
        """Return intp (N,): the domain of each node, 0 for none."""
        return self._domains(snap).slots

    def _domains(self, snap: snapshot.Snapshot) -> domains.Domains:
        return self.by_key.get(snap, self.topology_key)

    def counted(self, query: pod_counts.PodQuery, snap: snapshot.Snapshot) -> domains.Counted:
        """Return the pods that `query` selects, before anything is supposed."""
        counts = snap.counts.get_column(query).get_counts(snap.size)
        return domains.Counted(self._domains(snap), counts)

    def lacks_label(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that are in no domain."""
        outside: columns.NodeMask = self.slots(nodes.snapshot)[nodes.rows] == 0
        return outside


class RequiredPodAffinity(base.PolicyRule):
    """Rejects nodes in whose domain no pod of the set runs.

    While no pod of the set runs in any domain, a pod that belongs to the set itself may go to any
    node that has the label (`interpodaffinity/filtering.go`, satisfyPodAffinity).
    """

    reads: ClassVar = interface.Reads.NODE | interface.Reads.PODS

    def __init__(
        self, rule: checked.PodAffinityRule, rule_scope: scope.RuleScope, term: Term
    ) -> None:
        """Look for the pods of `term`."""
        super().__init__(rule.head, rule_scope)
        self.term = term
        self.topology_key = term.topology_key
        self._rejected = self.rejection(
            status.Code.UNSCHEDULABLE, f"node(s) didn't match policy {rule.head.name}"
        )
        self._lacks_label = self.lacks_label(term.topology_key)
        self.answers = (status.SUCCESS, self._rejected, self._lacks_label)
        self._allows_missing = rule.on_missing == "allow"

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now."""
        if self._allows_missing and self.term.pods.lacks_value(shape):
            return False
        return super().applies_to(state, shape, snap)

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        cases = [(self.term.lacks_label(nodes), self._lacks_label)]
        here = self.term.in_domain_of(self.query(pod.shape), nodes)
        if here is not None:
            cases.append((here == 0, self._rejected))
        elif not self._belongs(pod.shape, nodes.snapshot):
            cases.append((np.ones(len(nodes), np.bool_), self._rejected))
        return status.NodeStatuses.first_of(len(nodes), cases)

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the answers by domain, for pods equal to `pod` as long as `state` lives."""
        found = state.find(self.kept_under, domain_counts.FailingDomains)
        if found is None:
            may_be_first = self._belongs(pod.shape, snap)

            def find_failing(
                totals: columns.FloatArray, present: columns.BoolArray
            ) -> columns.BoolArray:
                del present
                is_first = may_be_first and not totals.any()
                return np.zeros(len(totals), np.bool_) if is_first else np.equal(totals, 0)

            found = self.term.failing(self.query(pod.shape), find_failing, rejects_outside=True)
            state.write(self.kept_under, found)
        return (found.refresh(snap),)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep how many pods of the set are where."""
        state.write(self.kept_under, self.term.counted(self.query(pod.shape), snap))

    @base.evaluates
    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed."""
        snap, rows = nodes.snapshot, nodes.rows
        kept = state.read(self.kept_under, domains.Counted)
        now = snap.counts.get_column(self.query(pod.shape)).get_counts(snap.size)
        is_alone = kept.here(now, rows) == 0
        if self._belongs(pod.shape, snap):
            is_alone &= kept.by_domain.sum() + kept.change(now, rows) > 0
        cases = [(self.term.lacks_label(nodes), self._lacks_label), (is_alone, self._rejected)]
        return status.NodeStatuses.first_of(len(nodes), cases)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the domain in which no pod of the set runs, or the label that lacks."""
        del state, pod
        place = node_rejection_texts.format_node_label(
            node_rejection_texts.get_only_node(node), self.topology_key
        )
        is_outside = bool(self.term.lacks_label(node)[0])
        own = self._lacks_label if is_outside else self._rejected
        if reason not in own.reasons:
            return ""
        return place if is_outside else f"no pod of the set where {place}"

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods that count for a pod of `shape`."""
        return self.term.query(shape)

    def _belongs(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
        return self.term.pods.includes(shape, shape, snap.counts.namespaces)


class _RejectingOccupied(base.PolicyRule):
    """Rejects nodes in whose domain one of the pods runs that `query` asks for."""

    reads: ClassVar = interface.Reads.NODE | interface.Reads.PODS

    def __init__(
        self, rule: checked.PodAffinityRule, rule_scope: scope.RuleScope, term: Term, reason: str
    ) -> None:
        """Count in the domains of `term`; `reason` is told unless the rule has its own message."""
        super().__init__(rule.head, rule_scope)
        self.term = term
        self.topology_key = term.topology_key
        self._rejected = self.rejection(status.Code.UNSCHEDULABLE, reason)
        self.answers = (status.SUCCESS, self._rejected)

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        here = self.term.in_domain_of(self.query(pod.shape), nodes)
        if here is None:
            return status.NodeStatuses.passing(len(nodes))
        return status.NodeStatuses.where(here > 0, self._rejected)

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the answers by domain, for pods equal to `pod` as long as `state` lives."""
        found = state.find(self.kept_under, domain_counts.FailingDomains)
        if found is None:
            find = domain_counts.find_occupied
            found = self.term.failing(self.query(pod.shape), find, rejects_outside=False)
            state.write(self.kept_under, found)
        return (found.refresh(snap),)

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep how many of the pods are where."""
        state.write(self.kept_under, self.term.counted(self.query(pod.shape), snap))

    @base.evaluates
    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed."""
        snap = nodes.snapshot
        now = snap.counts.get_column(self.query(pod.shape)).get_counts(snap.size)
        here = state.read(self.kept_under, domains.Counted).here(now, nodes.rows)
        return status.NodeStatuses.where(here > 0, self._rejected)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the pods in the domain that keep the pod away."""
        snap = node.snapshot
        if reason not in self._rejected.reasons or not self.applies_to(state, pod.shape, snap):
            return ""
        row = int(node.row_numbers[0])
        query = self.query(pod.shape)
        pods = node_rejection_texts.list_counted_pods_in_domain(snap, query, self.topology_key, row)
        return (
            f"{node_rejection_texts.join_names_briefly(pods)} (topologyKey {self.topology_key})"
            if pods
            else ""
        )

    @abc.abstractmethod
    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods that keep a pod of `shape` away."""


class RequiredPodAntiAffinity(_RejectingOccupied):
    """Rejects nodes in whose domain a pod of the set runs."""

    def __init__(
        self, rule: checked.PodAffinityRule, rule_scope: scope.RuleScope, term: Term
    ) -> None:
        """Keep away from the pods of `term`."""
        reason = f"node(s) didn't match policy {rule.head.name}"
        super().__init__(rule, rule_scope, term, reason)

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods that count for a pod of `shape`."""
        return self.term.query(shape)


class RepellingPods(_RejectingOccupied):
    """The other side of required anti-affinity: placed pods on which the rule acts repel others.

    It filters the pods of every profile, those without the policy too. `scope` is whom the rule
    acts on, so whom this one is about follows from the term.
    """

    def __init__(
        self,
        rule: checked.PodAffinityRule,
        rule_scope: scope.RuleScope,
        term: Term,
        *,
        is_enforced_here: bool,
    ) -> None:
        """Repel the pods of `term`; `is_enforced_here`: the rule itself acts in this profile."""
        reason = f"node(s) didn't match policy {rule.head.name} of pods placed there"
        super().__init__(rule, rule_scope, term, reason)
        self._is_implied = is_enforced_here and term.pods.is_symmetric

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether a pod of `shape` may be in the set and the rule acts now."""
        namespaces = snap.counts.namespaces
        if not self.term.pods.may_include(shape, namespaces):
            return False
        if self._is_implied and self.scope.selects(shape, namespaces):
            return False  # the pod sees every pod that would repel it
        return self.scope.timetable.is_active(snap.now, state)

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the placed pods that repel pods of `shape`."""
        return self.term.repelling(shape, self.scope)


class PreferredPodAffinity(base.ScoreRule):
    """Points by the number of pods of the set in the domain, min-max over the feasible nodes.

    Most pods get 100, for anti-affinity fewest; all 0 when all are equal. A node without the label
    is in no domain and counts 0.
    """

    reads: ClassVar = interface.Reads.NODE | interface.Reads.PODS

    def __init__(
        self,
        rule: checked.PodAffinityRule,
        weight: int,
        rule_scope: scope.RuleScope,
        term: Term,
    ) -> None:
        """Score the domains of `term`."""
        super().__init__(rule.head, rule_scope, weight)
        self.term = term
        self.topology_key = term.topology_key
        self.comparison = comparison.Comparison(
            comparison.ComparisonKind.MINMAX, prefers_low=rule.anti
        )

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (n,): the pods of the set in the domain of each node."""
        here = self.term.in_domain_of(self.term.query(pod.shape), nodes)
        return np.zeros(len(nodes)) if here is None else here

    @base.evaluates
    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.FloatArray
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths for the feasible nodes."""
        return self.comparison.compare(scores)

    def by_domain(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> compared_scores.Numbers:
        """Return the pods of the set by domain, for pods equal to `pod`."""
        del state, snap
        counts = self.term.by_domain(self.term.query(pod.shape))
        return domain_counts.DomainValues(counts, self.term.slots, outside=0.0)


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = RequiredPodAffinity
    _evidence_of_others: type[interface.NodeEvidencePlugin] = RepellingPods
    _affinity: type[interface.FilterPlugin] = RequiredPodAffinity
    _anti_affinity: type[interface.FilterPlugin] = RequiredPodAntiAffinity
    _repelling: type[interface.FilterPlugin] = RepellingPods
    _affinity_apart: type[apart.ApartFilterPlugin] = RequiredPodAffinity
    _anti_affinity_apart: type[apart.ApartFilterPlugin] = RequiredPodAntiAffinity
    _repelling_apart: type[apart.ApartFilterPlugin] = RepellingPods
    _score: type[interface.ScorePlugin] = PreferredPodAffinity
    _by_domain: type[compared_scores.DomainScorePlugin] = PreferredPodAffinity
    _by_domains: type[domain_filters.DomainFilterPlugin] = RequiredPodAffinity
    _by_domains_of_others: type[domain_filters.DomainFilterPlugin] = RepellingPods
