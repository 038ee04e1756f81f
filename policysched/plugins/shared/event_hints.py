"""Define queueing hints that several plugins use."""

from __future__ import annotations

from policysched.cluster.pods import pod_shape
from policysched.framework import events


def make_event_registration(
    resource: events.EventResource,
    action: events.ActionType,
    hint: events.QueueingHintFn | None = None,
) -> events.ClusterEventWithHint:
    """Return a registration; without a hint, every matching event retries the pod."""
    return events.ClusterEventWithHint(events.ClusterEvent(resource, action), hint)


def choose_queueing_hint(helps: bool) -> events.QueueingHint:  # noqa: FBT001 - the only parameter
    """Return QUEUE if the event can help the pod, or else SKIP."""
    return events.QueueingHint.QUEUE if helps else events.QueueingHint.SKIP


def after_own_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the changed object is the pending pod itself."""
    del old
    return choose_queueing_hint(isinstance(new, pod_shape.PodInfo) and new.uid == pod.uid)


def after_own_shape_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the pending pod itself changed in anything that a policy may read."""
    is_own = isinstance(new, pod_shape.PodInfo) and new.uid == pod.uid
    is_same = (
        isinstance(old, pod_shape.PodInfo)
        and isinstance(new, pod_shape.PodInfo)
        and old.shape is new.shape
    )
    return choose_queueing_hint(is_own and not is_same)


def is_placed_or_nominated(pod: pod_shape.PodInfo) -> bool:
    """Return whether the pod is placed on a node or nominated to one."""
    return bool(pod.pod.spec.node_name or pod.pod.status.nominated_node_name)
