"""One node: labels, taints, conditions, amounts, metrics and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policysched import amounts
from policysched.cluster import cache as caches
from policysched.cluster.pods import pod_shape
from policysched.lang.checked import checked

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
    columns = cache.nodes
    row = columns.row_of[name]
    resources = {
        resource: {
            "used": int(columns.requested[row, index]),
            "of": int(columns.allocatable[row, index]),
        }
        for index, resource in enumerate(columns.resources.values)
        if resource and columns.allocatable[row, index]
    }
    room = {resource: each["of"] for resource, each in resources.items()}
    pods = _sort_pods_by_share(cache.get_pods_on_row(row), room)
    shown = pods[:_MOST_PODS]
    return {
        "node": name,
        "labels": dict(sorted(node.metadata.labels.items())),
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in node.spec.taints
        ],
        "isCordoned": node.spec.unschedulable,
        "conditions": [
            {"type": each.type, "status": each.status} for each in node.status.conditions
        ],
        "resources": resources,
        "metrics": {
            metric.name: amounts.format_amount(samples[name].value, metric.unit)
            for metric in metrics
            if name in (samples := cache.metrics.get_newest_samples(metric.key))
        },
        "pods": [each.key for each in shown],
        "requests": _list_requests(shown, room),
        "podCount": len(pods),
        "allowedPods": int(columns.allowed_pods[row]),
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
