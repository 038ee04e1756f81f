"""One node: labels, taints, conditions, amounts, metrics and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policysched.cluster import cache as caches
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.lang.checked import checked
from policysched.observability.live_page import node_samples

_MOST_PODS = 500


def make_node_page(
    cache: caches.Cache, metrics: Iterable[checked.CheckedMetric], name: str
) -> dict[str, Any]:
    """Return what is known about one node.

    Raises:
        LookupError: the cluster has no such node.
    """
    node = cache.get_node(name)
    if node is None:
        raise LookupError(name)
    nodes = cache.nodes
    row = nodes.row_of[name]
    resources = describe_amounts(nodes, row)
    room = {resource: each["of"] for resource, each in resources.items()}
    pods = _sort_pods_by_share(cache.get_pods_on_row(row), room)
    shown = pods[:_MOST_PODS]
    return {
        "node": name,
        "labels": dict(sorted(node.metadata.labels.items())),
        "taints": describe_taints(node.spec.taints),
        "isCordoned": node.spec.unschedulable,
        "conditions": [
            {"type": each.type, "status": each.status} for each in node.status.conditions
        ],
        "resources": resources,
        **node_samples.describe_samples(cache.metrics, metrics, name, cache.snapshot().now),
        "pods": [each.key for each in shown],
        "requests": _list_requests(shown, room),
        "podCount": len(pods),
        "allowedPods": int(nodes.allowed_pods[row]),
    }


def describe_taints(taints: Iterable[objects.Taint]) -> list[dict[str, str]]:
    """Return taints with their keys, values and effects."""
    return [{"key": each.key, "value": each.value, "effect": each.effect} for each in taints]


def describe_amounts(nodes: columns.NodeColumns, row: int) -> dict[str, dict[str, int]]:
    """Return requested and allocatable amounts of each resource, in milli-CPU, bytes or a count."""
    return {
        resource: {
            "used": int(nodes.requested[row, index]),
            "of": int(nodes.allocatable[row, index]),
        }
        for index, resource in enumerate(nodes.resources.values)
        if resource and nodes.allocatable[row, index]
    }


def _sort_pods_by_share(
    pods: Iterable[pod_shape.PodInfo], room: Mapping[str, int]
) -> list[pod_shape.PodInfo]:
    """Return the pods with the largest share of a resource first; `room` is the allocatable."""

    def find_largest_share(info: pod_shape.PodInfo) -> float:
        requested = info.shape.requests.amounts
        return max((requested.get(name, 0) / of for name, of in room.items()), default=0.0)

    return sorted(pods, key=lambda each: (-find_largest_share(each), each.key))


def _list_requests(
    pods: Sequence[pod_shape.PodInfo], room: Mapping[str, int]
) -> dict[str, list[int]]:
    """Return the requests of each pod by resource, without resources that no pod requests."""
    found = {name: [each.shape.requests.amounts.get(name, 0) for each in pods] for name in room}
    return {name: amounts for name, amounts in found.items() if any(amounts)}
