"""In-tree volumes as CSI volumes, or why there is none."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import volume_sources
from policysched.cluster.storage import csi_migration
from tests import storage_builders

ZONE = "topology.kubernetes.io/zone"
GCE = "failed to get region from zones"
EBS = "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume"


@pytest.mark.parametrize(
    "zones, problem",
    [
        pytest.param(
            "us-east1-b__",
            f"{GCE}: zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: ",
            id="empty zone",
        ),
        pytest.param(
            "us-east1-b__a-b-c-d",
            f"{GCE}: zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, "
            "got: a-b-c-d",
            id="too many parts",
        ),
        pytest.param(
            "us-west1-b__us-east1-b",
            f"{GCE}: multiple or no regions gotten from zones, "
            "got: map[us-east1:{} us-west1:{}]",
            id="two regions",
        ),
    ],
)
def test_zones_without_a_region(zones: str, problem: str) -> None:
    """A disk in several zones has a region, or an error that says why not."""
    volume = storage_builders.make_volume(
        "v",
        gce_persistent_disk=volume_sources.GCEPersistentDisk(pd_name="d"),
        meta={"labels": {ZONE: zones}},
    )
    assert csi_migration.translate_persistent_volume(
        volume
    ) == csi_migration.UntranslatableVolumeReason(problem)


@pytest.mark.parametrize(
    "volume_id, handle",
    [
        pytest.param("vol-1", "vol-1", id="bare"),
        pytest.param("anything/else", "anything/else", id="bare, whatever it is"),
        pytest.param("aws://us-east-1a/vol-1", "vol-1", id="address"),
        pytest.param("aws:///vol-1", "vol-1", id="address without a zone"),
        pytest.param("aws://us-east-1a/vol-1/", "vol-1", id="slash at the end"),
        pytest.param("aws://us-east-1a/disk", None, id="not a volume"),
        pytest.param("aws://us-east-1a/a/vol-1", None, id="too deep"),
        pytest.param("aws://vol-1", None, id="no path"),
    ],
)
def test_ebs_volumes(volume_id: str, handle: str | None) -> None:
    """EBS volumes are known by their own ids, without the zone."""
    disk = volume_sources.AWSElasticBlockStore(volume_id=volume_id)
    volume = storage_builders.make_volume("v", aws_elastic_block_store=disk)
    expected = (
        csi_migration.UntranslatableVolumeReason(f"{EBS} ({volume_id})")
        if handle is None
        else csi_migration.CSIVolumeIdentity("ebs.csi.aws.com", handle)
    )
    assert csi_migration.translate_persistent_volume(volume) == expected


def test_volumes_of_other_plugins() -> None:
    """Cinder and Portworx volumes have their own ids as handles; the rest is not counted."""
    cinder = storage_builders.make_volume("v", cinder=volume_sources.Cinder(volume_id="c"))
    portworx = storage_builders.make_volume(
        "v", portworx_volume=volume_sources.PortworxVolume(volume_id="p")
    )
    azure_file = storage_builders.make_volume("v", azure_file=volume_sources.AzureFile())
    assert csi_migration.translate_persistent_volume(cinder) == (
        "cinder.csi.openstack.org",
        "c",
        "",
    )
    assert csi_migration.translate_persistent_volume(portworx) == ("pxd.portworx.com", "p", "")
    assert csi_migration.find_in_tree_plugin(azure_file.spec) == "kubernetes.io/azure-file"
    assert csi_migration.translate_persistent_volume(azure_file) is None
    assert csi_migration.translate_persistent_volume(storage_builders.make_volume("v")) is None
