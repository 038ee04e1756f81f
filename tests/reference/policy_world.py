"""The cluster as the reference evaluator of policies sees it: plain objects, nothing kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from policysched.cluster import metric_table, objects, pod_requests
from policysched.lang import activation, checked, checked_selector

Labels = Mapping[str, str]


@dataclasses.dataclass
class World:
    """Everything that a decision depends on.

    `pods` have a node in `spec.nodeName`, which may not exist. `metrics` is by key, then by node.
    """

    now_seconds: float
    nodes: dict[str, objects.Node] = dataclasses.field(default_factory=dict)
    pods: dict[str, objects.Pod] = dataclasses.field(default_factory=dict)
    namespaces: dict[str, Labels] = dataclasses.field(default_factory=dict)
    metrics: dict[str, dict[str, metric_table.Sample]] = dataclasses.field(default_factory=dict)

    def pods_on(self, node_name: str) -> list[objects.Pod]:
        """Return the pods that are placed on a node."""
        return [pod for pod in self.pods.values() if pod.spec.node_name == node_name]

    def placed(self) -> list[tuple[objects.Pod, objects.Node]]:
        """Return the pods on nodes that exist, with their nodes."""
        return [
            (pod, self.nodes[pod.spec.node_name])
            for pod in self.pods.values()
            if pod.spec.node_name in self.nodes
        ]


def requests(pod: objects.Pod, resource: str) -> int:
    """Return what a pod requests of a resource, in milli-cores, bytes or pieces."""
    return pod_requests.pod_requests(pod).amounts.get(resource, 0)


def is_active(active: activation.Activation | None, now_seconds: float) -> bool:
    """Return whether a rule acts."""
    return active is None or active.is_active(now_seconds)


def valid_value(metric: checked.CheckedMetric, node_name: str, world: World) -> float | None:
    """Return the value of a metric on a node, None if missing, too old or out of range."""
    sample = world.metrics.get(metric.key, {}).get(node_name)
    if sample is None or abs(sample.value) == float("inf") or sample.value != sample.value:
        return None
    if world.now_seconds - sample.measured_at_seconds > metric.max_age_seconds:
        return None
    if metric.low is not None and sample.value < metric.low:
        return None
    if metric.high is not None and sample.value > metric.high:
        return None
    return sample.value


def is_out(metric: checked.CheckedMetric, world: World) -> bool:
    """Return whether no node has a valid sample."""
    return all(valid_value(metric, name, world) is None for name in world.nodes)


def selects_pod(
    scope: checked_selector.PodScope, pod: objects.Pod, world: World
) -> bool:
    """Return whether a policy is about a pod."""
    return in_namespaces(scope.namespaces, pod.metadata.namespace, world) and pod_matches(
        scope.where, pod
    )
