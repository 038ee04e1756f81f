"""WorkloadAffinity and WorkloadAntiAffinity: place bindings of a group together or apart.

Both are off unless the feature gate WorkloadAffinity is on, as in Karmada. Sources: Karmada
`pkg/scheduler/framework/plugins/workloadaffinity` and `workloadantiaffinity`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface
from policysched.karmada.plugins import present_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from policysched.karmada import objects
    from policysched.karmada.state import snapshot

AFFINITY_REASON = "ResourceBinding with the same affinity group does not target this cluster"
ANTI_AFFINITY_REASON = "cluster already has workload with the same anti-affinity group"


class WorkloadAffinityPlugin:
    """Requires clusters on which every other placed binding of the affinity group is placed."""

    name = "WorkloadAffinity"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass current targets, and clusters common to all placed bindings of the group."""
        groups = request.spec.workload_affinity_groups
        if groups is None or not groups.affinity_group:
            return [interface.PASSES] * len(clusters.clusters)
        placed = [
            names
            for names in _iterate_group_clusters(request, clusters, lambda g: g.affinity_group)
            if names
        ]
        reasons = [
            interface.PASSES
            if all(cluster.metadata.name in names for names in placed)
            else AFFINITY_REASON
            for cluster in clusters.clusters
        ]
        return present_targets.exempt_present_targets(reasons, request, clusters)


class WorkloadAntiAffinityPlugin:
    """Excludes the clusters of other bindings of the anti-affinity group."""

    name = "WorkloadAntiAffinity"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass current targets, and clusters without another binding of the group."""
        groups = request.spec.workload_affinity_groups
        if groups is None or not groups.anti_affinity_group:
            return [interface.PASSES] * len(clusters.clusters)
        taken = frozenset[str]().union(
            *_iterate_group_clusters(request, clusters, lambda g: g.anti_affinity_group)
        )
        reasons = [
            ANTI_AFFINITY_REASON if cluster.metadata.name in taken else interface.PASSES
            for cluster in clusters.clusters
        ]
        return present_targets.exempt_present_targets(reasons, request, clusters)


def _iterate_group_clusters(
    request: interface.SchedulingRequest,
    clusters: snapshot.ControlPlaneSnapshot,
    group_of: Callable[[objects.WorkloadAffinityGroups], str],
) -> Iterator[frozenset[str]]:
    """Yield the clusters of each other binding in the same namespace and group."""
    own = request.binding
    groups = own.spec.workload_affinity_groups
    for other in clusters.bindings:
        its = other.spec.workload_affinity_groups
        if groups is None or its is None or group_of(its) != group_of(groups):
            continue
        if other.metadata.namespace != own.spec.resource.namespace or not other.metadata.namespace:
            continue  # as in Karmada, cluster-wide bindings are ignored
        if other.metadata.name != _make_binding_name(own.spec.resource):
            yield frozenset(target.name for target in other.spec.clusters)


def _make_binding_name(resource: objects.ObjectReference) -> str:
    """Return the name of a resource's binding; source: Karmada `pkg/util/names/names.go`."""
    return f"{resource.name}-{resource.kind}".lower().replace(":", ".")
