"""Plan moves of violators: simulate that each is evicted, created again and scheduled.

The simulation changes the cache of an offline cluster: the place of a moved pod is free, and its
new place is taken for the pods that follow.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from policysched.auditing import (
    cluster_audit,
    judging,
    loop_guard,
    move_exclusions,
    violations,
)
from policysched.cluster import cache as caches
from policysched.cluster.pods import pending_pods, pod_shape, workloads
from policysched.plugins.dynamic_resources import released_claims

_PodRule: TypeAlias = tuple[str, str]
"""The uid of a pod and the name of a rule that it violates."""


@dataclasses.dataclass(frozen=True, slots=True)
class Violator:
    """A pod on its present node, and the names of the rules that it violates."""

    pod: pod_shape.PodInfo
    rules: tuple[str, ...]

    @property
    def node(self) -> str:
        """The node of the pod."""
        return self.pod.pod.spec.node_name


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedMove:
    """A violator, and the node without violations that the scheduler would choose for it."""

    violator: Violator
    target: str

    def list_workload_moves(self, now: datetime.datetime) -> list[loop_guard.WorkloadMove]:
        """Return the moves that the loop guard records, one for each rule."""
        pod, node = self.violator.pod, self.violator.node
        workload = workloads.format_workload(pod.pod.metadata)
        at = now.isoformat(timespec="seconds")
        return [
            loop_guard.WorkloadMove(workload, rule, node, at, pod.uid)
            for rule in self.violator.rules
        ]


def list_violators(found: Iterable[violations.Violation]) -> list[Violator]:
    """Return each pod with a violation, those of the lowest priority first."""
    rules_of: dict[str, list[str]] = {}
    pods: dict[str, pod_shape.PodInfo] = {}
    for each in found:
        for info in each.pods:
            rules_of.setdefault(info.uid, []).append(each.rule.head.name)
            pods[info.uid] = info
    return [
        Violator(info, tuple(rules_of[info.uid]))
        for info in sorted(pods.values(), key=lambda info: (info.shape.priority, info.key))
    ]


class MovePlanner:
    """Plans moves in a simulated cluster, one after the other.

    Attributes:
        guard: the moves of earlier runs, which are obstacles.
    """

    def __init__(
        self,
        cache: caches.Cache,
        choose: cluster_audit.ChooseFramework,
        exclusions: move_exclusions.MoveExclusions,
        guard: loop_guard.LoopGuard,
        now: datetime.datetime,
    ) -> None:
        """Simulate in `cache`; `choose` returns the framework of a pod."""
        self.guard = guard
        self._cache = cache
        self._choose = choose
        self._exclusions = exclusions
        self._now = now
        self._audit = cluster_audit.ClusterAudit(choose, cache.snapshot)
        self._before: frozenset[_PodRule] | None = None
        self._moves: dict[str, PlannedMove] = {}

    def plan_move(self, violator: Violator) -> PlannedMove | str:
        """Return the move of a violator, or the reason why the pod stays.

        The place of a moved pod stays taken for the next moves, unless `take_back` is called.
        """
        info = violator.pod
        judged = {each.rule.head.name: each.rule for each in self._audit.judge_pod(info)}
        rules = [judged[name] for name in violator.rules if name in judged]
        if not rules:
            return "an earlier move has resolved its violations"
        reads_metrics = any(map(judging.reads_metrics, rules))
        obstacle = self._exclusions.find_obstacle(info)
        if not obstacle and reads_metrics:
            obstacle = self._find_metric_obstacle(violator.node)
        if obstacle:
            return obstacle
        if self._before is None:
            self._before = self._find_violations_by_pods()
        current = Violator(info, tuple(rule.head.name for rule in rules))
        self._cache.remove_pod(info)
        target, obstacle = self._choose_target(info)
        if not obstacle and reads_metrics:
            obstacle = self._find_metric_obstacle(target)
        obstacle = obstacle or self._place(current, target)
        if obstacle:
            self._cache.add_pod(info)
            return obstacle
        self._exclusions.note_move(info)
        self._moves[info.uid] = PlannedMove(current, target)
        return self._moves[info.uid]

    def take_back(self, move: PlannedMove) -> None:
        """Put the pod of a move back, because it was not evicted."""
        info = move.violator.pod
        del self._moves[info.uid]
        self._cache.add_pod(info)
        self._exclusions.take_back_move(info)
        self._before = None

    def _find_metric_obstacle(self, node: str) -> str:
        """Return why no violator of a rule by metrics may leave or reach a node; "" if one may.

        The simulation does not know the samples of both nodes after a move.
        """
        if not any(node in (move.violator.node, move.target) for move in self._moves.values()):
            return ""
        return f"an earlier move changes the metrics of {node}; run the command again later"

    def _choose_target(self, info: pod_shape.PodInfo) -> tuple[str, str]:
        """Return the node on which the scheduler would place the pod, or "" and why there is none.

        No other pod is preempted for it.
        """
        framework = self._choose(info)
        pod = pending_pods.make_pending_pod(info)
        if framework is None:
            return "", "no profile serves the pod"
        if released_claims.has_claims(pod, self._cache.devices.claims):
            return "", "the pod uses resource claims, whose allocation is not simulated"
        gate = framework.pre_enqueue(pod)
        if not gate.is_success:
            return "", ", ".join(gate.reasons)
        result = framework.schedule_pod(pod, self._cache.snapshot())
        if result.node_name is None:
            return "", result.message or ", ".join(result.status.reasons)
        if result.node_name == info.pod.spec.node_name:
            return "", "the scheduler would choose the same node"
        return result.node_name, ""

    def _place(self, violator: Violator, target: str) -> str:
        """Place the pod on a node; return why it must not be there, or ""."""
        pod = violator.pod.pod
        workload = workloads.format_workload(pod.metadata)
        obstacle = self.guard.find_obstacle(workload, violator.rules, target, self._now)
        if obstacle:
            return obstacle
        spec = msgspec.structs.replace(pod.spec, node_name=target)
        moved = pod_shape.PodInfo(msgspec.structs.replace(pod, spec=spec), violator.pod.shape)
        self._cache.assume_pod(moved, target)  # so its expected load counts for the next pods
        obstacle = self._find_harm(moved, target)
        if obstacle:
            self._cache.remove_pod(moved)
        return obstacle

    def _find_harm(self, moved: pod_shape.PodInfo, target: str) -> str:
        """Return the violations of a moved pod and those that it causes; "" if there are none."""
        own = [each.rule.head.name for each in self._audit.judge_pod(moved)]
        if own:
            return f"it would violate {', '.join(own)} on {target}"
        after = self._find_violations_by_pods()
        caused = {rule for _, rule in after - (self._before or frozenset())}
        if caused:
            return f"other pods would violate {', '.join(sorted(caused))}"
        self._before = after
        return ""

    def _find_violations_by_pods(self) -> frozenset[_PodRule]:
        """Return the violations of all rules whose answers depend on the nodes of pods."""
        audit = cluster_audit.ClusterAudit(
            self._choose, self._cache.snapshot, select_rule=judging.depends_on_pods
        )
        return frozenset(
            (info.uid, verdict.rule.head.name)
            for step in audit.judge_in_steps()
            for verdict in step
            for info in verdict.pods
        )
