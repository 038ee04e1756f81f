"""NodeName: restrict a pod with `spec.nodeName` to this node.

Source: `plugins/nodename/node_name.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.shared import event_hints

REASON = "node(s) didn't match the requested node name"


class NodeName:
    """Rejects all nodes except `spec.nodeName`; Filter is skipped for pods without it."""

    name = names.NODE_NAME
    reads: ClassVar = interface.Reads.NODE

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Skip Filter for pods without a node name."""
        del state, snap
        named = bool(pod.pod.spec.node_name)
        return interface.PreFilterResult(status.SUCCESS if named else status.SKIP)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        del state
        others = ~nodes.has_name(pod.pod.spec.node_name)
        return status.NodeStatuses.where(others, status.unresolvable(self.name, REASON))

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the requested node name."""
        del state, node, reason
        return f"spec.nodeName is {pod.pod.spec.node_name}"

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for new nodes."""
        return (
            event_hints.make_event_registration(events.EventResource.NODE, events.ActionType.ADD),
        )


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodeName
    _pre_filter: type[interface.PreFilterPlugin] = NodeName
    _filter: type[interface.FilterPlugin] = NodeName
    _events: type[interface.EventsPlugin] = NodeName
