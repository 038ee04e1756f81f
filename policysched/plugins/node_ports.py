"""NodePorts: reject nodes on which a host port of the pod is in use.

Source: `plugins/nodeports/node_ports.go`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from policysched.cluster import snapshot
from policysched.cluster.columns import port_columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.shared import event_hints, node_rejection_texts

REASON = "node(s) didn't have free ports for the requested pod ports"


class NodePorts:
    """Rejects nodes on which a host port of the pod is in use."""

    name = names.NODE_PORTS
    reads: ClassVar = interface.Reads.USAGE

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Skip Filter for pods without host ports."""
        del state, snap
        return interface.PreFilterResult(status.SUCCESS if pod.shape.host_ports else status.SKIP)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        del state
        taken = nodes.port_conflicts(pod.shape.host_ports)
        return status.NodeStatuses.where(taken, status.unschedulable(self.name, REASON))

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the ports that are in use, and the pods that use them."""
        del state, reason
        row = int(node.row_numbers[0])
        texts = []
        for port in pod.shape.host_ports:
            if node.port_conflicts((port,))[0]:
                pods = node_rejection_texts.list_pods_on_rows(
                    node.snapshot, [row], functools.partial(_has_conflicting_port, port)
                )
                names = node_rejection_texts.join_names_briefly(pods)
                texts.append(f"port {port.port}/{port.protocol}: {names}")
        return "; ".join(texts)

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for deletions of pods that use one of the ports, and for new nodes."""
        return (
            event_hints.make_event_registration(
                events.EventResource.POD, events.ActionType.DELETE, _after_pod_deleted
            ),
            event_hints.make_event_registration(events.EventResource.NODE, events.ActionType.ADD),
        )


def _after_pod_deleted(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    del new
    if not isinstance(old, pod_shape.PodInfo) or not event_hints.is_placed_or_nominated(old):
        return events.QueueingHint.SKIP
    freed = old.shape.host_ports
    return event_hints.choose_queueing_hint(
        any(_do_ports_conflict(a, b) for a in pod.shape.host_ports for b in freed)
    )


def _do_ports_conflict(one: pod_shape.HostPort, other: pod_shape.HostPort) -> bool:
    if (one.protocol, one.port) != (other.protocol, other.port):
        return False
    return one.ip == other.ip or port_columns.ANY_ADDRESS in (one.ip, other.ip)


def _has_conflicting_port(port: pod_shape.HostPort, other: pod_shape.PodInfo) -> bool:
    """Return whether a pod uses a port that conflicts with `port` (CheckConflict in types.go)."""
    return any(
        (each.port, each.protocol) == (port.port, port.protocol)
        and (port_columns.ANY_ADDRESS in (each.ip, port.ip) or each.ip == port.ip)
        for each in other.shape.host_ports
    )


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodePorts
    _pre_filter: type[interface.PreFilterPlugin] = NodePorts
    _filter: type[interface.FilterPlugin] = NodePorts
    _events: type[interface.EventsPlugin] = NodePorts
