"""The claims of generated pods, and what they request, by the words of the documentation."""

from __future__ import annotations

from typing import NamedTuple

from policysched.cluster.objects import objects, storage_objects
from tests import storage_builders


class Claim(NamedTuple):
    """A claim; `owner_uid` is the pod for whose ephemeral volume it was made, or ""."""

    class_name: str
    gigabytes: int
    owner_uid: str = ""


CLAIMS = {
    ("default", "data"): Claim("fast", 100),
    ("default", "logs"): Claim("slow", 1),
    ("default", "bare"): Claim("", 1),
    ("prod", "data"): Claim("fast-2", 2),
    ("ghost", "data"): Claim("slow", 100),
    ("default", "p0-scratch"): Claim("fast", 1, "p0"),
    ("default", "new-scratch"): Claim("slow", 100, "new"),
    ("prod", "new-scratch"): Claim("fast", 5, "another"),
}
"""Claims by namespace and name."""
VOLUMES = (
    *(
        objects.Volume(
            name=f"v-{name}",
            persistent_volume_claim=objects.PersistentVolumeClaimSource(claim_name=name),
        )
        for name in ("data", "logs", "bare", "gone")
    ),
    objects.Volume(
        name="again", persistent_volume_claim=objects.PersistentVolumeClaimSource(claim_name="data")
    ),
    objects.Volume(name="scratch", ephemeral=objects.EphemeralVolumeSource()),
)
"""Volumes of generated pods."""


def find_claim(name: str, namespace: str) -> storage_objects.PersistentVolumeClaim | None:
    """Return a claim as the API server has it."""
    known = CLAIMS.get((namespace, name))
    if known is None:
        return None
    return storage_builders.make_claim(
        name,
        namespace,
        class_name=known.class_name or None,
        request=f"{known.gigabytes}Gi",
        owner_uid=known.owner_uid or None,
    )


def list_claims(pod: objects.Pod) -> list[Claim]:
    """Return the claims that exist of those that a pod uses, each once."""
    named, own = set(), set()
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            named.add(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            own.add(f"{pod.metadata.name}-{volume.name}")
    found = [CLAIMS.get((pod.metadata.namespace, name)) for name in sorted(named)]
    for name in sorted(own):
        claim = CLAIMS.get((pod.metadata.namespace, name))
        is_ours = claim is not None and claim.owner_uid == pod.metadata.uid
        found.append(claim if is_ours else None)
    return [claim for claim in found if claim is not None]


def requested_bytes(pod: objects.Pod) -> int:
    """Return how much storage the claims of a pod request."""
    return sum(claim.gigabytes for claim in list_claims(pod)) * 2**30
