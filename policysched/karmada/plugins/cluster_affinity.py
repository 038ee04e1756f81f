"""ClusterAffinity: requires that the placement selects the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from policysched.karmada import cluster_matching, interface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import snapshot

REASON = "cluster(s) did not match the placement cluster affinity constraint"


class ClusterAffinityPlugin:
    """Filters by the cluster affinity of an attempt; has no score, because Karmada's is always 0.

    Source: Karmada `pkg/scheduler/framework/plugins/clusteraffinity`.
    """

    name = "ClusterAffinity"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass clusters that an affinity of this attempt selects; without affinities, pass all."""
        affinities = list_accepted_affinities(request)
        if not affinities:
            return [interface.PASSES] * len(clusters.clusters)
        return clusters.memoize(
            (self.name, msgspec.json.encode(affinities)),
            lambda: [
                interface.PASSES
                if any(cluster_matching.matches_cluster_affinity(cluster, a) for a in affinities)
                else REASON
                for cluster in clusters.clusters
            ],
        )


def list_accepted_affinities(
    request: interface.SchedulingRequest,
) -> list[objects.ClusterAffinity]:
    """Return the affinities of which a cluster must match one to pass; empty if all pass.

    They are the placement's affinity, or the term of this attempt and its overflow affinities. A
    resource without pods needs no capacity, so it does not overflow.
    """
    if request.placement.cluster_affinity is not None:
        return [request.placement.cluster_affinity]
    term = request.affinity_term
    if term is None:
        return []
    overflow = term.overflow_affinities or () if request.spec.is_workload else ()
    return [term, *overflow]
