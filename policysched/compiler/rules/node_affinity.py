"""`nodeAffinity required|preferred`: nodes by their labels, taints and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import condition_evidence
from policysched.compiler.nodes import node_facts, node_masks
from policysched.compiler.pods import scope
from policysched.compiler.rules import base
from policysched.framework import comparison, cycle_state, interface, status
from policysched.lang.checked import checked


class RequiredNodeAffinity(base.PolicyRule):
    """Rejects the nodes that do not match.

    Attributes:
        facts: what the selector reads besides labels, taints and names.
    """

    reads: ClassVar = interface.Reads.NODE

    def __init__(
        self,
        rule: checked.NodeAffinityRule,
        rule_scope: scope.RuleScope,
    ) -> None:
        """Compile the selector of `rule`."""
        super().__init__(rule.head, rule_scope)
        self.mask = node_masks.lower(rule.selector)
        self._selector = rule.selector
        self.facts = node_facts.find_facts_of_selector(rule.selector)
        self.rejected = self.rejection(
            status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            f"node(s) didn't match policy {rule.head.name}",
        )

    def rejects_elsewhere(self, nodes: snapshot.NodeView, shape: pod_shape.PodShape) -> bool:
        """Return whether the rule rejects a node of a view that is not of the cluster."""
        del shape
        return not self.mask.mask(nodes).all()

    @base.evaluates
    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        return status.NodeStatuses.where(~self.mask.mask(nodes), self.rejected)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the labels, taints and name that make the node not match."""
        del state, pod, reason
        parts = condition_evidence.selector_parts(self._selector, wanted=False, node=node)
        return ", ".join(dict.fromkeys(parts))


class PreferredNodeAffinity(base.ScoreRule):
    """100 points for the nodes that match, 0 for the others."""

    reads: ClassVar = interface.Reads.NODE

    def __init__(
        self,
        rule: checked.NodeAffinityRule,
        weight: int,
        rule_scope: scope.RuleScope,
    ) -> None:
        """Compile the selector of `rule`."""
        super().__init__(rule.head, rule_scope, weight)
        self.mask = node_masks.lower(rule.selector)

    @base.evaluates
    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,) hundredths."""
        return comparison.FULL * self.mask.mask(nodes).astype(np.int64)


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = RequiredNodeAffinity
    _filter: type[interface.FilterPlugin] = RequiredNodeAffinity
    _score: type[interface.ScorePlugin] = PreferredNodeAffinity
