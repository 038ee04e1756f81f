"""Find the workload of a pod: the object that creates the pod from its template."""

from __future__ import annotations

from typing import NamedTuple

from policysched.cluster.objects import objects

_TEMPLATE_HASH = "pod-template-hash"
"""The label that a Deployment gives to its ReplicaSets and pods: its name without this hash."""


class PodWorkload(NamedTuple):
    """The kind and the name of a workload, which is in the namespace of its pods."""

    kind: str
    name: str


def find_workload(metadata: objects.ObjectMeta) -> PodWorkload | None:
    """Return the controller of a pod, or its Deployment if this is a ReplicaSet of one."""
    owner = next((each for each in metadata.owner_references if each.controller), None)
    if owner is None:
        return None
    suffix = f"-{metadata.labels.get(_TEMPLATE_HASH, '')}"
    if owner.kind == "ReplicaSet" and suffix != "-" and owner.name.endswith(suffix):
        return PodWorkload("Deployment", owner.name.removesuffix(suffix))
    return PodWorkload(owner.kind, owner.name)


def format_workload(metadata: objects.ObjectMeta) -> str:
    """Return `NAMESPACE/KIND/NAME` of the workload of a pod.

    A pod without a controller is a workload of its own, of the kind `Pod`.
    """
    kind, name = find_workload(metadata) or PodWorkload("Pod", metadata.name)
    return f"{metadata.namespace}/{kind}/{name}"
