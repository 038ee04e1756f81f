"""ClusterLocality: clusters that the binding has already are better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada.state import snapshot


class ClusterLocalityPlugin:
    """Source: Karmada `pkg/scheduler/framework/plugins/clusterlocality`."""

    name = "ClusterLocality"

    def score(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[int]:
        """Return all points for present targets and none for others."""
        present = {target.name for target in request.spec.clusters}
        return [
            interface.MAX_SCORE if cluster.metadata.name in present else 0
            for cluster in clusters.clusters
        ]
