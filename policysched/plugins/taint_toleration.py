"""TaintToleration: reject nodes with taints that the pod does not tolerate.

Source: `plugins/tainttoleration/taint_toleration.go`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import comparison, cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.kernels import tolerations
from policysched.plugins.shared import event_hints, node_rejection_texts

REASON = "node(s) had untolerated taint(s)"


class TaintToleration:
    """Rejects nodes with untolerated NoSchedule and NoExecute taints; scores PreferNoSchedule.

    The raw score is the number of untolerated PreferNoSchedule taints; a node without any gets the
    normalised score 100. Tolerations include those that policies add. Queueing hints run outside a
    cycle, so they use the tolerations of the shape's last cycle.
    """

    name = names.TAINT_TOLERATION
    reads: ClassVar = interface.Reads.NODE
    comparison: ClassVar = comparison.Comparison(
        comparison.ComparisonKind.MAXIMUM, prefers_low=True
    )

    def __init__(self) -> None:
        """Start without tolerations of shapes."""
        self._last_tolerations: weakref.WeakKeyDictionary[
            pod_shape.PodShape, tolerations.Tolerations
        ] = weakref.WeakKeyDictionary()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        del pod
        repelled = self._make_taint_set_table(state, tolerations.repels).at(nodes) > 0
        return status.NodeStatuses.where(repelled, status.unresolvable(self.name, REASON))

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return None as the key, because pods with the same tolerations get the same answers."""
        del shape
        return None

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the taints that the pod does not tolerate."""
        del pod, reason
        taints = node_rejection_texts.get_only_node(node).spec.taints
        repelling = [t for t in taints if tolerations.repels((t,), state.tolerations)]
        return ", ".join(map(str, repelling))

    def shares(self, state: cycle_state.CycleState, shape: pod_shape.PodShape) -> None:
        """Record the tolerations of a shape."""
        self._last_tolerations[shape] = state.tolerations

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the number of untolerated PreferNoSchedule taints."""
        del pod
        return self._make_taint_set_table(state, tolerations.untolerated_preferences).at(nodes)

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): scores from 100 (no such taint) down to 0 (the most taints)."""
        del state, pod
        return self.comparison.compare(scores)

    def _make_taint_set_table(
        self,
        state: cycle_state.CycleState,
        decide: Callable[[tolerations.Taints, tolerations.Tolerations], int],
    ) -> tolerations.TaintSetTable:
        key = f"{self.name}/{decide.__name__}"
        table = state.find(key, tolerations.TaintSetTable)
        if table is None:
            table = tolerations.TaintSetTable(decide, state.tolerations)
            state.write(key, table)
        return table

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for nodes whose taints become tolerated, and for new tolerations of the pod."""
        node = events.ActionType.ADD | events.ActionType.UPDATE_NODE_TAINT
        tolerates_more = events.ActionType.UPDATE_POD_TOLERATION
        return (
            event_hints.make_event_registration(
                events.EventResource.NODE, node, self._after_node_change
            ),
            event_hints.make_event_registration(
                events.EventResource.UNSCHEDULED_POD, tolerates_more, event_hints.after_own_change
            ),
        )

    def _after_node_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        own = self._last_tolerations.get(pod.shape, pod.shape.spec.tolerations)
        if not isinstance(new, objects.Node) or tolerations.repels(new.spec.taints, own):
            return events.QueueingHint.SKIP
        repelled = not isinstance(old, objects.Node) or tolerations.repels(old.spec.taints, own)
        return event_hints.choose_queueing_hint(repelled)


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = TaintToleration
    _filter: type[interface.FilterPlugin] = TaintToleration
    _score: type[interface.ScorePlugin] = TaintToleration
    _comparing: type[interface.ComparingPlugin] = TaintToleration
    _events: type[interface.EventsPlugin] = TaintToleration
    _sharing: type[interface.SharingPlugin] = TaintToleration
    _keyed: type[interface.KeyedPlugin] = TaintToleration
