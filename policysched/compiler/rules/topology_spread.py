"""`topologySpread`: pods of a set evenly over the domains of a label."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import domain_counts
from policysched.compiler.nodes import kept
from policysched.compiler.pods import pod_sets, scope
from policysched.compiler.rules import base, node_affinity
from policysched.framework import comparison, cycle_state, interface, status
from policysched.framework.filtering import domain_filters
from policysched.framework.scoring import compared_scores
from policysched.lang.checked import checked
from policysched.plugins.kernels import (
    domains,
    node_selection,
    spreading,
    tolerations,
)
from policysched.plugins.shared import node_rejection_texts

_MAX_SHAPES = 512
_HARD = "DoNotSchedule"
Sibling: TypeAlias = tuple[scope.RuleScope, str]
"""Whom a spread rule acts on, and its topologyKey."""
_Key: TypeAlias = tuple[pod_shape.PodShape, tuple[objects.Toleration, ...]]


class EligibleNodes:
    """The nodes that a spread rule looks at: those with all topology keys, and that are included.

    A pod's spread rules are taken together, like the constraints in a pod's spec: nodes that lack
    the topologyKey of any rule of the same whenUnsatisfiable that acts on the pod, or of such a
    constraint of its own, count for none of them. Sources: `podtopologyspread/filtering.go`,
    calPreFilterState; `scoring.go`, initPreScoreState.

    nodeAffinityPolicy Honor asks for nodes that the pod may run on by its own nodeSelector and node
    affinity and by the required nodeAffinity of policies; nodeTaintsPolicy Honor for nodes whose
    taints it tolerates, with the tolerations of policies.
    """

    def __init__(
        self,
        rule: checked.TopologySpreadRule,
        required: Sequence[node_affinity.RequiredNodeAffinity],
        siblings: Sequence[Sibling],
    ) -> None:
        """Take the inclusion policies of `rule`; `required` are those of the profile.

        `siblings` are the profile's spread rules of the same whenUnsatisfiable, `rule` included.
        """
        self.honors_taints = rule.node_taints_policy == "Honor"
        self._honors_affinity = rule.node_affinity_policy == "Honor"
        self._required = required if self._honors_affinity else ()
        self._siblings = siblings
        self._when_unsatisfiable = rule.when_unsatisfiable
        self._kept: OrderedDict[_Key, _Eligible] = OrderedDict()

    def prepare(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> None:
        """Find out once which rules the nodes of pods of `shape` must satisfy now."""
        key = (shape, state.tolerations)
        rules = [rule for rule in self._required if rule.applies_to(state, shape, snap)]
        keys = self._topology_keys(state, shape, snap)
        self._kept[key] = _Eligible(rules, keys, kept.KeptNodeMask())
        self._kept.move_to_end(key)
        if len(self._kept) > _MAX_SHAPES:
            self._kept.popitem(last=False)

    def mask(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> columns.BoolArray:
        """Return bool (N,): the rows that count."""
        eligible = self._prepared(state, shape, snap)

        def compute(nodes: snapshot.NodeView) -> columns.NodeMask:
            found = _has_keys(eligible.topology_keys, nodes)
            if self._honors_affinity:
                found &= node_selection.required_mask(shape, nodes)
            for rule in eligible.rules:
                found &= rule.mask.mask(nodes)
            if self.honors_taints:
                table = tolerations.TaintSetTable(tolerations.repels, state.tolerations)
                found &= table.at(nodes) == 0
            return found

        return eligible.kept.update(snap, compute) & snap.is_alive

    def has_keys(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, nodes: snapshot.NodeView
    ) -> columns.NodeMask:
        """Return bool (n,): the nodes that have every topology key."""
        return _has_keys(self._prepared(state, shape, nodes.snapshot).topology_keys, nodes)

    def _prepared(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> _Eligible:
        key = (shape, state.tolerations)
        if key not in self._kept:
            self.prepare(state, shape, snap)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _topology_keys(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> frozenset[str]:
        of_rules = (k for s, k in self._siblings if s.applies_to(state, shape, snap))
        return frozenset((*of_rules, *_own_keys(shape, self._when_unsatisfiable)))


@dataclasses.dataclass(frozen=True, slots=True)
class _Eligible:
    rules: list[node_affinity.RequiredNodeAffinity]
    topology_keys: frozenset[str]
    kept: kept.KeptNodeMask


def own_hard_keys(shape: pod_shape.PodShape) -> list[str]:
    """Return the topology keys of the DoNotSchedule constraints in the spec of a pod."""
    return _own_keys(shape, _HARD)


def _own_keys(shape: pod_shape.PodShape, when_unsatisfiable: str) -> list[str]:
    constraints = shape.spec.topology_spread_constraints
    return [c.topology_key for c in constraints if c.when_unsatisfiable == when_unsatisfiable]


def _has_keys(topology_keys: frozenset[str], nodes: snapshot.NodeView) -> columns.NodeMask:
    found: columns.NodeMask = np.ones(len(nodes), np.bool_)
    for key in topology_keys:
        found &= nodes.label_ids(key) >= 0
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Spread:
    """What hard and soft spread rules share: whom they count, where, on which nodes."""

    pods: pod_sets.PodSet
    topology_key: str
    eligible: EligibleNodes
    by_key: domains.DomainsByKey

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods that count for a pod of `shape`."""
        return pod_sets.PodsInSet(self.pods, self.pods.anchor(shape), counts_terminating=False)

    def domains_of(self, snap: snapshot.Snapshot) -> domains.Domains:
        """Return the domains of all nodes, eligible or not."""
        return self.by_key.get(snap, self.topology_key)

    def totals(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> tuple[columns.FloatArray, columns.BoolArray]:
        """Return the pods of the set in each domain, and which domains have an eligible node.

        float64 and bool (D + 1,), entry 0 for nodes in no domain; pods count on eligible nodes.
        """
        eligible = self.eligible_domains(state, shape, snap)
        return eligible.sums(self.counts(shape, snap)), eligible.present()

    def eligible_domains(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> domains.Domains:
        """Return the domains of the nodes on which pods count."""
        return self.domains_of(snap).only(self.eligible.mask(state, shape, snap))

    def by_domain(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape
    ) -> domain_counts.DomainCounts:
        """Return the pods of the set in each domain, patched where pods come and go."""

        def eligible(snap: snapshot.Snapshot) -> domains.Domains:
            return self.eligible_domains(state, shape, snap)

        return domain_counts.DomainCounts(self.query(shape), eligible)

    def slots(self, snap: snapshot.Snapshot) -> npt.NDArray[np.intp]:
        """Return intp (N,): the domain of each node, eligible or not, 0 for none."""
        return self.domains_of(snap).slots

    def counts(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> columns.IntArray:
        """Return int64 (N,): the pods of the set by row."""
        return snap.counts.get_column(self.query(shape)).get_counts(snap.size)


class HardSpread(base.PolicyRule):
    """Rejects nodes on which the pod would make the skew larger than allowed.

    skew = pods in the node's domain + the pod, if it is in the set - fewest pods in any domain
    (0 while there are fewer than minDomains domains). Source: `podtopologyspread/filtering.go`.
    """

    reads: ClassVar = interface.Reads.NODE | interface.Reads.PODS

    def __init__(
        self, rule: checked.TopologySpreadRule, rule_scope: scope.RuleScope, spread: Spread
    ) -> None:
        """Hold the skew of `spread` down."""
        super().__init__(rule.head, rule_scope)
        self.spread = spread
        self.topology_key = spread.topology_key
        self._max_skew = rule.max_skew
        self._min_domains = rule.min_domains
        self._rejected = self.rejection(
            status.Code.UNSCHEDULABLE, f"node(s) didn't match policy {rule.head.name}"
        )
        self._lacks_label = self.lacks_label(spread.topology_key)
        self.answers = (status.SUCCESS, self._rejected, self._lacks_label)

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now."""
        if not super().applies_to(state, shape, snap):
            return False
        self.spread.eligible.prepare(state, shape, snap)
        return True

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        snap = nodes.snapshot
        counts, has_node = self.spread.totals(state, pod.shape, snap)
        is_in_set = self.spread.pods.includes(pod.shape, pod.shape, snap.counts.namespaces)
        violating = spreading.violating_domains(
            counts,
            has_node,
            own=int(is_in_set),
            max_skew=self._max_skew,
            min_domains=self._min_domains,
        )
        slots = self.spread.domains_of(snap).slots[nodes.rows]
        return status.NodeStatuses.first_of(
            len(nodes), [(slots == 0, self._lacks_label), (violating[slots], self._rejected)]
        )

    def domain_tables(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Sequence[domain_filters.DomainTable]:
        """Return the answers by domain, for pods equal to `pod` as long as `state` lives."""
        found = state.find(self.kept_under, domain_counts.FailingDomains)
        if found is None:
            is_in_set = self.spread.pods.includes(pod.shape, pod.shape, snap.counts.namespaces)
            find_failing = functools.partial(
                spreading.violating_domains,
                own=int(is_in_set),
                max_skew=self._max_skew,
                min_domains=self._min_domains,
            )
            counts = self.spread.by_domain(state, pod.shape)
            found = domain_counts.FailingDomains(
                counts, self.spread.domains_of, find_failing, rejects_outside=True
            )
            state.write(self.kept_under, found)
        return (found.refresh(snap),)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the domain and the counts that exceed maxSkew, or the label that lacks."""
        snap, found = node.snapshot, node_rejection_texts.get_only_node(node)
        slot = int(self.spread.slots(snap)[node.rows][0])
        if slot == 0:
            place = node_rejection_texts.format_node_label(found, self.topology_key)
            return place if reason in self._lacks_label.reasons else ""
        if reason not in self._rejected.reasons:
            return ""
        counts = self.spread.counts(pod.shape, snap)
        eligible = self.spread.eligible_domains(state, pod.shape, snap)
        before = self._before(state, pod, snap)
        return node_rejection_texts.format_skew_counts(
            found,
            self.topology_key,
            here=int(eligible.sums(counts)[slot]),
            own=int(self.spread.pods.includes(pod.shape, pod.shape, snap.counts.namespaces)),
            skew=int(before.skew(np.array([slot], np.intp), counts, node.rows)[0]),
            max_skew=self._max_skew,
        )

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Keep how the pods of the set are spread."""
        state.write(self.kept_under, self._before(state, pod, snap))

    def _before(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> spreading.SpreadBefore:
        eligible = self.spread.eligible_domains(state, pod.shape, snap)
        counted = domains.Counted(eligible, self.spread.counts(pod.shape, snap))
        return spreading.SpreadBefore(counted, eligible.present(), self._min_domains)

    @base.evaluates
    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes, as if only its own pods had changed."""
        snap = nodes.snapshot
        slots = self.spread.domains_of(snap).slots[nodes.rows]
        is_in_set = self.spread.pods.includes(pod.shape, pod.shape, snap.counts.namespaces)
        before = state.read(self.kept_under, spreading.SpreadBefore)
        skew = before.skew(slots, self.spread.counts(pod.shape, snap), nodes.rows)
        violating = skew + int(is_in_set) > self._max_skew
        return status.NodeStatuses.first_of(
            len(nodes), [(slots == 0, self._lacks_label), (violating, self._rejected)]
        )

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods that count for a pod of `shape`."""
        return self.spread.query(shape)


class SoftSpread(base.ScoreRule):
    """Points by the number of pods of the set in the domain, fewest best, min-max, all equal 0.

    A node that lacks the label of this or of another soft spread rule gets 0.
    """

    reads: ClassVar = interface.Reads.NODE | interface.Reads.PODS
    comparison: ClassVar = comparison.Comparison(comparison.ComparisonKind.MINMAX, prefers_low=True)

    def __init__(
        self,
        rule: checked.TopologySpreadRule,
        weight: int,
        rule_scope: scope.RuleScope,
        spread: Spread,
    ) -> None:
        """Score the domains of `spread`."""
        super().__init__(rule.head, rule_scope, weight)
        self.spread = spread

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now."""
        if not super().applies_to(state, shape, snap):
            return False
        self.spread.eligible.prepare(state, shape, snap)
        return True

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.FloatArray:
        """Return float64 (n,): the pods in the domain of each node, NaN without all labels."""
        counts, _ = self.spread.totals(state, pod.shape, nodes.snapshot)
        slots = self.spread.domains_of(nodes.snapshot).slots[nodes.rows]
        return np.where(
            self.spread.eligible.has_keys(state, pod.shape, nodes), counts[slots], np.nan
        )

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
        del snap
        shape = pod.shape

        def slots(snap: snapshot.Snapshot) -> npt.NDArray[np.intp]:
            own = self.spread.slots(snap)
            has_keys = self.spread.eligible.has_keys(state, shape, snap.view_all_rows())
            without = ~has_keys & (own > 0)
            return np.where(without, 0, own) if without.any() else own

        counts = self.spread.by_domain(state, shape)
        return domain_counts.DomainValues(counts, slots, outside=math.nan)


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = HardSpread
    _filter: type[interface.FilterPlugin] = HardSpread
    _score: type[interface.ScorePlugin] = SoftSpread
    _by_domain: type[compared_scores.DomainScorePlugin] = SoftSpread
    _by_domains: type[domain_filters.DomainFilterPlugin] = HardSpread
