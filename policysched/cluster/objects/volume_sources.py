"""Define the volume sources that pods and PersistentVolumes share.

They have only the fields that identify a disk. These fields are used to detect disks that two pods
cannot share, and to translate in-tree volumes to CSI volumes (csi-translation-lib).
"""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import wire


class GCEPersistentDisk(wire.WireStruct, frozen=True):
    """`gcePersistentDisk`."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(wire.WireStruct, frozen=True):
    """`awsElasticBlockStore`."""

    volume_id: str = msgspec.field(name="volumeID", default="")


class ISCSIVolume(wire.WireStruct, frozen=True):
    """`iscsi` of a pod."""

    iqn: str = ""
    read_only: bool = False


class RBDVolume(wire.WireStruct, frozen=True):
    """`rbd` of a pod."""

    monitors: tuple[str, ...] = ()
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class AzureDisk(wire.WireStruct, frozen=True):
    """`azureDisk`; only disks of the kind `Managed`, in any letter case, have a CSI driver."""

    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str | None = None


class AzureFile(wire.WireStruct, frozen=True):
    """`azureFile`; only PersistentVolumes have a secret namespace."""

    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None


class Cinder(wire.WireStruct, frozen=True):
    """`cinder`."""

    volume_id: str = msgspec.field(name="volumeID", default="")


class VsphereVolume(wire.WireStruct, frozen=True):
    """`vsphereVolume`."""

    volume_path: str = ""


class PortworxVolume(wire.WireStruct, frozen=True):
    """`portworxVolume`."""

    volume_id: str = msgspec.field(name="volumeID", default="")
