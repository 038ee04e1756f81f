"""Derive cluster events from two versions of an object.

Source: `pkg/scheduler/framework/events.go` (PodSchedulingPropertiesChange,
NodeSchedulingPropertiesChange). Each kind of change has its own event, so that queueing hints and
metrics can distinguish them.
"""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.framework import events

_Resource = events.EventResource
_Action = events.ActionType
POD_ADD = events.ClusterEvent(_Resource.POD, _Action.ADD)
POD_DELETE = events.ClusterEvent(_Resource.POD, _Action.DELETE)
NODE_ADD = events.ClusterEvent(_Resource.NODE, _Action.ADD)
NODE_DELETE = events.ClusterEvent(_Resource.NODE, _Action.DELETE)
NAMESPACE_ADD = events.ClusterEvent(_Resource.NAMESPACE, _Action.ADD)
NAMESPACE_UPDATE = events.ClusterEvent(_Resource.NAMESPACE, _Action.UPDATE_OTHER)
NAMESPACE_DELETE = events.ClusterEvent(_Resource.NAMESPACE, _Action.DELETE)
METRIC_UPDATE = events.ClusterEvent(_Resource.METRIC, _Action.UPDATE_OTHER)


def is_same_version(old: objects.ObjectMeta, new: objects.ObjectMeta) -> bool:
    """Return whether both have the same resourceVersion; an empty one never matches."""
    return bool(new.resource_version) and old.resource_version == new.resource_version


def list_pod_events(old: pod_shape.PodInfo, new: pod_shape.PodInfo) -> list[events.ClusterEvent]:
    """Return the events for an updated pod.

    The resource of the events depends on whether the pod has a node. A change to any other field is
    UPDATE_OTHER.
    """
    is_placed = bool(new.pod.spec.node_name)
    resource = _Resource.POD if is_placed else _Resource.UNSCHEDULED_POD
    actions = [] if old.shape is new.shape else _list_pod_actions(old.shape, new.shape)
    if _list_generated_claims(old) != _list_generated_claims(new):
        actions.append(_Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return [events.ClusterEvent(resource, a) for a in actions or [_Action.UPDATE_OTHER]]


def _list_generated_claims(info: pod_shape.PodInfo) -> tuple[object, ...]:
    status = info.pod.status
    return status.resource_claim_statuses, status.extended_resource_claim_status


def _list_pod_actions(old: pod_shape.PodShape, new: pod_shape.PodShape) -> list[events.ActionType]:
    """Return the changes to a pod that have their own event."""
    actions = []
    if old.labels != new.labels:
        actions.append(_Action.UPDATE_POD_LABEL)
    if _has_scaled_down(old.requests, new.requests):
        actions.append(_Action.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(_Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        # The API server only allows adding tolerations, so comparing the length suffices.
        actions.append(_Action.UPDATE_POD_TOLERATION)
    return actions


def _has_scaled_down(
    old: pod_requests.PodResourceRequests, new: pod_requests.PodResourceRequests
) -> bool:
    return any(
        name not in new.amounts or value > new.amounts[name] for name, value in old.amounts.items()
    )


def list_node_events(old: objects.Node, new: objects.Node) -> list[events.ClusterEvent]:
    """Return the events for an updated node; an empty list if only its heartbeat changed."""
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(_Action.UPDATE_NODE_TAINT)
    if old.status.allocatable != new.status.allocatable:
        actions.append(_Action.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(_Action.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints and _Action.UPDATE_NODE_TAINT not in actions:
        actions.append(_Action.UPDATE_NODE_TAINT)
    if _get_condition_states(old) != _get_condition_states(new):
        actions.append(_Action.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        actions.append(_Action.UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        actions.append(_Action.UPDATE_NODE_DECLARED_FEATURE)
    if old.status.node_info != new.status.node_info:
        actions.append(_Action.UPDATE_OTHER)
    return [events.ClusterEvent(_Resource.NODE, action) for action in actions]


def _get_condition_states(node: objects.Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def copy_pod_with_node(info: pod_shape.PodInfo, node_name: str) -> pod_shape.PodInfo:
    """Return a copy of the pod that is bound to the node and shares its shape."""
    spec = msgspec.structs.replace(info.pod.spec, node_name=node_name)
    return pod_shape.PodInfo(msgspec.structs.replace(info.pod, spec=spec), info.shape)
