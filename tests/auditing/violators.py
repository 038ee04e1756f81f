"""A small cluster with violators, whose moves are planned."""

from __future__ import annotations

import datetime

from policysched.auditing import (
    cluster_audit,
    loop_guard,
    move_exclusions,
    move_planning,
)
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from tests import builders
from tests.compiler import desk

FAST = """version 1
policy fast { for pods where app = web  nodeAffinity required pool = fast as pool }
"""
COOL = (
    desk.METRICS
    + """
policy cool { for pods where app = web  reject when heat > 80% missing allow as hot }
"""
)
DAY = datetime.timedelta(days=1)
NOW = builders.EPOCH


class Cluster:
    """A cluster with a slow node and two fast ones, whose violators are moved."""

    def __init__(self, text: str = FAST, **limits: object) -> None:
        nodes = [desk.node("slow", pool="slow"), desk.node("f1", pool="fast")]
        nodes.append(desk.node("f2", pool="fast"))
        self.desk = desk.Desk(text, nodes)
        self.exclusions = move_exclusions.MoveExclusions(
            move_exclusions.MoveLimits(**limits),  # type: ignore[arg-type]  # the test's own
            self.desk.cache.budgets,
        )
        self.guard = loop_guard.LoopGuard((), DAY)

    def choose(self, info: pod_shape.PodInfo) -> runtime.Framework:
        """Return the only framework."""
        del info
        return self.desk.frameworks[None]

    def make_planner(self) -> move_planning.MovePlanner:
        """Return a planner for the cluster as it is."""
        cache = self.desk.cache
        return move_planning.MovePlanner(cache, self.choose, self.exclusions, self.guard, NOW)

    def audit(self) -> dict[str, list[str]]:
        """Return the violated rules by pod."""
        found = cluster_audit.audit_cluster(self.choose, self.desk.cache.snapshot)
        by_pod: dict[str, list[str]] = {}
        for each in found.violations:
            for info in each.pods:
                by_pod.setdefault(info.pod.metadata.name, []).append(each.rule.head.name)
        return by_pod

    def plan(self) -> dict[str, str]:
        """Return the target of each violator, or why it is not moved."""
        found = cluster_audit.audit_cluster(self.choose, self.desk.cache.snapshot).violations
        planner = self.make_planner()
        planned: dict[str, str] = {}
        for violator in move_planning.list_violators(found):
            move = planner.plan_move(violator)
            planned[violator.pod.pod.metadata.name] = move if isinstance(move, str) else move.target
        return planned


def make_pod(
    name: str, node: str = "slow", workload: str = "", **labels: str
) -> builders.PodBuilder:
    """Return a placed pod of a workload of its own."""
    labels = {"app": "web", **labels}
    owned = desk.pod(name, **labels).node(node).uid(name)
    return owned.owner("ReplicaSet", workload or name, uid=workload or name)


def make_workload_move(
    workload: str, rule: str, node: str, hours_ago: float
) -> loop_guard.WorkloadMove:
    """Return a move some hours before now."""
    at = (NOW - datetime.timedelta(hours=hours_ago)).isoformat()
    return loop_guard.WorkloadMove(workload, rule, node, at)
