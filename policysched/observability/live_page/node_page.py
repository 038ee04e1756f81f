"""One node: labels, taints, conditions, amounts, metrics and pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policysched import amounts
from policysched.cluster import cache as caches
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
    pods = sorted(each.key for each in cache.get_pods_on_row(row))
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
        "resources": {
            resource: {
                "used": int(columns.requested[row, index]),
                "of": int(columns.allocatable[row, index]),
            }
            for index, resource in enumerate(columns.resources.values)
            if resource and columns.allocatable[row, index]
        },
        "metrics": {
            metric.name: amounts.format_amount(samples[name].value, metric.unit)
            for metric in metrics
            if name in (samples := cache.metrics.get_newest_samples(metric.key))
        },
        "pods": pods[:_MOST_PODS],
        "podCount": len(pods),
        "allowedPods": int(columns.allowed_pods[row]),
    }
