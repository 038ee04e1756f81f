"""Find the CSI volumes that must be attached to the node of a pod.

Source: `plugins/nodevolumelimits/csi.go`, filterAttachableVolumes. A claim without a volume counts
for the driver that will provision it. In-tree volumes count only on nodes with a CSINode.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TypeAlias

from policysched.cluster.objects import objects, storage_objects
from policysched.cluster.pods import pod_shape, storage_requests
from policysched.cluster.storage import csi_migration, storage

Dependency: TypeAlias = tuple[type[storage_objects.StorageObject], tuple[str, str]]
"""Type of an object, and its (namespace, name)."""


class RecordingObjectLookup:
    """Looks up objects and records each lookup, even if the object is missing."""

    def __init__(self, stored: storage.Storage) -> None:
        """Look up objects in `stored`."""
        self._stored = stored
        self.looked_for: set[Dependency] = set()

    def find_claim(self, namespace: str, name: str) -> storage_objects.PersistentVolumeClaim | None:
        """Record the lookup of a claim; return the claim, or None."""
        self.looked_for.add((storage_objects.PersistentVolumeClaim, (namespace, name)))
        return self._stored.claims.get(name, namespace)

    def find_volume(self, name: str) -> storage_objects.PersistentVolume | None:
        """Record the lookup of a PersistentVolume; return it, or None."""
        self.looked_for.add((storage_objects.PersistentVolume, ("", name)))
        return self._stored.volumes.get(name)

    def find_storage_class(self, name: str) -> storage_objects.StorageClass | None:
        """Record the lookup of a StorageClass; return it, or None."""
        self.looked_for.add((storage_objects.StorageClass, ("", name)))
        return self._stored.classes.get(name)

    def note_object(self, item: storage_objects.StorageObject) -> None:
        """Record an object that was found without a lookup."""
        self.looked_for.add((type(item), (item.metadata.namespace, item.metadata.name)))


@dataclasses.dataclass(frozen=True, slots=True)
class UnresolvedVolumeReason:
    """The reason why a volume of a pod is unknown, in kube-scheduler's words."""

    text: str
    is_missing_claim: bool = False


def resolve_pod_csi_volumes(
    pod: pod_shape.PodInfo, lookup: RecordingObjectLookup, *, has_csi_node: bool
) -> Iterator[csi_migration.CSIVolumeIdentity | UnresolvedVolumeReason]:
    """Yield, for each volume of a pod in order, its CSI volume or its problem, if it has either.

    `has_csi_node` is whether the node has a CSINode.
    """
    uses = iter(pod.shape.claims)
    for volume in pod.shape.spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            found = _resolve_claim_use(pod, next(uses), lookup, has_csi_node=has_csi_node)
        else:
            found = _resolve_inline_volume(volume) if has_csi_node else None
        if found is not None:
            yield found


def _resolve_inline_volume(
    volume: objects.Volume,
) -> csi_migration.CSIVolumeIdentity | UnresolvedVolumeReason | None:
    found = csi_migration.translate_inline_volume(volume)
    if isinstance(found, csi_migration.UntranslatableVolumeReason):
        return UnresolvedVolumeReason(
            f"converting volume({volume.name}) from inline to csi: {found.problem}"
        )
    return found


def _resolve_claim_use(
    pod: pod_shape.PodInfo,
    use: storage_requests.ClaimUse,
    lookup: RecordingObjectLookup,
    *,
    has_csi_node: bool,
) -> csi_migration.CSIVolumeIdentity | UnresolvedVolumeReason | None:
    """Return the CSI volume of a pod's claim, or the reason why the volume is unknown.

    The claim may have no name, be missing, or not be owned by the pod. Returns None if the claim
    counts for no driver.
    """
    name, namespace = use.claim_name, pod.shape.namespace
    if not name:
        return UnresolvedVolumeReason("PersistentVolumeClaim had no name")
    claim = lookup.find_claim(namespace, name)
    if claim is None:
        missing = f'persistentvolumeclaim "{name}" not found'
        return UnresolvedVolumeReason(
            f"looking up PVC {namespace}/{name}: {missing}", is_missing_claim=True
        )
    if use.is_ephemeral and not claim.is_owned_by(pod.pod.metadata.uid):
        problem = f"PVC {namespace}/{name} was not created for pod {pod.key} (pod is not owner)"
        return UnresolvedVolumeReason(problem)
    return _resolve_claim(claim, lookup, has_csi_node=has_csi_node)


def _resolve_claim(
    claim: storage_objects.PersistentVolumeClaim,
    lookup: RecordingObjectLookup,
    *,
    has_csi_node: bool,
) -> csi_migration.CSIVolumeIdentity | None:
    """Return the CSI volume of a claim, or None if the claim counts for no driver."""
    name = claim.spec.volume_name
    volume = lookup.find_volume(name) if name else None
    if volume is None:
        return _resolve_unprovisioned_claim(claim, lookup, has_csi_node=has_csi_node)
    found = _resolve_persistent_volume(volume, has_csi_node=has_csi_node)
    return found if found is not None and found.driver and found.handle else None


def _resolve_persistent_volume(
    volume: storage_objects.PersistentVolume, *, has_csi_node: bool
) -> csi_migration.CSIVolumeIdentity | None:
    csi = volume.spec.csi
    if csi is not None:
        return csi_migration.CSIVolumeIdentity(csi.driver, csi.volume_handle)
    found = csi_migration.translate_persistent_volume(volume) if has_csi_node else None
    return None if isinstance(found, csi_migration.UntranslatableVolumeReason) else found


def _resolve_unprovisioned_claim(
    claim: storage_objects.PersistentVolumeClaim,
    lookup: RecordingObjectLookup,
    *,
    has_csi_node: bool,
) -> csi_migration.CSIVolumeIdentity | None:
    """Return the volume to be provisioned for a claim, or None if it counts for no driver."""
    found = lookup.find_storage_class(claim.class_name) if claim.class_name else None
    if found is None:
        return None
    driver = found.provisioner
    if driver in csi_migration.DRIVERS:
        if not has_csi_node or driver not in csi_migration.COUNTED:
            return None
        driver = csi_migration.DRIVERS[driver]
    meta = claim.metadata
    claimed = f"{meta.namespace}/{meta.name}"
    return csi_migration.CSIVolumeIdentity(driver, "", claimed) if driver else None
