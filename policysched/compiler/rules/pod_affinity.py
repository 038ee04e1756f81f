"""`podAffinity` and `podAntiAffinity`: near, or away from, the pods of a set.

Each rule is a term of its own: a node must satisfy every required one.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import columns, pod_counts, pod_shape, snapshot
from policysched.compiler import pod_sets, scope
from policysched.compiler.kernels import domains, points
from policysched.compiler.rules import base
from policysched.framework import cycle_state, interface, status
from policysched.lang import checked


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
    """The pods that a rule counts, and the label whose values are the domains."""

    pods: pod_sets.PodSet
    topology_key: str

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods of the set as a pod of `shape` sees it."""
        return pod_sets.PodsInSet(self.pods, self.pods.anchor(shape), counts_terminating=True)

    def repelling(
        self, shape: pod_shape.PodShape, carriers: scope.RuleScope
    ) -> pod_counts.PodQuery:
        """Return the question for the pods of `carriers` that see pods of `shape` in the set."""
        return pod_sets.PodsRepelling(carriers, self.pods, self.pods.anchor(shape))

    def by_domain(self, query: pod_counts.PodQuery, snap: snapshot.Snapshot) -> columns.IntArray:
        """Return int64 (D + 1,): the pods that `query` selects in each domain, the last entry 0."""
        labels = snap.nodes.label(self.topology_key)
        counted = snap.counts.matching(query)
        if counted.total == 0:
            return np.zeros(len(labels.values) + 1, np.int64)
        ids, counts = labels.ids[: snap.size], counted.by_row(snap.size)
        return domains.by_domain(ids, counts, len(labels.values))

    def domains_with(
        self, query: pod_counts.PodQuery, nodes: snapshot.NodeView
    ) -> columns.NodeMask | None:
        """Return bool (n,): the nodes in whose domain a selected pod runs; None for no node."""
        if nodes.snapshot.counts.matching(query).total == 0:
            return None
        by_domain = self.by_domain(query, nodes.snapshot)
        found: columns.NodeMask = by_domain[nodes.label_ids(self.topology_key)] > 0
        return found


class RequiredPodAffinity(base.PolicyRule):
    """Rejects nodes in whose domain no pod of the set runs.

    While no pod of the set runs in any domain, a pod that belongs to the set itself may go to any
    node that has the label (`interpodaffinity/filtering.go`, satisfyPodAffinity).
    """

    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self, rule: checked.PodAffinityRule, rule_scope: scope.RuleScope, term: Term
    ) -> None:
        """Look for the pods of `term`."""
        super().__init__(rule.head, rule_scope)
        self.term = term
        self._rejected = self.rejection(
            status.Code.UNSCHEDULABLE, f"node(s) didn't match policy {rule.head.name}"
        )
        self._lacks_label = self.lacks_label(term.topology_key)

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        by_domain = self.term.by_domain(self.term.query(pod.shape), nodes.snapshot)
        ids = nodes.label_ids(self.term.topology_key)
        lacks_label = ids < 0
        is_first = not by_domain.any() and self.term.pods.includes(
            pod.shape, pod.shape, nodes.snapshot.counts.namespaces
        )
        if is_first:
            return status.NodeStatuses.where(lacks_label, self._lacks_label)
        return status.NodeStatuses.first_of(
            len(nodes), [(lacks_label, self._lacks_label), (by_domain[ids] == 0, self._rejected)]
        )


class RequiredPodAntiAffinity(base.PolicyRule):
    """Rejects nodes in whose domain a pod of the set runs."""

    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self, rule: checked.PodAffinityRule, rule_scope: scope.RuleScope, term: Term
    ) -> None:
        """Keep away from the pods of `term`."""
        super().__init__(rule.head, rule_scope)
        self.term = term
        self._rejected = self.rejection(
            status.Code.UNSCHEDULABLE, f"node(s) didn't match policy {rule.head.name}"
        )

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        return _rejecting(
            self.term.domains_with(self.term.query(pod.shape), nodes), nodes, self._rejected
        )


class RepellingPods(base.PolicyRule):
    """The other side of required anti-affinity: placed pods on which the rule acts repel others.

    It filters the pods of every profile, those without the policy too. `scope` is whom the rule
    acts on, so whom this one is about follows from the term.
    """

    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self,
        rule: checked.PodAffinityRule,
        rule_scope: scope.RuleScope,
        term: Term,
        *,
        is_enforced_here: bool,
    ) -> None:
        """Repel the pods of `term`; `is_enforced_here`: the rule itself acts in this profile."""
        super().__init__(rule.head, rule_scope)
        self.term = term
        self._is_implied = is_enforced_here and term.pods.is_symmetric
        self._rejected = self.rejection(
            status.Code.UNSCHEDULABLE,
            f"node(s) didn't match policy {rule.head.name} of pods placed there",
        )

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

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        query = self.term.repelling(pod.shape, self.scope)
        return _rejecting(self.term.domains_with(query, nodes), nodes, self._rejected)


class PreferredPodAffinity(base.ScoreRule):
    """Points by the number of pods of the set in the domain, min-max over the feasible nodes.

    Most pods get 100, for anti-affinity fewest; all 0 when all are equal. A node without the label
    is in no domain and counts 0.
    """

    reads: ClassVar = interface.Reads.ANYTHING

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
        self._prefers_low = rule.anti

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (n,): the pods of the set in the domain of each node."""
        by_domain = self.term.by_domain(self.term.query(pod.shape), nodes.snapshot)
        return by_domain[nodes.label_ids(self.term.topology_key)].astype(np.float64)

    @base.evaluates
    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.FloatArray
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths for the feasible nodes."""
        return points.minmax(scores, 0.0, prefer_low=self._prefers_low)


def _rejecting(
    fails: columns.NodeMask | None, nodes: snapshot.NodeView, rejected: status.Status
) -> status.NodeStatuses:
    if fails is None:
        return status.NodeStatuses.passing(len(nodes))
    return status.NodeStatuses.where(fails, rejected)


if TYPE_CHECKING:
    _affinity: type[interface.FilterPlugin] = RequiredPodAffinity
    _anti_affinity: type[interface.FilterPlugin] = RequiredPodAntiAffinity
    _repelling: type[interface.FilterPlugin] = RepellingPods
    _score: type[interface.ScorePlugin] = PreferredPodAffinity
    _normalize: type[interface.NormalizeScorePlugin] = PreferredPodAffinity
