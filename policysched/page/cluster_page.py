"""The cluster map: names, labels and amounts of all nodes, column by column."""

from __future__ import annotations

from typing import Any

from policysched.observability.live_page import cluster_columns
from policysched.page import page_source


def make_cluster_page(view: page_source.ClusterView, since: int) -> dict[str, Any]:
    """Return the nodes; only the generation if the client has already seen it (`since`)."""
    if since == view.generation:
        return {"generation": view.generation}
    snap = view.decider.cluster.cache.snapshot()
    rows = cluster_columns.list_rows(snap)
    metrics = {each.name: each.key for each in view.decider.policy_set.node_metrics}
    return {
        "generation": view.generation,
        **cluster_columns.make_node_columns(cluster_columns.list_nodes(snap, rows)),
        **cluster_columns.make_usage_columns(snap, rows, metrics),
    }
