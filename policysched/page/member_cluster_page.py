"""Member clusters of a Karmada control plane: the columns of the map, and the view of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policysched.karmada import objects
from policysched.lang.checked import checked
from policysched.observability.live_page import cluster_columns, node_page, node_samples
from policysched.offline import binding_sessions

_MOST_BINDINGS = 500
_NOT_READY = frozenset({"cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"})
_CORDONED = frozenset({"cluster.karmada.io/unschedulable", "cluster.karmada.io/terminating"})
"""Taints that Karmada sets: pkg/apis/cluster/v1alpha1/well_known_constants.go of v1.18.2."""


def make_map_page(decider: binding_sessions.BindingDecider) -> dict[str, Any]:
    """Return the clusters in the form of the columns of nodes; fields count as labels."""
    clusters = decider.clusters.clusters
    rows = cluster_columns.list_rows(decider.columns)
    return {
        "names": [each.metadata.name for each in clusters],
        "state": [_find_cluster_state(each) for each in clusters],
        "taints": cluster_columns.list_taints([each.spec.taints for each in clusters]),
        "labels": cluster_columns.list_labels(
            [{**each.metadata.labels, **_describe_fields(each)} for each in clusters]
        ),
        **cluster_columns.make_usage_columns(decider.columns, rows, _get_metrics(decider)),
    }


def make_member_cluster_page(decider: binding_sessions.BindingDecider, name: str) -> dict[str, Any]:
    """Return one cluster in the form of schemas/page-node.schema.json.

    Raises:
        LookupError: the cluster does not exist, or is being deleted.
    """
    cluster = decider.find_cluster(name)
    mode = cluster.spec.sync_mode
    bindings = decider.bindings_by_cluster.get(name, [])
    shown = bindings[:_MOST_BINDINGS]
    columns = decider.columns.nodes
    return {
        "node": name,
        "labels": dict(sorted(cluster.metadata.labels.items())),
        "taints": node_page.describe_taints(cluster.spec.taints),
        "isCordoned": _find_cluster_state(cluster) == cluster_columns.CORDONED,
        "conditions": [],
        "resources": node_page.describe_amounts(columns, columns.row_of[name]),
        **node_samples.describe_samples(
            decider.columns.metrics, _get_metrics(decider), name, decider.columns.now
        ),
        "pods": [key for key, _ in shown],
        "podCount": len(bindings),
        "allowedPods": int(columns.allowed_pods[columns.row_of[name]]),
        "requests": {"replicas": [replicas for _, replicas in shown]},
        "fields": _describe_fields(cluster) | ({"syncMode": mode} if mode else {}),
    }


def _find_cluster_state(cluster: objects.Cluster) -> int:
    keys = {taint.key for taint in cluster.spec.taints}
    if keys & _NOT_READY:
        return cluster_columns.NOT_READY
    return cluster_columns.CORDONED if keys & _CORDONED else cluster_columns.READY


def _describe_fields(cluster: objects.Cluster) -> dict[str, str]:
    """Return the fields by which placements select clusters, without unset ones."""
    spec = cluster.spec
    zone = ", ".join(spec.zones) or spec.zone
    fields = {"provider": spec.provider, "region": spec.region, "zone": zone}
    return {name: text for name, text in fields.items() if text}


def _get_metrics(decider: binding_sessions.BindingDecider) -> Iterable[checked.CheckedMetric]:
    policies = decider.loaded.policies
    return policies.metrics if policies else ()
