"""Reads a running Karmada control plane once, and returns the objects that a file would contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from policysched import errors
from policysched.inputs import karmada_file, karmada_resources, live_cluster
from policysched.karmada.state import object_validation

if TYPE_CHECKING:
    from policysched.karmada import objects


def read_live_karmada_control_plane(
    plane: live_cluster.LiveClusterReference, reading: live_cluster.ListingOptions | None = None
) -> tuple[str, karmada_file.KarmadaControlPlane]:
    """Return the address of the Karmada API server, and its clusters and bindings.

    Raises:
        KubeconfigError: the address or the credentials cannot be read.
        KubeError: the control plane cannot be reached, refuses a request, takes too long, or does
            not serve these resources.
        InputError: an object is invalid.
    """
    wanted = (
        karmada_resources.CLUSTERS,
        karmada_resources.BINDINGS,
        karmada_resources.CLUSTER_BINDINGS,
    )
    server, (clusters, bindings, global_bindings) = live_cluster.read_live_objects(
        plane, wanted, reading
    )
    kind = "ClusterResourceBinding"
    globally = [msgspec.structs.replace(each, kind=kind) for each in global_bindings]
    found = karmada_file.KarmadaControlPlane(clusters, [*bindings, *globally])
    known: list[objects.Cluster | objects.Binding] = [*found.clusters, *found.bindings]
    for each in known:
        problem = object_validation.find_object_problem(each)
        if problem:
            raise errors.InputError(f"{server} ({each.metadata.name})", problem)
    return server, found
