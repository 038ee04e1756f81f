"""Summarise each node of a simulated cluster for display."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests
from policysched.sim import workload


@dataclasses.dataclass(frozen=True, slots=True)
class NodeState:
    """The state of one node at a given time.

    Attributes:
        zone, instance_type: values of the labels, "" if absent.
        pods: names of the pods on the node, in the order of the input.
        cpu_share, memory_share: total requests of the pods as a share (0 to 1) of allocatable.
        gpus_requested, gpus: number of requested and of allocatable GPUs.
        busy_share: CPU load of the latest sample (0 to 1); None without a sample.
        is_cordoned: whether the node is unschedulable.
        taints: keys of the taints.
    """

    name: str
    zone: str
    instance_type: str
    pods: tuple[str, ...]
    cpu_share: float
    memory_share: float
    gpus_requested: int
    gpus: int
    busy_share: float | None
    is_cordoned: bool
    taints: tuple[str, ...]


def compute_node_states(
    nodes: Iterable[objects.Node],
    pods: Iterable[objects.Pod],
    busy: Mapping[str, metric_table.Sample],
) -> list[NodeState]:
    """Return the state of each node; `busy` has the latest CPU sample, keyed by node name."""
    pods_on: dict[str, list[objects.Pod]] = {}
    for pod in pods:
        pods_on.setdefault(pod.spec.node_name, []).append(pod)
    return [
        _compute_node_state(node, pods_on.get(node.name, []), busy.get(node.name)) for node in nodes
    ]


def _compute_node_state(
    node: objects.Node, pods: list[objects.Pod], busy: metric_table.Sample | None
) -> NodeState:
    """Return the state of one node with its pods."""
    labels = node.metadata.labels
    requested = [pod_requests.compute_pod_requests(pod).amounts for pod in pods]

    def share(resource: str) -> float:
        total = _get_allocatable(node, resource)
        return sum(amounts.get(resource, 0) for amounts in requested) / total if total else 0.0

    return NodeState(
        name=node.name,
        zone=labels.get(workload.ZONE, ""),
        instance_type=labels.get(workload.INSTANCE_TYPE, ""),
        pods=tuple(pod.metadata.name for pod in pods),
        cpu_share=share(pod_requests.CPU),
        memory_share=share(pod_requests.MEMORY),
        gpus_requested=sum(amounts.get(workload.GPU, 0) for amounts in requested),
        gpus=_get_allocatable(node, workload.GPU),
        busy_share=None if busy is None else busy.value,
        is_cordoned=node.spec.unschedulable,
        taints=tuple(taint.key for taint in node.spec.taints),
    )


def _get_allocatable(node: objects.Node, resource: str) -> int:
    return pod_requests.parse_amount(resource, node.status.allocatable.get(resource, 0))
