"""`reject when`: nodes on which a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import (
    column,
    condition_evidence,
    expressions,
    lowering,
    physical,
    rewrites,
    row_code,
    row_programs,
    scope,
)
from policysched.compiler.rules import base, hysteresis
from policysched.framework import cycle_state, interface, status
from policysched.lang.checked import checked, checked_expr


class Reject(base.PolicyRule):
    """Rejects the nodes on which the condition holds.

    A condition whose truth depends on missing data is read as `on_missing` says. When a metric has
    no valid sample on any node, and nothing stands in, the rule drops out: an outage must not stop
    scheduling.

    Attributes:
        reads: what the answers depend on.
        condition: the plan.
        outage: tells whether a metric is lost.
        told: puts into words what it saw of its metrics; None if it reads none.
        hysteresis: which nodes stay rejected once they are; None without `until`.
        together: answers for it and others about one node; None for one that holds nodes.
        follows_amounts: see `row_programs.Rule`.
    """

    def __init__(
        self,
        rule: checked.RejectRule,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: row_programs.RowPrograms,
    ) -> None:
        """Compile the condition of `rule`."""
        super().__init__(rule.head, rule_scope)
        condition = rewrites.apply(rule.condition)
        self.condition = lower.condition(condition)
        self.reads = reads_of_rule(condition)
        self.outage = lower.outage(condition)
        self.told = lower.evidence(rule.head, rule.condition)
        self._parts = condition_evidence.ConditionEvidence(rule.condition, lower)
        self.hysteresis: hysteresis.Hysteresis | None = None
        if rule.until is not None:
            self.hysteresis = hysteresis.Hysteresis(rule.condition, rule.until, lower)
        self.together = None if self.hysteresis else programs
        self.follows_amounts = expressions.follows_amounts(condition)
        self._guards = [lower.condition(part) for part in _pod_parts(condition)]
        self._rejects_unknown = rule.on_missing == "reject"
        resolvable = checked_expr.reads_pods_on_node(condition)
        code = (
            status.Code.UNSCHEDULABLE if resolvable else status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        )
        self._rejected = self.rejection(code, f"node(s) rejected by policy {rule.head.name}")

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now and can reject anything."""
        if not super().applies_to(state, shape, snap):
            return False
        return not self._guards or self._may_hold(
            physical.Batch(snap.view_all_rows(), shape, state)
        )

    @base.evaluates
    def _may_hold(self, batch: physical.Batch) -> bool:
        """Return False where the condition says something of the pod that is not so."""
        answers = (physical.evaluate(guard, batch) for guard in self._guards)
        return not any(answer.is_false is column.ALWAYS for answer in answers)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        rejecting = self.rejecting(physical.Batch(nodes, pod.shape, state))
        return status.NodeStatuses.where(rejecting, self._rejected)

    @base.evaluates
    def filter_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> status.Status:
        """Return the answer for one node."""
        if self.outage.is_on(node.snapshot, state):
            return status.SUCCESS
        truth = self.condition.at(physical.OneNode(node, pod.shape, state))
        is_rejecting = truth is True or (truth is None and self._rejects_unknown)
        if truth is False and self.hysteresis is not None:
            nodes = node.snapshot.view_rows(np.array([node.row]))
            is_rejecting = bool(self.hysteresis.is_held(nodes)[0])
        return self._rejected if is_rejecting else status.SUCCESS

    def write_filter(self, code: row_code.Writer) -> None:
        """Write what `filter_row` does, but for nodes that are held."""
        lost = code.outage(self.outage)
        truth = code.of(self.condition)
        rejects = f"{truth.name} is not False" if self._rejects_unknown else truth.name
        guard = f"not {lost} and " if lost else ""
        code.line(f"if {guard}{rejects}: return {code.value(self._rejected)}")

    def evidence(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: interface.Diagnosis
    ) -> str:
        """Return what the rule saw of its metrics on the nodes that it rejected."""
        if self.told is None or diagnosis.pre_filter is not None:
            return ""
        if not self.applies_to(cycle_state.CycleState(), pod.shape, snap):
            return ""
        lost = self.outage(snap)
        if lost is not None:
            return self.told.skipped(lost, snap)
        own = [n for n, each in enumerate(diagnosis.statuses) if each == self._rejected]
        rows = np.flatnonzero(np.isin(diagnosis.ids, own))
        if not len(rows):
            return ""
        nodes = snap.view_rows(rows)
        return self.told.on_nodes(nodes, self._only_held(nodes, pod.shape))

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the evidence of the condition on the node, its metrics first."""
        if reason not in self._rejected.reasons or not self.applies_to(
            state, pod.shape, node.snapshot
        ):
            return ""
        measured = self.measured_on(node)
        parts = self._parts.on_node(node, pod.shape, state)
        return "; ".join([measured, *parts] if measured else parts)

    def measured_on(self, node: snapshot.NodeView) -> str:
        """Return the metric evidence of the rule on one node, "" if it reads no metric."""
        if self.told is None:
            return ""
        is_held = self.hysteresis is not None and bool(self.hysteresis.is_held(node)[0])
        return self.told.on_node(node) + (", held by `until`" if is_held else "")

    @base.evaluates
    def _only_held(self, nodes: snapshot.NodeView, shape: pod_shape.PodShape) -> int:
        """Return on how many nodes `until` keeps up what the condition alone would end."""
        if self.hysteresis is None:
            return 0
        batch = physical.Batch(nodes, shape, cycle_state.CycleState(), keeps=False)
        is_over = physical.evaluate(self.condition, batch).is_false
        return int(np.count_nonzero(is_over & self.hysteresis.is_held(nodes)))

    @base.evaluates
    def rejecting(self, batch: physical.Batch) -> columns.NodeMask:
        """Return bool (n,): the nodes of the batch that the rule rejects."""
        size = len(batch.nodes)
        if self.outage.is_on(batch.nodes.snapshot, batch.state):
            return np.zeros(size, np.bool_)
        truths = physical.evaluate(self.condition, batch)
        rejecting = ~truths.is_false if self._rejects_unknown else truths.is_true
        if self.hysteresis is not None:
            rejecting = rejecting | (truths.is_false & self.hysteresis.is_held(batch.nodes))
        return column.on_each(rejecting, size)


def reads_of_rule(expr: checked_expr.TypedExpr) -> interface.Reads:
    """Return what the answers of a rule depend on.

    Whether a metric is out is decided by all nodes. A rule that reads nothing is for the framework
    one that reads nodes: reading nothing would mean reading anything.
    """
    reads = expressions.reads(expr) | interface.Reads.NODE
    if interface.Reads.METRICS in reads:
        reads |= interface.Reads.ALL_NODES
    return reads


def _pod_parts(condition: checked_expr.TypedExpr) -> list[checked_expr.TypedExpr]:
    """Return what must hold of the pod for the condition to hold on any node."""
    parts = condition.operands if isinstance(condition, checked_expr.And) else (condition,)
    return [part for part in parts if not expressions.reads(part)]


if TYPE_CHECKING:
    _filter: type[interface.RowFilterPlugin] = Reject
    _evidence: type[interface.NodeEvidencePlugin] = Reject
