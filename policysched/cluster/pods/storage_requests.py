"""Read what the PersistentVolumeClaims of a pod request: classes and sizes of storage.

This can change while a pod waits: a claim is created, gets the default class, or grows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from policysched import quantity, units
from policysched.cluster.objects import objects, storage_objects

FindClaim: TypeAlias = Callable[[str, str], storage_objects.PersistentVolumeClaim | None]
"""(name, namespace) → the claim, or None if it does not exist."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimUse:
    """The use of a PersistentVolumeClaim by a volume of a pod.

    Attributes:
        volume_name: `volumes[].name`.
        claim_name: name of the claim; `<pod>-<volume>` for an ephemeral volume.
        read_only: `persistentVolumeClaim.readOnly`.
        is_ephemeral: whether the claim was created for the pod, which must own it.
    """

    volume_name: str
    claim_name: str
    read_only: bool = False
    is_ephemeral: bool = False


class StorageRequest(NamedTuple):
    """What a claim requests.

    Attributes:
        class_name: the class that the claim names, or "".
        size_bytes: the requested size; a volume that is bound may be larger.
    """

    class_name: str
    size_bytes: int


def list_claim_uses(volumes: Iterable[objects.Volume], pod_name: str) -> Iterator[ClaimUse]:
    """Yield the claims of the volumes, in the order of the volumes, with repeats."""
    for volume in volumes:
        claim = volume.persistent_volume_claim
        if claim is not None:
            yield ClaimUse(volume.name, claim.claim_name, claim.read_only)
        elif volume.ephemeral is not None:
            yield ClaimUse(volume.name, f"{pod_name}-{volume.name}", is_ephemeral=True)


def list_storage_requests(
    pod: objects.Pod, find_claim: FindClaim | None
) -> tuple[StorageRequest, ...]:
    """Return what the claims of a pod request; each claim counts once.

    A claim that does not exist is left out, and so is a claim that has the name of the claim of an
    ephemeral volume but belongs to another pod. Without `find_claim`, no claim exists.
    """
    if find_claim is None or not pod.spec.volumes:
        return ()
    meta = pod.metadata
    uses = {use.claim_name: use for use in list_claim_uses(pod.spec.volumes, meta.name)}
    found = []
    for use in uses.values():
        claim = find_claim(use.claim_name, meta.namespace)
        if claim is None or (use.is_ephemeral and not claim.is_owned_by(meta.uid)):
            continue
        size = claim.spec.resources.requests.get(units.STORAGE, "0")
        found.append(StorageRequest(claim.class_name, quantity.parse_whole_units(size)))
    return tuple(found)
