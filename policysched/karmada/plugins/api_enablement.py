"""APIEnablement: requires that the cluster serves the kind of the resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface
from policysched.karmada.plugins import present_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import snapshot

REASON = "cluster(s) did not have the API resource"


class APIEnablementPlugin:
    """Filters by API enablements.

    Source: Karmada `pkg/scheduler/framework/plugins/apienablement`.
    """

    name = "APIEnablement"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass current targets, and clusters that serve the exact group, version and kind."""
        resource = request.spec.resource
        group_version, kind = resource.api_version, resource.kind
        reasons = clusters.memoize(
            (self.name, group_version, kind),
            lambda: [
                interface.PASSES if _serves_kind(cluster, group_version, kind) else REASON
                for cluster in clusters.clusters
            ],
        )
        return present_targets.exempt_present_targets(reasons, request, clusters)


def _serves_kind(cluster: objects.Cluster, group_version: str, kind: str) -> bool:
    return any(
        enabled.group_version == group_version
        and any(resource.kind == kind for resource in enabled.resources)
        for enabled in cluster.status.api_enablements
    )
