"""NodeUnschedulable: reject cordoned nodes.

Source: `plugins/nodeunschedulable/node_unschedulable.go`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.kernels import tolerations
from policysched.plugins.shared import event_hints

REASON = "node(s) were unschedulable"
TAINT = objects.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""A pod that tolerates this taint can run on nodes with `spec.unschedulable`."""


class NodeUnschedulable:
    """Rejects nodes with `spec.unschedulable` unless the pod tolerates TAINT."""

    name = names.NODE_UNSCHEDULABLE
    reads: ClassVar = interface.Reads.NODE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        cordoned = nodes.is_unschedulable
        if not cordoned.any() or tolerations.tolerates(state.tolerations, TAINT):
            return status.NodeStatuses.passing(len(nodes))
        return status.NodeStatuses.where(cordoned, status.unresolvable(self.name, REASON))

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
        """Return the field that cordons the node."""
        del state, pod, node, reason
        return "spec.unschedulable is true"

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for nodes that become schedulable, and for new tolerations of the pod."""
        node = events.ActionType.ADD | events.ActionType.UPDATE_NODE_TAINT
        tolerates_more = events.ActionType.UPDATE_POD_TOLERATION
        return (
            event_hints.make_event_registration(
                events.EventResource.NODE, node, _after_node_change
            ),
            event_hints.make_event_registration(
                events.EventResource.UNSCHEDULED_POD, tolerates_more, _after_toleration_change
            ),
        )


def _after_node_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    del pod
    if not isinstance(new, objects.Node) or new.spec.unschedulable:
        return events.QueueingHint.SKIP
    was_cordoned = not isinstance(old, objects.Node) or old.spec.unschedulable
    return event_hints.choose_queueing_hint(was_cordoned)


def _after_toleration_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    del old
    if not isinstance(new, pod_shape.PodInfo) or new.uid != pod.uid:
        return events.QueueingHint.SKIP
    return event_hints.choose_queueing_hint(
        tolerations.tolerates(new.shape.spec.tolerations, TAINT)
    )


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodeUnschedulable
    _filter: type[interface.FilterPlugin] = NodeUnschedulable
    _events: type[interface.EventsPlugin] = NodeUnschedulable
    _keyed: type[interface.KeyedPlugin] = NodeUnschedulable
