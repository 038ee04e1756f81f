"""Find the workload that owns a pod, and choose a share of all workloads."""

from __future__ import annotations

import hashlib

from policysched.cluster.objects import objects

_POD_TEMPLATE_HASH = "pod-template-hash"
"""Label of the pods of a Deployment; it is also the end of their ReplicaSet's name."""


def find_workload(pod: objects.Pod) -> str:
    """Return `NAMESPACE/KIND/NAME` of the workload that owns a pod.

    It is the controller of the pod, or the Deployment of a ReplicaSet. A pod without a controller
    is a workload of its own.
    """
    meta = pod.metadata
    for owner in meta.owner_references:
        if owner.controller:
            return f"{meta.namespace}/{_find_top_owner(owner, meta.labels)}"
    return f"{meta.namespace}/Pod/{meta.name}"


def _find_top_owner(owner: objects.OwnerReference, labels: dict[str, str]) -> str:
    """Return `KIND/NAME` of a controller, or of the Deployment that owns it."""
    suffix = f"-{labels.get(_POD_TEMPLATE_HASH, '')}"
    if owner.kind == "ReplicaSet" and len(suffix) > 1 and owner.name.endswith(suffix):
        return f"Deployment/{owner.name.removesuffix(suffix)}"
    return f"{owner.kind}/{owner.name}"


def compute_workload_percent(workload: str, salt: str) -> float:
    """Return the place of a workload among all, from 0 to below 100.

    It depends on nothing but its arguments. With another `salt`, other workloads come first.
    """
    digest = hashlib.blake2b(f"{salt}\n{workload}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) * 100 / 2**64
