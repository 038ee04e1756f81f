"""Find the claims of a pod, and check whether their state allows scheduling.

Source: `plugins/volumebinding/volume_binding.go` (podHasPVCs), `binder.go` (GetPodVolumeClaims);
component-helpers `storage/volume/pv_helpers.go` (IsDelayBindingMode).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape, storage_requests
from policysched.cluster.storage import storage
from policysched.framework import status

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"

_LOST = "Lost"
_UNRESOLVABLE = status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE


@dataclasses.dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod in the order of its volumes, with repeats.

    Attributes:
        bound: claims whose binding is complete.
        delayed: claims that are bound once a node is chosen for the pod.
    """

    bound: tuple[storage_objects.PersistentVolumeClaim, ...] = ()
    delayed: tuple[storage_objects.PersistentVolumeClaim, ...] = ()


def find_pod_claims(pod: pod_shape.PodInfo, stored: storage.Storage) -> PodClaims | status.Status:
    """Return the claims of a pod, or a status if they prevent scheduling on every node."""
    for use in pod.shape.claims:
        problem = _find_claim_problem(use, pod, stored)
        if problem:
            return status.Status(_UNRESOLVABLE, (problem,))
    claims, namespace = stored.assumed.claims, pod.shape.namespace
    found = (claims.get(use.claim_name, namespace) for use in pod.shape.claims)
    return _group_claims_by_binding([claim for claim in found if claim is not None], stored)


def _find_claim_problem(
    use: storage_requests.ClaimUse, pod: pod_shape.PodInfo, stored: storage.Storage
) -> str:
    """Return the reason why a claim prevents scheduling, or ""."""
    name, namespace = use.claim_name, pod.shape.namespace
    claim = stored.claims.get(name, namespace)
    if claim is None and use.is_ephemeral:
        return (
            f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        )
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == _LOST:
        volume_name = claim.spec.volume_name
        return (
            f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume_name}"'
        )
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if use.is_ephemeral and not claim.is_owned_by(pod.pod.metadata.uid):
        return f"PVC {namespace}/{name} was not created for pod {pod.key} (pod is not owner)"
    return ""


def _group_claims_by_binding(
    claims: Iterable[storage_objects.PersistentVolumeClaim], stored: storage.Storage
) -> PodClaims | status.Status:
    """Separate bound and delayed claims, or return a status that prevents scheduling."""
    bound, delayed, has_immediate = [], [], False
    for claim in claims:
        if claim.is_fully_bound:
            bound.append(claim)
            continue
        mode = _get_binding_mode(claim, stored)
        if mode is None:
            text = f'VolumeBindingMode not set for StorageClass "{claim.class_name}"'
            return status.Status(status.Code.ERROR, (text,))
        if mode == storage_objects.WAIT_FOR_FIRST_CONSUMER and not claim.spec.volume_name:
            delayed.append(claim)
        else:
            has_immediate = True
    if has_immediate:
        return status.Status(_UNRESOLVABLE, (UNBOUND_IMMEDIATE,))
    return PodClaims(tuple(bound), tuple(delayed))


def _get_binding_mode(
    claim: storage_objects.PersistentVolumeClaim, stored: storage.Storage
) -> str | None:
    """Return the binding mode of the claim's class; None if unset, "" without a class."""
    storage_class = stored.classes.get(claim.class_name)
    return storage_class.volume_binding_mode if storage_class is not None else ""
