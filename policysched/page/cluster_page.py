"""The cluster map: names, labels and amounts of all nodes, column by column."""

from __future__ import annotations

from typing import Any

from policysched.observability.live_page import cluster_columns
from policysched.offline import sessions


def make_cluster_page(decider: sessions.PodDecider) -> dict[str, Any]:
    """Return the nodes."""
    snap = decider.cluster.cache.snapshot()
    rows = cluster_columns.list_rows(snap)
    return {
        **cluster_columns.make_node_columns(cluster_columns.list_nodes(snap, rows)),
        **cluster_columns.make_usage_columns(snap, rows, decider.policy_set.node_metrics),
    }
