"""Nominations that change or end: the pods that had to leave room hear of it.

Filters count a nominated pod as if it were on its node already, for pods of no higher priority. So
when it goes elsewhere, or is no longer nominated, that is to them as if a pod had been deleted
(`pkg/scheduler/eventhandlers.go`, hasNominatedNodeNameChanged and deletePodFromSchedulingQueue).

kube-scheduler tells them when the API server shows the change. That comes late, or never where a
nomination was replaced before it was written; what only this process knows is told from here.
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
    """Nominate a pod that was just put back; "" for no node, None for what it had before.

    The others hear of it when the API server shows it, as then this pod is not tried again for its
    own change of mind: two pods whose victims take long could wake each other without end.
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
    """Forget the nomination of a pod: it has the node `node_name` now, lost its claim or is gone.

    A pod that waits is among those who hear of it.
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
    """Update a waiting pod in the queue, and tell the others if it left a node."""
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
    """Wake those for whom a pod kept room on a node: pods of no higher priority."""
    told = msgspec.structs.replace(info.pod.status, nominated_node_name=node_name)
    nominated = pod_shape.PodInfo(msgspec.structs.replace(info.pod, status=told), info.shape)
    queue.move_all_to_active_or_backoff(
        object_changes.POD_DELETE,
        nominated,
        None,
        lambda pod: pod.shape.priority <= info.shape.priority and pod.uid != but_for,
    )
