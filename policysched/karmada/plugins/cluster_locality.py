"""ClusterLocality: prefers the binding's current target clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada.state import snapshot


class ClusterLocalityPlugin:
    """Scores current targets higher than other clusters.

    Source: Karmada `pkg/scheduler/framework/plugins/clusterlocality`.
    """

    name = "ClusterLocality"

    def score(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[int]:
        """Return MAX_SCORE for current targets and 0 for other clusters."""
        present = {target.name for target in request.spec.clusters}
        return [
            interface.MAX_SCORE if cluster.metadata.name in present else 0
            for cluster in clusters.clusters
        ]
