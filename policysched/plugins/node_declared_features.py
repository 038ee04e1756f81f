"""NodeDeclaredFeatures: nodes must declare the kubelet features that a pod needs.

Pods can need only two of the features in 1.36; the others concern updates to pods.

Sources: `plugins/nodedeclaredfeatures/nodedeclaredfeatures.go`, component-helpers
`nodedeclaredfeatures/features`, KEP-5328.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.shared import event_hints, node_rejection_texts

REASON = "node(s) didn't match Pod's required features"
RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures:
    """Rejects nodes that do not declare all features that the pod needs."""

    name = names.NODE_DECLARED_FEATURES
    reads: ClassVar = interface.Reads.NODE

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Skip Filter for pods that need no feature."""
        del state, snap
        needed = list_required_features(pod.shape.spec)
        return interface.PreFilterResult(status.SUCCESS if needed else status.SKIP)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        del state
        needed = list_required_features(pod.shape.spec)
        lacks = [
            n is None or not needed.issubset(_get_declared_features(n)) for n in nodes.objects()
        ]
        rejected = status.unresolvable(self.name, REASON)
        return status.NodeStatuses.where(np.array(lacks, np.bool_), rejected)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the features that the node does not declare."""
        del state, reason
        declared = _get_declared_features(node_rejection_texts.get_only_node(node))
        return ", ".join(sorted(list_required_features(pod.shape.spec).difference(declared)))

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for new nodes and changed declared features; a pod's needs never change."""
        node = events.ActionType.ADD | events.ActionType.UPDATE_NODE_DECLARED_FEATURE
        return (
            event_hints.make_event_registration(
                events.EventResource.NODE, node, _after_node_change
            ),
        )


def list_required_features(spec: objects.PodSpec) -> frozenset[str]:
    """Return the kubelet features that the pod needs."""
    needed = []
    if any(_restarts_all_containers(c) for c in (*spec.containers, *spec.init_containers)):
        needed.append(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        needed.append(USER_NAMESPACES_HOST_NETWORK)
    return frozenset(needed)


def _restarts_all_containers(container: objects.Container) -> bool:
    return any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules)


def _get_declared_features(node: objects.Node) -> tuple[str, ...]:
    return node.status.declared_features


def _after_node_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue for a new node, or if the declared features of a node changed."""
    del pod
    if not isinstance(new, objects.Node):
        return events.QueueingHint.SKIP
    return event_hints.choose_queueing_hint(
        not isinstance(old, objects.Node)
        or _get_declared_features(old) != _get_declared_features(new)
    )


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodeDeclaredFeatures
    _pre_filter: type[interface.PreFilterPlugin] = NodeDeclaredFeatures
    _filter: type[interface.FilterPlugin] = NodeDeclaredFeatures
    _events: type[interface.EventsPlugin] = NodeDeclaredFeatures
