"""`onOutage hold`: pods wait while a metric is out that one of their rules reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.compiler.metrics import metric_samples
from policysched.compiler.rules import base, reject, score
from policysched.framework import cycle_state, interface, status
from policysched.plugins import names

_GO_ON = interface.PreFilterResult(status.SKIP)


MetricRule: TypeAlias = reject.Reject | score.ConditionScore | score.NumberScore
"""A rule that may read metrics."""


class OutageHold:
    """Rejects pods for all nodes while a metric of one of their rules is out.

    Nothing but samples helps: the next refresh with a valid one lets them be tried again.
    """

    name = names.POLICY
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(self, rules: Sequence[MetricRule]) -> None:
        """Hold pods for the sake of `rules`."""
        self._rules = rules

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether a rule acts on pods of `shape` now."""
        return any(rule.applies_to(state, shape, snap) for rule in self._rules)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject the pod while it has to wait."""
        del state
        found = self.outage_of(pod.shape, snap)
        if found is None:
            return _GO_ON
        rule, samples = found
        reason = (
            f"pod waits for metric {samples.metric.name}, which policy {rule.head.name} reads: "
            f"no node has a valid sample"
        )
        code = status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        answer = status.Status(code, (reason,), self.name, base.rule_ref(rule.head))
        return interface.PreFilterResult(answer)

    def evidence(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: interface.Diagnosis
    ) -> str:
        """Return since when nothing is known of the metric that the pod waits for."""
        rejection = diagnosis.pre_filter
        found = self.outage_of(pod.shape, snap)
        if found is None or rejection is None:
            return ""
        rule, samples = found
        is_own = rejection.rule == base.rule_ref(rule.head)
        return rule.told.waits(samples, snap) if is_own and rule.told is not None else ""

    def outage_of(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> tuple[MetricRule, metric_samples.MetricSamples] | None:
        """Return a rule that acts on pods of `shape` and the metric that it lost, if any.

        A cluster without nodes has lost nothing.
        """
        if not snap.node_count:
            return None
        for rule in self._rules:
            samples = rule.outage(snap)
            if samples is not None and rule.applies_to(cycle_state.CycleState(), shape, snap):
                return rule, samples
        return None


def of(rules: Iterable[base.PolicyRule]) -> OutageHold | None:
    """Return what holds the pods of a profile with `rules`; None if they read no metrics."""
    concerned = [
        rule
        for rule in rules
        if isinstance(rule, reject.Reject | score.ConditionScore | score.NumberScore)
        and interface.Reads.METRICS in rule.reads
    ]
    return OutageHold(concerned) if concerned else None


if TYPE_CHECKING:
    _pre_filter: type[interface.PreFilterPlugin] = OutageHold
    _evidence: type[interface.EvidencePlugin] = OutageHold
    _scoped: type[interface.ScopedPlugin] = OutageHold
