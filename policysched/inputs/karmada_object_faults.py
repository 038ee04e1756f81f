"""Finds values in clusters and bindings that Karmada's webhooks refuse but files can contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.inputs import object_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policysched.karmada import objects


def find_cluster_faults(cluster: objects.Cluster) -> Iterator[object_faults.ObjectFault]:
    """Yield the faults of a member cluster."""
    yield from object_faults.find_taint_faults("spec.taints", cluster.spec.taints)
    summary = cluster.status.resource_summary
    if summary is not None:
        path = "status.resourceSummary"
        yield from object_faults.find_amount_faults(f"{path}.allocatable", summary.allocatable)
        yield from object_faults.find_amount_faults(f"{path}.allocating", summary.allocating)
        yield from object_faults.find_amount_faults(f"{path}.allocated", summary.allocated)


def find_binding_faults(binding: objects.Binding) -> Iterator[object_faults.ObjectFault]:
    """Yield the faults in the replica counts, requirements and tolerations of a binding."""
    spec = binding.spec
    yield from object_faults.find_count_faults("spec.replicas", spec.replicas)
    yield from _find_requirement_faults("spec.replicaRequirements", spec.replica_requirements)
    for number, component in enumerate(spec.components):
        path = f"spec.components[{number}]"
        yield from object_faults.find_count_faults(f"{path}.replicas", component.replicas)
        requirements = component.replica_requirements
        yield from _find_requirement_faults(f"{path}.replicaRequirements", requirements)
    for number, target in enumerate(spec.clusters):
        yield from object_faults.find_count_faults(
            f"spec.clusters[{number}].replicas", target.replicas
        )
    if spec.placement is not None:
        path = "spec.placement.clusterTolerations"
        yield from object_faults.find_toleration_faults(path, spec.placement.cluster_tolerations)


def _find_requirement_faults(
    path: str, found: objects.ReplicaRequirements | None
) -> Iterator[object_faults.ObjectFault]:
    """Yield the faults of the replica requirements at a path."""
    if found is None:
        return
    yield from object_faults.find_amount_faults(f"{path}.resourceRequest", found.resource_request)
    if found.node_claim is not None:
        path = f"{path}.nodeClaim.tolerations"
        yield from object_faults.find_toleration_faults(path, found.node_claim.tolerations)
