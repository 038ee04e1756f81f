"""Translate in-tree volumes to CSI volumes.

kube-scheduler counts the volumes of five in-tree plugins against the limits of the CSI drivers that
replaced them. Sources: csi-translation-lib `plugins/*.go` (names, volume handles, error texts);
`plugins/nodevolumelimits/utils.go`, isCSIMigrationOn (the five plugins).
"""

from __future__ import annotations

import dataclasses
import re
import urllib.parse
from typing import NamedTuple

from policysched.cluster.objects import objects, storage_objects, volume_sources

DRIVERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""In-tree plugin → CSI driver."""
COUNTED = frozenset(DRIVERS) - {"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"}
"""In-tree plugins whose volumes count against the limits of their CSI drivers."""

_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_ZONE = "topology.kubernetes.io/zone"
_ZONE_SEPARATOR = "__"
_UNKNOWN = "UNSPECIFIED"
_EBS_SCHEME = "aws://"
_EBS_VOLUME = re.compile(r"vol-[^/]*")
_EBS = "kubernetes.io/aws-ebs"
_GCE = "kubernetes.io/gce-pd"
_AZURE_DISK = "kubernetes.io/azure-disk"
_PLUGIN_OF = {
    "gce_persistent_disk": _GCE,
    "aws_elastic_block_store": _EBS,
    "cinder": "kubernetes.io/cinder",
    "azure_disk": _AZURE_DISK,
    "azure_file": "kubernetes.io/azure-file",
    "vsphere_volume": "kubernetes.io/vsphere-volume",
    "portworx_volume": "kubernetes.io/portworx-volume",
}


class CSIVolumeIdentity(NamedTuple):
    """A volume as its driver identifies it; an unprovisioned volume has a claim, but no handle."""

    driver: str
    handle: str
    claim: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class UntranslatableVolumeReason:
    """The reason why an in-tree volume has no CSI volume, in kube-scheduler's words."""

    problem: str


def find_in_tree_plugin(
    source: objects.Volume | storage_objects.PersistentVolumeSpec,
) -> str | None:
    """Return the in-tree plugin of a volume if a CSI driver replaces it, or None."""
    for field, plugin in _PLUGIN_OF.items():
        if getattr(source, field) is not None:
            return plugin
    return None


def translate_inline_volume(
    volume: objects.Volume,
) -> CSIVolumeIdentity | UntranslatableVolumeReason | None:
    """Return the CSI volume of an inline volume of a pod, or None if it does not count."""
    plugin = find_in_tree_plugin(volume)
    if plugin not in COUNTED:
        return None
    disk = volume.gce_persistent_disk
    handle = _make_gce_handle(disk.pd_name, "") if disk is not None else _make_volume_handle(volume)
    return (
        handle
        if isinstance(handle, UntranslatableVolumeReason)
        else CSIVolumeIdentity(DRIVERS[plugin], handle)
    )


def translate_persistent_volume(
    volume: storage_objects.PersistentVolume,
) -> CSIVolumeIdentity | UntranslatableVolumeReason | None:
    """Return the CSI volume of an in-tree PersistentVolume, or None if it does not count."""
    plugin = find_in_tree_plugin(volume.spec)
    if plugin not in COUNTED:
        return None
    disk, labels = volume.spec.gce_persistent_disk, volume.metadata.labels
    if disk is not None:
        handle = _make_gce_handle(disk.pd_name, labels.get(_BETA_ZONE) or labels.get(_ZONE, ""))
    else:
        handle = _make_volume_handle(volume.spec)
    return (
        handle
        if isinstance(handle, UntranslatableVolumeReason)
        else CSIVolumeIdentity(DRIVERS[plugin], handle)
    )


def _make_volume_handle(
    source: objects.Volume | storage_objects.PersistentVolumeSpec,
) -> str | UntranslatableVolumeReason:
    """Return the handle of a volume if it depends only on the volume source."""
    if source.aws_elastic_block_store is not None:
        return _make_ebs_handle(source.aws_elastic_block_store.volume_id)
    if source.azure_disk is not None:
        return _make_azure_handle(source.azure_disk)
    if source.cinder is not None:
        return source.cinder.volume_id
    return source.portworx_volume.volume_id if source.portworx_volume is not None else ""


def _make_gce_handle(name: str, zone_label: str) -> str | UntranslatableVolumeReason:
    """Return the handle of a GCE disk in one zone, several zones or an unknown zone.

    Source: `gce_pd.go`, TranslateInTreePVToCSI.
    """
    zones = zone_label.split(_ZONE_SEPARATOR)
    if len(zones) == 1:
        return f"projects/{_UNKNOWN}/zones/{zone_label or _UNKNOWN}/disks/{name}"
    region = _find_gce_region(zones)
    if isinstance(region, UntranslatableVolumeReason):
        return UntranslatableVolumeReason(f"failed to get region from zones: {region.problem}")
    return f"projects/{_UNKNOWN}/regions/{region}/disks/{name}"


def _find_gce_region(zones: list[str]) -> str | UntranslatableVolumeReason:
    """Return the common region of the zones; the region of `us-east1-b` is `us-east1`."""
    regions = set()
    for zone in zones:
        region = zone.rpartition("-")[0]
        if region.count("-") != 1:
            expected = "zone in unexpected format, expected: {locale}-{region}-{zone}"
            return UntranslatableVolumeReason(f"{expected}, got: {zone}")
        regions.add(region)
    if len(regions) > 1:
        spelled = " ".join(f"{region}:{{}}" for region in sorted(regions))
        return UntranslatableVolumeReason(
            f"multiple or no regions gotten from zones, got: map[{spelled}]"
        )
    return regions.pop()


def _make_ebs_handle(volume_id: str) -> str | UntranslatableVolumeReason:
    """Return the volume ID from `aws://zone/vol-1`; an ID without this scheme is unchanged."""
    if not volume_id.startswith(_EBS_SCHEME):
        return volume_id
    path = urllib.parse.unquote(urllib.parse.urlsplit(volume_id).path).strip("/")
    if _EBS_VOLUME.fullmatch(path):
        return path
    problem = f"Invalid format for AWS volume ({volume_id})"
    return UntranslatableVolumeReason(
        f"failed to translate Kubernetes ID to EBS Volume ID {problem}"
    )


def _make_azure_handle(disk: volume_sources.AzureDisk) -> str | UntranslatableVolumeReason:
    if disk.kind is not None and disk.kind.lower() != "managed":
        return UntranslatableVolumeReason(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri
