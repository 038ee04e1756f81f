"""`reject when`: nodes on which a condition holds."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.compiler import (
    condition_evidence,
    expressions,
    lowering,
    rewrites,
    rule_programs,
    time_evidence,
)
from policysched.compiler.nodes import node_facts
from policysched.compiler.pods import scope
from policysched.compiler.rules import base, hysteresis
from policysched.framework import apart, cycle_state, interface, status
from policysched.kernels import programs as operations
from policysched.lang.checked import checked, checked_expr, elapsed_times


class SampleVerdicts(NamedTuple):
    """The verdicts about n nodes by samples alone.

    Attributes:
        is_rejected: bool (n,), whether the condition holds.
        is_unknown: bool (n,), whether the condition is undecided for lack of samples, now or in the
            past of `until`.
    """

    is_rejected: columns.NodeMask
    is_unknown: columns.NodeMask


class Reject(base.PolicyRule):
    """Rejects the nodes on which the condition holds.

    A condition whose truth depends on missing data is read as `on_missing` says. When a metric has
    no valid sample on any node, and nothing stands in, the rule drops out: an outage must not stop
    scheduling.

    Attributes:
        reads: what the answers depend on.
        facts: what the condition reads of nodes besides labels, taints, names and amounts.
        condition: the condition after rewrites.
        outage: tells whether a metric is lost.
        told: puts into words what it saw of its metrics; None if it reads none.
        hysteresis: which nodes stay rejected once they are; None without `until`.
        together: answers for it and others about one node; None for one that holds nodes.
        rejected: the answer for nodes that the rule rejects.
        node_ages: ages of nodes in seconds at which the condition may change.
    """

    def __init__(
        self,
        rule: checked.RejectRule,
        rule_scope: scope.RuleScope,
        lower: lowering.Lowering,
        programs: rule_programs.RulePrograms,
    ) -> None:
        """Compile the condition of `rule`."""
        super().__init__(rule.head, rule_scope)
        condition = rewrites.apply(rule.condition)
        self.condition = lower.lower(condition)
        self._lower = lower
        self.reads = reads_of_rule(condition)
        self.facts = node_facts.find_facts_of_condition(condition)
        self.outage = lower.outage(condition)
        self.told = lower.evidence(rule.head, rule.condition)
        self._parts = condition_evidence.ConditionEvidence(rule.condition, lower)
        self.hysteresis: hysteresis.Hysteresis | None = None
        if rule.until is not None:
            self.reads |= interface.Reads.NODE  # which nodes are held
            self.hysteresis = hysteresis.Hysteresis(rule.condition, rule.until, lower)
        self.together = None if self.hysteresis else programs
        self.node_ages = elapsed_times.list_time_bounds([condition], "nodeAge")
        self._guards = [lower.lower(part) for part in _pod_parts(condition)]
        self._rejects_unknown = rule.on_missing == "reject"
        resolvable = checked_expr.reads_placed_pods(condition)
        code = (
            status.Code.UNSCHEDULABLE if resolvable else status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        )
        is_affinity = rule.head.kind == "nodeAffinity"
        verb = "didn't match" if is_affinity else "rejected by"
        self.rejected = self.rejection(code, f"node(s) {verb} policy {rule.head.name}")

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now and can reject anything."""
        if not super().applies_to(state, shape, snap):
            return False
        return not self._guards or self._may_hold(state, shape, snap)

    @base.evaluates
    def _may_hold(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return False if the condition requires something of the pod that is not so."""
        any_row = snap.view_rows(np.zeros(1, np.intp))  # the guards read the pod alone
        return all(guard.evaluate(any_row, shape, state).item(0) != 0 for guard in self._guards)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        return status.NodeStatuses.where(self._reject(state, pod.shape, nodes), self.rejected)

    def write(self, writer: lowering.ExpressionWriter) -> None:
        """Write the condition, without nodes that are held."""
        register = writer.write(self.condition.source)
        writer.draft.end(operations.REJECT, register, [float(self._rejects_unknown)])

    def evidence(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: interface.Diagnosis
    ) -> str:
        """Return what the rule saw of its metrics, and how long the pod has to wait.

        It speaks only of nodes that it rejected.
        """
        times = self.describe_pod_times(pod, snap)
        if diagnosis.pre_filter is not None or (self.told is None and not times):
            return ""
        if not self.applies_to(cycle_state.CycleState(), pod.shape, snap):
            return ""
        lost = self.outage(snap)
        if lost is not None and self.told is not None:
            return self.told.skipped(lost, snap)
        own = [n for n, each in enumerate(diagnosis.statuses) if each == self.rejected]
        rows = np.flatnonzero(np.isin(diagnosis.ids, own))
        if not len(rows):
            return ""
        nodes = snap.view_rows(rows)
        if self.told is None:
            return f"{self.head.name} (line {self.head.span.line}): {'; '.join(times)}"
        measured = self.told.on_nodes(nodes, self._only_held(nodes, pod.shape))
        return "; ".join([measured, *times])

    def describe_pod_times(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> list[str]:
        """Return the comparisons of times of the pod whose answers will change."""
        return time_evidence.describe_pod_times(self.condition.source, pod, snap)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the evidence of the condition on the node, its metrics first."""
        if reason not in self.rejected.reasons or not self.applies_to(
            state, pod.shape, node.snapshot
        ):
            return ""
        measured = self.measured_on(node)
        parts = self._parts.on_node(node, pod, state)
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
        truths = self.condition.evaluate(nodes, shape, cycle_state.CycleState())
        return int(np.count_nonzero((truths == 0) & self.hysteresis.is_held(nodes)))

    def rejects_elsewhere(self, nodes: snapshot.NodeView, shape: pod_shape.PodShape) -> bool:
        """Return whether the rule rejects a node of a view that is not of the cluster.

        The rule reads neither metrics nor pods.
        """
        truths = self.condition.program.run_elsewhere(nodes, shape)[0]
        return bool(self._select_rejected(truths).any())

    @base.evaluates
    def _reject(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, nodes: snapshot.NodeView
    ) -> columns.NodeMask:
        """Return bool (n,): the nodes that the rule rejects."""
        if self.outage.is_on(nodes.snapshot, state):
            return np.zeros(len(nodes), np.bool_)
        truths = self.condition.evaluate(nodes, shape, state)
        rejected = self._select_rejected(truths)
        if self.hysteresis is not None:
            rejected |= (truths == 0) & self.hysteresis.is_held(nodes)
        return rejected

    @functools.cached_property
    def _measured(self) -> lowering.Expression:
        """The condition by samples alone, without the expected load of just-placed pods."""
        if interface.Reads.METRICS not in self.reads:
            return self.condition
        return self._lower.measured().lower(self.condition.source)

    @property
    def metrics(self) -> frozenset[str]:
        """The keys of the metrics of its conditions."""
        own = frozenset(checked_expr.list_read_metrics(self.condition.source))
        return own if self.hysteresis is None else own | self.hysteresis.metrics

    @property
    def judges_attempts(self) -> bool:
        """Whether the condition is about the moment of an attempt: `waiting` or `podAge`."""
        times = (
            each
            for each in checked_expr.walk_expressions(self.condition.source)
            if isinstance(each, checked_expr.ElapsedTime)
        )
        return any(each.kind != "nodeAge" for each in times)

    def remember_by_samples(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> None:
        """Let `judge_by_samples` count for each node as if only its own pods had changed."""
        if self._measured.program.counted:
            self._measured.program.remember_counts(state, shape, snap)

    @base.evaluates
    def judge_by_samples(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, nodes: snapshot.NodeView
    ) -> SampleVerdicts:
        """Return which of n nodes the rule rejects, except for lack of samples.

        The expected load of just-placed pods is not added to samples.
        """
        nowhere: columns.NodeMask = np.zeros(len(nodes), np.bool_)
        if self.outage.is_on(nodes.snapshot, state):
            return SampleVerdicts(nowhere, ~nowhere)
        truths = self._measured.evaluate(nodes, shape, state)
        if interface.Reads.METRICS not in self.reads:
            return SampleVerdicts(self._select_rejected(truths), nowhere)
        rejected: columns.NodeMask = truths == 1
        is_unknown: columns.NodeMask = np.isnan(truths)
        if self.hysteresis is not None:
            rejected |= (truths == 0) & self.hysteresis.is_held(nodes)
            is_unknown |= (truths == 0) & self.hysteresis.is_unknown(nodes)
        return SampleVerdicts(rejected, is_unknown)

    def _select_rejected(self, truths: columns.FloatArray) -> columns.NodeMask:
        selected: columns.NodeMask = truths != 0 if self._rejects_unknown else truths == 1
        return selected


class DeviceReject(Reject):
    """Rejects nodes on which a condition holds that reads devices, which no eviction frees."""

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Do nothing, because devices are the same for supposed pods."""

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes."""
        return self.filter(state, pod, nodes)


def reads_of_rule(expr: checked_expr.TypedExpr) -> interface.Reads:
    """Return what the answers of a rule depend on.

    Whether a metric is out is decided by all nodes. A rule that reads nothing is for the framework
    one that reads nodes: reading nothing would mean reading anything.
    """
    reads = expressions.reads(expr) or interface.Reads.NODE
    if interface.Reads.METRICS in reads:
        reads |= interface.Reads.ALL_NODES
    return reads


def _pod_parts(condition: checked_expr.TypedExpr) -> list[checked_expr.TypedExpr]:
    """Return what must hold of the pod for the condition to hold on any node."""
    parts = condition.operands if isinstance(condition, checked_expr.And) else (condition,)
    return [part for part in parts if not expressions.reads(part)]


if TYPE_CHECKING:
    _filter: type[interface.FilterPlugin] = Reject
    _evidence: type[interface.NodeEvidencePlugin] = Reject
    _apart: type[apart.ApartFilterPlugin] = DeviceReject
