"""`topologySpread`: pods of a set evenly over the domains of a label."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from policysched.cluster import columns, objects, pod_counts, pod_shape, snapshot
from policysched.compiler import column, kept, physical, pod_sets, scope
from policysched.compiler.kernels import points
from policysched.compiler.rules import base, node_affinity
from policysched.framework import cycle_state, interface, status
from policysched.lang import checked
from policysched.plugins.kernels import domains, node_selection, spreading, tolerations

_MAX_SHAPES = 512
_Key: TypeAlias = tuple[pod_shape.PodShape, tuple[objects.Toleration, ...]]


class EligibleNodes:
    """The nodes that a spread rule looks at: the node inclusion policies.

    nodeAffinityPolicy Honor asks for nodes that the pod may run on by its own nodeSelector and node
    affinity and by the required nodeAffinity of policies; nodeTaintsPolicy Honor for nodes whose
    taints it tolerates, with the tolerations of policies.
    """

    def __init__(
        self,
        rule: checked.TopologySpreadRule,
        required: Sequence[node_affinity.RequiredNodeAffinity],
    ) -> None:
        """Take the inclusion policies of `rule`; `required` are those of the profile."""
        self.honors_taints = rule.node_taints_policy == "Honor"
        self._honors_affinity = rule.node_affinity_policy == "Honor"
        self._required = required if self._honors_affinity else ()
        self._kept: OrderedDict[_Key, _Eligible] = OrderedDict()

    def prepare(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> None:
        """Find out once which rules the nodes of pods of `shape` must satisfy now."""
        key = (shape, state.tolerations)
        rules = [rule for rule in self._required if rule.applies_to(state, shape, snap)]
        self._kept[key] = _Eligible(rules, kept.KeptColumn[column.Truths](interface.Reads.NODE))
        if len(self._kept) > _MAX_SHAPES:
            self._kept.popitem(last=False)

    def mask(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> columns.BoolArray:
        """Return bool (N,): the rows that count."""
        key = (shape, state.tolerations)
        if key not in self._kept:
            self.prepare(state, shape, snap)
        eligible = self._kept[key]

        def compute(nodes: snapshot.NodeView, own_state: cycle_state.CycleState) -> column.Truths:
            found = np.ones(len(nodes), np.bool_)
            if self._honors_affinity:
                found &= node_selection.required_mask(shape, nodes)
            for rule in eligible.rules:
                found &= rule.matching(physical.Batch(nodes, shape, own_state))
            if self.honors_taints:
                table = tolerations.TaintSetTable(tolerations.repels, state.tolerations)
                found &= table.at(nodes) == 0
            return column.definite(found)

        all_rows = snap.all_rows()
        return eligible.kept.on(all_rows, state, compute).is_true & snap.is_alive


@dataclasses.dataclass(frozen=True, slots=True)
class _Eligible:
    rules: list[node_affinity.RequiredNodeAffinity]
    kept: kept.KeptColumn[column.Truths]


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
        eligible = self.domains_of(snap).only(self.eligible.mask(state, shape, snap))
        counts = snap.counts.matching(self.query(shape)).by_row(snap.size)
        return eligible.sums(counts), eligible.present()


class HardSpread(base.PolicyRule):
    """Rejects nodes on which the pod would make the skew larger than allowed.

    skew = pods in the node's domain + the pod, if it is in the set - fewest pods in any domain
    (0 while there are fewer than minDomains domains). Source: `podtopologyspread/filtering.go`.
    """

    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(
        self, rule: checked.TopologySpreadRule, rule_scope: scope.RuleScope, spread: Spread
    ) -> None:
        """Hold the skew of `spread` down."""
        super().__init__(rule.head, rule_scope)
        self.spread = spread
        self.topology_key = spread.topology_key
        self._max_skew = rule.max_skew
        self._min_domains = rule.min_domains or 1
        self._rejected = self.rejection(
            status.Code.UNSCHEDULABLE, f"node(s) didn't match policy {rule.head.name}"
        )
        self._lacks_label = self.lacks_label(spread.topology_key)

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

    def query(self, shape: pod_shape.PodShape) -> pod_counts.PodQuery:
        """Return the question for the pods that count for a pod of `shape`."""
        return self.spread.query(shape)


class SoftSpread(base.ScoreRule):
    """Points by the number of pods of the set in the domain, fewest best, min-max, all equal 0.

    A node without the label gets 0.
    """

    reads: ClassVar = interface.Reads.ANYTHING

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
        """Return float64 (n,): the pods in the domain of each node, NaN without the label."""
        counts, _ = self.spread.totals(state, pod.shape, nodes.snapshot)
        slots = self.spread.domains_of(nodes.snapshot).slots[nodes.rows]
        return np.where(slots == 0, np.nan, counts[slots])

    @base.evaluates
    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.FloatArray
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths for the feasible nodes."""
        hundredths = np.zeros(len(scores), np.int64)
        has_label = ~np.isnan(scores)
        hundredths[has_label] = points.minmax(scores[has_label], 0.0, prefer_low=True)
        return hundredths


if TYPE_CHECKING:
    _filter: type[interface.FilterPlugin] = HardSpread
    _score: type[interface.ScorePlugin] = SoftSpread
    _normalize: type[interface.NormalizeScorePlugin] = SoftSpread
