"""Find conflicts between pods that mount the same disk without a claim.

Source: `plugins/volumerestrictions/volume_restrictions.go`, isVolumeConflict. Pods can share a GCE
disk, iSCSI target or RBD image only if all of them mount it read-only; they can never share an EBS
volume. iSCSI targets are compared only by their qualified name, and RBD images by pool, name and
whether they have a monitor in common.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from policysched.cluster import count_column
from policysched.cluster.objects import objects


@dataclasses.dataclass(frozen=True, slots=True)
class DiskMount:
    """A disk and its mount mode; an RBD image counts as one disk for each of its monitors."""

    identity: tuple[str, ...]
    is_read_only: bool

    def conflicts_with(self, other: DiskMount) -> bool:
        """Return whether pods with these two mounts cannot run on the same node."""
        return self.identity == other.identity and not (self.is_read_only and other.is_read_only)


def list_pod_disks(volumes: Iterable[objects.Volume]) -> tuple[DiskMount, ...]:
    """Return the disks among the volumes of a pod, in order."""
    return tuple(disk for volume in volumes for disk in _list_volume_disks(volume))


def _list_volume_disks(volume: objects.Volume) -> Iterator[DiskMount]:
    """Yield the disks of a volume; an RBD image is one disk for each monitor."""
    gce, ebs = volume.gce_persistent_disk, volume.aws_elastic_block_store
    if gce is not None:
        yield DiskMount(("gce", gce.pd_name), gce.read_only)
    if ebs is not None:
        yield DiskMount(("ebs", ebs.volume_id), is_read_only=False)
    if volume.iscsi is not None:
        yield DiskMount(("iscsi", volume.iscsi.iqn), volume.iscsi.read_only)
    if volume.rbd is not None:
        rbd = volume.rbd
        for monitor in dict.fromkeys(rbd.monitors):
            yield DiskMount(("rbd", monitor, rbd.pool, rbd.image), rbd.read_only)


class DiskColumns:
    """The number of pods on each node that mount a disk, for each disk and mount mode."""

    def __init__(self) -> None:
        """Start without mounted disks."""
        self._columns: dict[DiskMount, count_column.CountColumn] = {}

    def change_disk_mounts(self, row: int, disks: Iterable[DiskMount], change: int) -> None:
        """Add (`change` 1) or remove (-1) mounts of `disks` on one node."""
        for disk in disks:
            column = self._columns.setdefault(disk, count_column.CountColumn())
            column.add(row, change)
            if column.total == 0:
                del self._columns[disk]

    def find_nodes_with_disk_conflicts(
        self, disks: Iterable[DiskMount], size: int
    ) -> npt.NDArray[np.bool_]:
        """Return bool (N,): the nodes with a pod whose mount conflicts with one of `disks`."""
        taken = np.zeros(size, np.bool_)
        for disk in disks:
            for other in (DiskMount(disk.identity, mode) for mode in (True, False)):
                column = self._columns.get(other)
                if column is not None and disk.conflicts_with(other):
                    taken |= column.get_counts(size) > 0
        return taken
