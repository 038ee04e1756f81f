"""Schedules all pending pods of a cluster one after another, for `simulate`.

Every pod is assumed on its node before the next decision, as in the scheduling cycle of `run`.
Nothing is bound, so PreBind, Bind and PostBind plugins do not run. A Permit plugin that delays a
pod counts as approving it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from policysched.cluster import cache as caches
from policysched.cluster.pods import pod_shape
from policysched.framework import interface, queued_pod, runtime, shadow, status
from policysched.offline import offline_cluster, preemption_report
from policysched.profiles import profile_choice


@dataclasses.dataclass(frozen=True, slots=True)
class SimulatedPlacement:
    """The simulated decision for one pod.

    Attributes:
        pod: `namespace/name`.
        node: the chosen node; None if the pod stays pending, with the reason in `message`.
        feasible: the number of feasible nodes.
        best: the names of the nodes with the highest total, sorted.
        victims: the pods that preemption removed for it.
        nominated: the node from which they are evicted; None without victims.
        gate: the PreEnqueue rejection that keeps the pod out of the queue, if any.
        reasons: the distinct reasons why nodes reject the pod.
        shadows: the decisions of shadow policies for the pod.
        limits: what rules forbid preemption, if preemption did not help the pod.
    """

    pod: str
    node: str | None = None
    feasible: int = 0
    best: list[str] = dataclasses.field(default_factory=list)
    message: str = ""
    victims: list[str] = dataclasses.field(default_factory=list)
    gate: status.Status | None = None
    reasons: tuple[str, ...] = ()
    shadows: list[shadow.Verdict] = dataclasses.field(default_factory=list)
    nominated: str | None = None
    limits: tuple[preemption_report.RuleLimit, ...] = ()


Shadows: TypeAlias = Mapping[str, Sequence[shadow.Candidate]]
"""Maps a schedulerName to the shadow policies to evaluate."""


def simulate_placements(
    cluster: offline_cluster.OfflineCluster,
    choice: profile_choice.ProfileChoice,
    shadows: Shadows | None = None,
) -> Iterator[SimulatedPlacement]:
    """Schedule the pending pods in queue order; `cluster.cache` changes with every placement."""
    simulation = SchedulingSimulation(cluster.cache, shadows or {})
    for framework, info in list_pods_in_queue_order(cluster, choice):
        yield simulation.place_pod(framework, info)


def list_pods_in_queue_order(
    cluster: offline_cluster.OfflineCluster, choice: profile_choice.ProfileChoice
) -> list[tuple[runtime.Framework, pod_shape.PodInfo]]:
    """Return the pods in the order of QueueSort; the order of the file is the arrival order."""
    waiting = []
    for sequence, info in enumerate(cluster.pending):
        framework = choice.choose_framework(info)
        if framework is not None:
            queued = queued_pod.QueuedPodInfo(info, timestamp_seconds=0.0, sequence=sequence)
            waiting.append((framework.sort_key(queued), sequence, framework, info))
    return [(framework, info) for _, _, framework, info in sorted(waiting, key=lambda w: w[:2])]


class SchedulingSimulation:
    """Runs scheduling cycles on a cache; each pod takes full effect before the next pod."""

    def __init__(self, cache: caches.Cache, shadows: Shadows) -> None:
        """Use `cache`, which changes with every placement."""
        self._cache = cache
        self._shadows = shadows

    def place_pod(
        self, framework: runtime.Framework, info: pod_shape.PodInfo, preferred: str | None = None
    ) -> SimulatedPlacement:
        """Schedule a pod unless a gate holds it; among equally good nodes, `preferred` wins."""
        gate = framework.pre_enqueue(info)
        if gate.is_success:
            return self._schedule_pod(framework, info, preferred)
        return SimulatedPlacement(info.key, gate=gate, reasons=gate.reasons)

    def _schedule_pod(
        self, framework: runtime.Framework, info: pod_shape.PodInfo, preferred: str | None
    ) -> SimulatedPlacement:
        """Choose a node for a pod and assume the pod there, after preemption if necessary."""
        info = replace_nominated_node(
            info, self._cache.nominated.get_nominated_node(info.uid) or ""
        )
        result = framework.schedule_pod(info, self._cache.snapshot())
        placement = SimulatedPlacement(
            info.key, shadows=self._decide_by_shadow_policies(framework, info, result)
        )
        if result.node_name is None:
            made_room = self._run_preemption(framework, info, result)
            # The victims are removed immediately, so a node is chosen again within the same
            # attempt.
            if made_room is None:
                limits = self._find_preemption_limits(framework, info)
                placement = dataclasses.replace(placement, limits=limits)
            else:
                info = replace_nominated_node(info, made_room.nominated_node_name or "")
                placement = _add_victims(placement, made_room)
                result = framework.schedule_pod(info, self._cache.snapshot())
        if preferred is not None and shadow.is_best(result, preferred, self._cache.snapshot()):
            result.node_name = preferred
        if result.node_name is None:
            return dataclasses.replace(
                placement, message=result.message, reasons=_list_failure_reasons(result)
            )
        feasible = self._count_feasible_nodes(framework, info, result)
        rejected = _assume_reserve_and_permit(framework, self._cache, info, result)
        if rejected is not None:
            message = ", ".join(rejected.reasons)
            return dataclasses.replace(
                placement, message=message, reasons=rejected.reasons, shadows=[]
            )
        best = _list_best_node_names(result, self._cache)
        return dataclasses.replace(placement, node=result.node_name, feasible=feasible, best=best)

    def _decide_by_shadow_policies(
        self, framework: runtime.Framework, info: pod_shape.PodInfo, result: runtime.ScheduleResult
    ) -> list[shadow.Verdict]:
        """Return the decisions of shadow policies before any victim is removed."""
        candidates = self._shadows.get(framework.profile.scheduler_name, ())
        return shadow.decide_all(candidates, info, self._cache.snapshot(), result)

    def _run_preemption(
        self, framework: runtime.Framework, info: pod_shape.PodInfo, result: runtime.ScheduleResult
    ) -> interface.PostFilterResult | None:
        """Run PostFilter plugins and evict the victims; return None if that does not help.

        In that case, the message of the Filter plugins remains, as in `explain`.
        """
        diagnosis = result.diagnosis
        if diagnosis is None:
            return None
        snap = self._cache.snapshot()
        answer = framework.run_post_filter(result.state, info, snap, diagnosis)
        if answer is None:
            self._cache.nominated.remove_nomination(info.uid)
            return None
        if answer.nominated_node_name is not None:
            self._cache.nominated.nominate(info, answer.nominated_node_name)
        if not answer.status.is_success:
            return None
        self._carry_out_preemption(info, answer)
        return answer

    def _find_preemption_limits(
        self, framework: runtime.Framework, info: pod_shape.PodInfo
    ) -> tuple[preemption_report.RuleLimit, ...]:
        if framework.profile.preemption_limits is None:
            return ()
        facts = preemption_report.find_preemption_facts(framework, info, self._cache.snapshot())
        return tuple(facts.limits.values())

    def _carry_out_preemption(
        self, info: pod_shape.PodInfo, answer: interface.PostFilterResult
    ) -> None:
        """Remove the victims and lower-priority nominations (executor.go, prepareCandidate)."""
        for victim in answer.victims:
            self._cache.remove_pod(victim)
        for other in self._cache.nominated.get_nominated_pods(answer.nominated_node_name or ""):
            if other.shape.priority < info.shape.priority:
                self._cache.nominated.remove_nomination(other.uid)

    def _count_feasible_nodes(
        self, framework: runtime.Framework, info: pod_shape.PodInfo, result: runtime.ScheduleResult
    ) -> int:
        """Return the number of feasible nodes, even if only the nominated node was tried.

        The nominated node counts as feasible even if scoring the other nodes fails, because the
        decision needs no scores.
        """
        if result.node_name != info.pod.status.nominated_node_name:
            return result.feasible_count
        explained = framework.explain_pod(info, self._cache.snapshot())
        return max(explained.feasible_count, result.feasible_count)


def _add_victims(
    placement: SimulatedPlacement, answer: interface.PostFilterResult
) -> SimulatedPlacement:
    victims = [victim.key for victim in answer.victims]
    node = answer.nominated_node_name if victims else None
    return dataclasses.replace(placement, victims=victims, nominated=node)


def replace_nominated_node(info: pod_shape.PodInfo, node_name: str) -> pod_shape.PodInfo:
    """Return the pod with a nominated node in its status; "" for none."""
    if info.pod.status.nominated_node_name == node_name:
        return info
    said = msgspec.structs.replace(info.pod.status, nominated_node_name=node_name)
    return pod_shape.PodInfo(msgspec.structs.replace(info.pod, status=said), info.shape)


def _list_failure_reasons(result: runtime.ScheduleResult) -> tuple[str, ...]:
    diagnosis = result.diagnosis
    if diagnosis is None:
        return (result.message,)
    if diagnosis.pre_filter is not None:
        return diagnosis.pre_filter.reasons
    present = [diagnosis.statuses[number] for number in np.unique(diagnosis.ids) if number > 0]
    return tuple(sorted({reason for answer in present for reason in answer.reasons}))


def _assume_reserve_and_permit(
    framework: runtime.Framework,
    cache: caches.Cache,
    info: pod_shape.PodInfo,
    result: runtime.ScheduleResult,
) -> status.Status | None:
    """Assume the pod on its node and run Reserve and Permit; return the first rejection."""
    node_name = result.node_name or ""
    cache.assume_pod(info, node_name)
    cache.nominated.remove_nomination(info.uid)
    answer = framework.binding.reserve(result.state, info, node_name)
    if answer.is_success:
        answer, _ = framework.binding.permit(result.state, info, node_name)
    if answer.is_success or answer.code is status.Code.WAIT:
        framework.binding.assume_written(result.state, info, node_name)
        return None
    framework.binding.unreserve(result.state, info, node_name)
    cache.forget_pod(info)
    return answer


def _list_best_node_names(result: runtime.ScheduleResult, cache: caches.Cache) -> list[str]:
    if result.scores is None:
        return [result.node_name or ""]
    names = cache.nodes.names
    return sorted(names[row] for row in result.scores.best_rows().tolist())


def as_json(placement: SimulatedPlacement) -> dict[str, object]:
    """Return a placement in the form of schemas/simulate.schema.json."""
    report: dict[str, object] = {
        "pod": placement.pod,
        "node": placement.node,
        "feasible": placement.feasible,
        "best": placement.best,
        "message": placement.message,
        "victims": placement.victims,
    }
    if placement.nominated is not None:
        report["nominatedNode"] = placement.nominated
    gate = placement.gate
    if gate is not None:
        report["gated"] = {
            "plugin": gate.plugin,
            "code": gate.code.value,
            "reasons": list(gate.reasons),
        }
    if placement.limits:
        report["preemptionLimits"] = [each.as_json() for each in placement.limits]
    if placement.shadows:
        report["shadow"] = [each.as_json() for each in placement.shadows]
    return report
