"""`simulate`: all pending pods of a cluster file scheduled one after the other.

Every pod is assumed on its node before the next one is decided, as in the scheduling cycle of
`run`; nothing is bound, so PreBind, Bind and PostBind plugins are not asked, and a Permit plugin
that waits is taken to be satisfied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from policysched.app import offline_cluster, profile_choice
from policysched.cluster import cache as caches
from policysched.cluster import pod_shape
from policysched.framework import queued_pod, runtime, status


@dataclasses.dataclass(frozen=True, slots=True)
class Placement:
    """Where one pod went.

    Attributes:
        pod: `namespace/name`.
        node: None when it stays pending; then `message` says why.
        feasible: how many nodes it could have gone to.
        best: names of the nodes with the highest total, sorted.
        victims: pods that made room for it and are gone now.
        gate: what keeps it out of the queue.
        reasons: the distinct reasons for which nodes do not take it.
    """

    pod: str
    node: str | None = None
    feasible: int = 0
    best: list[str] = dataclasses.field(default_factory=list)
    message: str = ""
    victims: list[str] = dataclasses.field(default_factory=list)
    gate: status.Status | None = None
    reasons: tuple[str, ...] = ()


def simulate(
    cluster: offline_cluster.OfflineCluster, choice: profile_choice.ProfileChoice
) -> Iterator[Placement]:
    """Schedule the pending pods in queue order; `cluster.cache` changes with every placement."""
    for framework, info in _in_queue_order(cluster, choice):
        gate = framework.pre_enqueue(info)
        if gate.is_success:
            yield _schedule(framework, cluster.cache, info)
        else:
            yield Placement(info.key, gate=gate, reasons=gate.reasons)


def _in_queue_order(
    cluster: offline_cluster.OfflineCluster, choice: profile_choice.ProfileChoice
) -> list[tuple[runtime.Framework, pod_shape.PodInfo]]:
    """Return the pods as QueueSort orders them, all having arrived in the order of the file."""
    waiting = []
    for sequence, info in enumerate(cluster.pending):
        framework = choice.of(info)
        if framework is not None:
            queued = queued_pod.QueuedPodInfo(info, timestamp_seconds=0.0, sequence=sequence)
            waiting.append((framework.sort_key(queued), sequence, framework, info))
    return [(framework, info) for _, _, framework, info in sorted(waiting, key=lambda w: w[:2])]


def _schedule(
    framework: runtime.Framework, cache: caches.Cache, info: pod_shape.PodInfo
) -> Placement:
    result = framework.schedule_pod(info, cache.snapshot())
    victims: tuple[pod_shape.PodInfo, ...] = ()
    if result.node_name is None:
        victims = _make_room(framework, cache, info, result)
        if victims:
            result = framework.schedule_pod(info, cache.snapshot())
    gone = [victim.key for victim in victims]
    if result.node_name is None:
        reasons = _reasons(result)
        return Placement(info.key, message=result.message, victims=gone, reasons=reasons)
    rejected = _claim(framework, cache, info, result)
    if rejected is not None:
        message = ", ".join(rejected.reasons)
        return Placement(info.key, message=message, victims=gone, reasons=rejected.reasons)
    best = _best_names(result, cache)
    return Placement(info.key, result.node_name, result.feasible_count, best, victims=gone)


def _reasons(result: runtime.ScheduleResult) -> tuple[str, ...]:
    diagnosis = result.diagnosis
    if diagnosis is None:
        return (result.message,)
    if diagnosis.pre_filter is not None:
        return diagnosis.pre_filter.reasons
    present = [diagnosis.statuses[number] for number in np.unique(diagnosis.ids) if number > 0]
    return tuple(sorted({reason for answer in present for reason in answer.reasons}))


def _make_room(
    framework: runtime.Framework,
    cache: caches.Cache,
    info: pod_shape.PodInfo,
    result: runtime.ScheduleResult,
) -> tuple[pod_shape.PodInfo, ...]:
    """Let PostFilter plugins name the pods that go.

    Where none help the message stays what the filters made it, as in `explain`.
    """
    diagnosis = result.diagnosis
    if diagnosis is None:
        return ()
    snap = cache.snapshot()
    answer = framework.run_post_filter(result.state, info, snap, diagnosis)
    if answer is not None and answer.status.is_success:
        for victim in answer.victims:
            cache.remove_pod(victim)
        return answer.victims
    return ()


def _claim(
    framework: runtime.Framework,
    cache: caches.Cache,
    info: pod_shape.PodInfo,
    result: runtime.ScheduleResult,
) -> status.Status | None:
    """Assume the pod on its node and run Reserve and Permit; return what one of them objects."""
    node_name = result.node_name or ""
    cache.assume_pod(info, node_name)
    cache.nominated.remove(info.uid)
    answer = framework.reserve(result.state, info, node_name)
    if answer.is_success:
        answer, _ = framework.permit(result.state, info, node_name)
    if answer.is_success or answer.code is status.Code.WAIT:
        return None
    framework.unreserve(result.state, info, node_name)
    cache.forget_pod(info)
    return answer


def _best_names(result: runtime.ScheduleResult, cache: caches.Cache) -> list[str]:
    if result.scores is None:
        return [result.node_name or ""]
    names = cache.nodes.names
    return sorted(names[row] for row in result.scores.best_rows().tolist())


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """How much of a resource all pods together request: milli-CPU, bytes or pieces."""

    resource: str
    requested: int
    allocatable: int


def allocations(cache: caches.Cache) -> list[Allocation]:
    """Return the allocation of every resource that some node has, over all nodes."""
    nodes = cache.nodes
    is_alive = nodes.is_alive[: nodes.size]
    requested = nodes.requested[: nodes.size][is_alive].sum(axis=0).tolist()
    allocatable = nodes.allocatable[: nodes.size][is_alive].sum(axis=0).tolist()
    return [
        Allocation(resource, requested[column], allocatable[column])
        for column, resource in enumerate(nodes.resources.values)
        if allocatable[column]
    ]


def as_json(placement: Placement) -> dict[str, object]:
    """Return a placement in the form of schemas/simulate.schema.json."""
    report: dict[str, object] = {
        "pod": placement.pod,
        "node": placement.node,
        "feasible": placement.feasible,
        "best": placement.best,
        "message": placement.message,
        "victims": placement.victims,
    }
    gate = placement.gate
    if gate is not None:
        report["gated"] = {
            "plugin": gate.plugin,
            "code": gate.code.value,
            "reasons": list(gate.reasons),
        }
    return report
