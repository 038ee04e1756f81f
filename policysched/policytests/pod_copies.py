"""Makes pending copies of a pod: a single pod or replicas."""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import objects
from policysched.cluster.pods import owner_objects, owner_selectors
from policysched.inputs import cluster_file


def make_pending_pod(pod: objects.Pod) -> objects.Pod:
    """Return a copy of a pod without its node; its conditions say since when it waits."""
    spec = msgspec.structs.replace(pod.spec, node_name="")
    status = objects.PodStatus(conditions=pod.status.conditions)
    return msgspec.structs.replace(pod, spec=spec, status=status)


def make_pod_replicas(pod: objects.Pod, count: int) -> list[objects.Pod]:
    """Return pending copies of a pod; if it has no controller, they get a ReplicaSet as owner."""
    original = make_pending_pod(pod)
    meta = original.metadata
    owners = meta.owner_references
    if not any(owner.controller for owner in owners):
        owners = (*owners, _make_owner_reference(meta))
    return [
        msgspec.structs.replace(
            original,
            metadata=msgspec.structs.replace(
                meta, name=f"{meta.name}-{number}", uid="", owner_references=owners
            ),
        )
        for number in range(1, count + 1)
    ]


def _make_owner_reference(meta: objects.ObjectMeta) -> objects.OwnerReference:
    return objects.OwnerReference(
        api_version="apps/v1",
        kind="ReplicaSet",
        name=meta.name,
        uid=f"ReplicaSet/{meta.namespace}/{meta.name}",
        controller=True,
    )


def make_replica_set(pod: objects.Pod) -> list[cluster_file.Owner]:
    """Return the ReplicaSet that owns the pods of `make_pod_replicas`.

    The list is empty if the pod has a controller or no labels. Default spread constraints need the
    selector of the ReplicaSet.
    """
    meta = pod.metadata
    if any(owner.controller for owner in meta.owner_references) or not meta.labels:
        return []
    made = owner_objects.Workload(
        metadata=objects.ObjectMeta(name=meta.name, namespace=meta.namespace),
        spec=owner_objects.WorkloadSpec(objects.LabelSelector(match_labels=meta.labels)),
    )
    kinds = {kind.value[1]: kind for kind in owner_selectors.OwnerKind}
    return [(kinds["ReplicaSet"], made)]
