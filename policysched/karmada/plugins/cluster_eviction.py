"""ClusterEviction: excludes clusters from which the binding is being evicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada.state import snapshot

REASON = "cluster(s) is in the process of eviction"


class ClusterEvictionPlugin:
    """Filters by graceful eviction tasks.

    Source: Karmada `pkg/scheduler/framework/plugins/clustereviction`.
    """

    name = "ClusterEviction"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass clusters that no graceful eviction task names."""
        leaving = {task.from_cluster for task in request.spec.graceful_eviction_tasks}
        return [
            REASON if cluster.metadata.name in leaving else interface.PASSES
            for cluster in clusters.clusters
        ]
