"""The node view: labels, taints, conditions, amounts and pods of one node."""

from __future__ import annotations

from typing import Any

from policysched import amounts
from policysched.page import page_source

_MOST_PODS = 500


def make_node_page(view: page_source.ClusterView, name: str) -> dict[str, Any]:
    """Return what is known about one node.

    Raises:
        LookupError: the cluster has no such node.
    """
    cache = view.decider.cluster.cache
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
            for metric in view.decider.policy_set.node_metrics
            if name in (samples := cache.metrics.get_newest_samples(metric.key))
        },
        "pods": pods[:_MOST_PODS],
        "podCount": len(pods),
        "allowedPods": int(columns.allowed_pods[row]),
    }
