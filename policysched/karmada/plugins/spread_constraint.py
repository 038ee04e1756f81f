"""SpreadConstraint: requires the properties of a cluster over which the binding is spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import snapshot


class SpreadConstraintPlugin:
    """Filters by provider, region and zones.

    Source: Karmada `pkg/scheduler/framework/plugins/spreadconstraint`.
    """

    name = "SpreadConstraint"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass clusters that have the provider, region or zones of all spread constraints."""
        fields = tuple(c.spread_by_field for c in request.placement.spread_constraints)
        return clusters.memoize(
            (self.name, fields),
            lambda: [_find_spread_refusal(cluster.spec, fields) for cluster in clusters.clusters],
        )


def _find_spread_refusal(spec: objects.ClusterSpec, fields: Sequence[str]) -> str:
    """Return the reason for the first missing property, or `PASSES`."""
    for field in fields:
        if field == "provider" and not spec.provider:
            return "cluster(s) did not have provider property"
        if field == "region" and not spec.region:
            return "cluster(s) did not have region property"
        if field == "zone" and not spec.zones:
            return "cluster(s) did not have zones property"
    return interface.PASSES
