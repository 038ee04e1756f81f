"""Storage objects as plain mappings."""

from __future__ import annotations

import dataclasses

from policysched.cluster.objects import storage_objects


@dataclasses.dataclass
class Stored:
    """Everything that volume plugins may read besides nodes and pods, by name."""

    claims: dict[tuple[str, str], storage_objects.PersistentVolumeClaim] = dataclasses.field(
        default_factory=dict
    )
    volumes: dict[str, storage_objects.PersistentVolume] = dataclasses.field(default_factory=dict)
    classes: dict[str, storage_objects.StorageClass] = dataclasses.field(default_factory=dict)
    csi_nodes: dict[str, storage_objects.CSINode] = dataclasses.field(default_factory=dict)
    attachments: dict[str, storage_objects.VolumeAttachment] = dataclasses.field(
        default_factory=dict
    )
