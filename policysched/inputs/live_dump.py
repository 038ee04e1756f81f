"""Reads a running API server once: a cluster, or a Karmada control plane if it has no nodes."""

from __future__ import annotations

from policysched.inputs import dump_file, live_cluster, live_karmada
from policysched.kube import errors

_NOT_SERVED = (403, 404)
"""HTTP: a server without Karmada's kinds forbids them, or does not know them."""


def read_live_dump(
    named: live_cluster.LiveClusterReference,
) -> tuple[str, dump_file.ObjectDump]:
    """Return the address of the API server and its objects.

    Clusters and bindings are read only if there are no nodes and no pods, as at the API server of
    Karmada.

    Raises:
        KubeconfigError: the address or the credentials cannot be read.
        KubeError: the server cannot be reached, refuses a request, or takes too long.
        InputError: a cluster or a binding is invalid.
    """
    server, found = live_cluster.read_live_cluster(named)
    if found.nodes or found.pods:
        return server, dump_file.ObjectDump(found)
    try:
        _, plane = live_karmada.read_live_karmada_control_plane(named)
    except errors.KubeError as error:
        if getattr(error.__cause__, "status_code", None) not in _NOT_SERVED:
            raise
        return server, dump_file.ObjectDump(found)
    return server, dump_file.ObjectDump(found, plane)
