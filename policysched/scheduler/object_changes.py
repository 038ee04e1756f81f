"""What changed between two versions of an object, as far as it can help a waiting pod.

Source: `pkg/scheduler/framework/events.go` (PodSchedulingPropertiesChange,
NodeSchedulingPropertiesChange). One event per kind of change, so that metrics tell them apart.
"""

from __future__ import annotations

from policysched.cluster import objects, pod_requests, pod_shape
from policysched.framework import events

_Action = events.ActionType


def pod_changes(old: pod_shape.PodInfo, new: pod_shape.PodInfo) -> list[events.ClusterEvent]:
    """Return the events of an updated pod; a placed pod and a waiting one are different resources.

    A change of anything that no event names is UPDATE_OTHER.
    """
    is_placed = bool(new.pod.spec.node_name)
    resource = events.EventResource.POD if is_placed else events.EventResource.UNSCHEDULED_POD
    actions = [] if old.shape is new.shape else _pod_actions(old.shape, new.shape)
    return [events.ClusterEvent(resource, a) for a in actions or [_Action.UPDATE_OTHER]]


def _pod_actions(old: pod_shape.PodShape, new: pod_shape.PodShape) -> list[events.ActionType]:
    actions = []
    if old.labels != new.labels:
        actions.append(_Action.UPDATE_POD_LABEL)
    if _is_scaled_down(old.requests, new.requests):
        actions.append(_Action.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(_Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        # The API server lets tolerations be added only.
        actions.append(_Action.UPDATE_POD_TOLERATION)
    return actions


def _is_scaled_down(old: pod_requests.Requests, new: pod_requests.Requests) -> bool:
    return any(
        name not in new.amounts or value > new.amounts[name] for name, value in old.amounts.items()
    )


def node_changes(old: objects.Node, new: objects.Node) -> list[events.ClusterEvent]:
    """Return the events of an updated node; none when only its heartbeat is new."""
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(_Action.UPDATE_NODE_TAINT)
    if old.status.allocatable != new.status.allocatable:
        actions.append(_Action.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(_Action.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints and _Action.UPDATE_NODE_TAINT not in actions:
        actions.append(_Action.UPDATE_NODE_TAINT)
    if _condition_states(old) != _condition_states(new):
        actions.append(_Action.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        actions.append(_Action.UPDATE_NODE_ANNOTATION)
    return [events.ClusterEvent(events.EventResource.NODE, action) for action in actions]


def _condition_states(node: objects.Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
