"""The shipped policies on small clusters, decided by the real framework."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from policysched import _resources
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.framework import handles, runtime
from policysched.offline import pod_report
from policysched.profiles import policies
from tests import builders

FOLDER = _resources.find_resource_folder("policies")
FILES = sorted(FOLDER.glob("*.policy"))

NodeLike = objects.Node | builders.NodeBuilder
PodLike = objects.Pod | builders.PodBuilder
Loads = Mapping[str, Mapping[str, float]]
"""Metric → node → value."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a profile says about one pod; `report` has the form of explain.schema.json."""

    report: dict[str, Any]

    @property
    def best(self) -> list[str]:
        """Names of the nodes with the highest total."""
        best: list[str] = self.report["best"]
        return best

    @property
    def feasible(self) -> list[str]:
        """Names of the nodes that pass, sorted."""
        return sorted(self.report["scores"])

    def rejected_by(self, node: str) -> list[str]:
        """Return the rules and plugins that reject a node."""
        failures = self.report["nodes"][node]["all"]
        return [f"{f['policy']}/{f['rule']}" if f["rule"] else f["plugin"] for f in failures]

    def points(self, rule: str) -> dict[str, float]:
        """Return the weighted points that a rule gives to each feasible node."""
        return {node: scores[rule] for node, scores in self.report["scores"].items()}

    def totals(self) -> dict[str, float]:
        """Return the total of each feasible node."""
        return self.points("total")


def framework(profile: str, *files: pathlib.Path) -> runtime.Framework:
    """Return the profile of that name that the files (default: all shipped ones) declare."""
    policy_set = policies.load_policy_set([str(file) for file in files or (FOLDER,)], {})
    made = policies.require_profiles(policies.make_profiles(policy_set, handles.Handle()))
    return runtime.Framework(made.by_name[profile], None)


def framework_of_no_policy() -> runtime.Framework:
    """Return what `run` uses when it is given no policy."""
    made = policies.require_profiles(
        policies.make_profiles(policies.load_policy_set([], {}), handles.Handle())
    )
    return runtime.Framework(made.by_name["policysched"], None)


def decide(
    profile: str,
    pod: PodLike,
    nodes: Iterable[NodeLike],
    pods: Iterable[PodLike] = (),
    loads: Loads | None = None,
) -> Answer:
    """Return what a shipped profile says about `pod` on a cluster with `pods` on `nodes`."""
    return explain(framework(profile), pod, nodes, pods, loads)


def explain(
    decider: runtime.Framework,
    pod: PodLike,
    nodes: Iterable[NodeLike],
    pods: Iterable[PodLike] = (),
    loads: Loads | None = None,
) -> Answer:
    """Return what a framework says about `pod`."""
    cluster = builders.make_cache(nodes, pods)
    for metric, by_node in (loads or {}).items():
        now = builders.EPOCH.timestamp()
        samples = {node: metric_table.Sample(value, now) for node, value in by_node.items()}
        cluster.cache.metrics.refresh(metric, samples)
    snap = cluster.cache.snapshot()
    return Answer(pod_report.make_pod_report(decider, cluster.info(pod), snap))
