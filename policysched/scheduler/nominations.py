"""Nominations that end: the pods that had to leave room for a nominated one hear of it.

Filters count a nominated pod as if it were on its node already, for pods of no higher priority. So
when it goes elsewhere, or is no longer nominated, that is to them as if a pod had been deleted
(`pkg/scheduler/eventhandlers.go`, hasNominatedNodeNameChanged and deletePodFromSchedulingQueue).
Unlike kube-scheduler this goes by what the queue holds and not by what the API server shows, which
comes later, or never where a nomination was taken back before it was written.
"""

from __future__ import annotations

import msgspec

from policysched.cluster import pod_shape
from policysched.queue import scheduling_queue
from policysched.scheduler import object_changes


def nominate(
    queue: scheduling_queue.SchedulingQueue, info: pod_shape.PodInfo, node_name: str
) -> None:
    """Nominate a waiting pod to a node, "" for none."""
    before = queue.nominator.node_of(info.uid)
    queue.nominator.nominate(info, node_name)
    released(queue, info, before, node_name)


def end(
    queue: scheduling_queue.SchedulingQueue, info: pod_shape.PodInfo, node_name: str = ""
) -> None:
    """Forget the nomination of a pod that has a node now, or is gone."""
    before = queue.nominator.node_of(info.uid)
    queue.nominator.remove(info.uid)
    released(queue, info, before, node_name)


def released(
    queue: scheduling_queue.SchedulingQueue,
    info: pod_shape.PodInfo,
    before: str | None,
    now: str | None,
) -> None:
    """Wake those for whom there is room again when a pod leaves the node it was nominated to."""
    if not before or before == now:
        return
    priority = info.shape.priority
    queue.move_all_to_active_or_backoff(
        object_changes.POD_DELETE,
        _nominated(info, before),
        None,
        lambda pod: pod.shape.priority <= priority,
    )


def _nominated(info: pod_shape.PodInfo, node_name: str) -> pod_shape.PodInfo:
    told = msgspec.structs.replace(info.pod.status, nominated_node_name=node_name)
    return pod_shape.PodInfo(msgspec.structs.replace(info.pod, status=told), info.shape)
