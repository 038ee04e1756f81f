"""Wake pods when a nomination that blocked room for them changes or ends.

For pods of equal or lower priority, Filters count a nominated pod as running on its node. When this
pod is placed on another node or its nomination ends, the effect on those pods is the same as if it
had been deleted (`pkg/scheduler/eventhandlers.go`, hasNominatedNodeNameChanged and
deletePodFromSchedulingQueue). kube-scheduler wakes them when the API server shows the change. This
is late, and never happens if a nomination was replaced before it was written. This module also
wakes them for changes that only this process has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.queue import scheduling_queue
from policysched.scheduler import object_changes


def update_nomination_after_failure(
    queue: scheduling_queue.SchedulingQueue, info: pod_shape.PodInfo, node_name: str | None
) -> None:
    """Nominate a pod that was just requeued; "" removes its nomination, None keeps it.

    If the API server has the previous nomination, other pods are woken when the watch shows the
    change. The pod is not retried because of its own change; otherwise two pods whose victims
    terminate slowly could wake each other endlessly.
    """
    before = queue.nominator.get_nominated_node(info.uid)
    shown = info.pod.status.nominated_node_name
    now = (shown or before or "") if node_name is None else node_name
    queue.nominator.nominate(info, now)
    if before and before not in (now, shown):
        _wake_lower_priority_pods(queue, info, before, but_for=info.uid)


def end_nomination(
    queue: scheduling_queue.SchedulingQueue, info: pod_shape.PodInfo, node_name: str = ""
) -> None:
    """End the nomination of a pod; `node_name` is the node on which it was placed, if any.

    The pod itself is also woken if it waits.
    """
    before = queue.nominator.remove_nomination(info.uid)
    if before and before != node_name:
        _wake_lower_priority_pods(queue, info, before)


def update_waiting_pod(
    queue: scheduling_queue.SchedulingQueue,
    old: pod_shape.PodInfo,
    new: pod_shape.PodInfo,
    changes: Sequence[events.ClusterEvent],
) -> None:
    """Update a waiting pod in the queue, and wake other pods if its nominated node changed."""
    before = queue.nominator.get_nominated_node(new.uid)
    queue.update(old, new, changes)
    is_news = before != queue.nominator.get_nominated_node(new.uid)
    shown = old.pod.status.nominated_node_name
    if shown and shown != new.pod.status.nominated_node_name:
        _wake_lower_priority_pods(queue, old, shown, but_for="" if is_news else new.uid)
    elif before and is_news:
        _wake_lower_priority_pods(queue, old, before)


def _wake_lower_priority_pods(
    queue: scheduling_queue.SchedulingQueue,
    info: pod_shape.PodInfo,
    node_name: str,
    but_for: str = "",
) -> None:
    """Wake pods of equal or lower priority, for which Filters withheld room on the node."""
    told = msgspec.structs.replace(info.pod.status, nominated_node_name=node_name)
    nominated = pod_shape.PodInfo(msgspec.structs.replace(info.pod, status=told), info.shape)
    queue.move_all_to_active_or_backoff(
        object_changes.POD_DELETE,
        nominated,
        None,
        lambda pod: pod.shape.priority <= info.shape.priority and pod.uid != but_for,
    )
