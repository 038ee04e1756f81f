"""What NodeVolumeLimits says, branch by branch."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from policysched.cluster.objects import volume_sources
from policysched.plugins.node_volume_limits import node_volume_limits
from tests.builders import PodBuilder
from tests.plugins.volumes.volume_worlds import (
    DISKS,
    OUT_OF_SCOPE,
    World,
    azure,
    bound,
    ebs,
    gce,
    in_tree,
    iscsi,
    placed,
    pod,
    said,
    world,
)
from tests.reference.single_node import NEVER, NOT_NOW
from tests.storage_builders import make_attachment, make_claim, make_class, make_csi_node

ERROR = "Error"
NOT_CONVERTED = "converting volume(v) from inline to csi"
NO_EBS_VOLUME = (
    f"{NOT_CONVERTED}: failed to translate Kubernetes ID to EBS Volume ID "
    "Invalid format for AWS volume"
)
EBS, GCE = "ebs.csi.aws.com", "pd.csi.storage.gke.io"
TOO_MANY = (NOT_NOW, (node_volume_limits.REASON,))
limit_1 = make_csi_node("n1", {DISKS: 1})
delayed = make_class("delayed", provisioner=DISKS)
new = make_claim("new", class_name="delayed")


def not_owned(name: str) -> str:
    """Return the text about a claim that is not the pod's."""
    return f"PVC default/{name}-v was not created for pod default/{name} (pod is not owner)"


LIMITS = [
    pytest.param(world(limit_1), pod, OUT_OF_SCOPE, id="no volumes"),
    pytest.param(world(), pod.volume(**iscsi("a")), OUT_OF_SCOPE, id="no CSI volumes"),
    pytest.param(
        world(*bound("x"), *bound("y"), placed.claim("x")),
        pod.claim("y"),
        [None, None],
        id="no CSINode, no limit",
    ),
    pytest.param(
        world(make_csi_node("n1", {DISKS: None}), *bound("x"), *bound("y"), placed.claim("x")),
        pod.claim("y"),
        [None, None],
        id="CSINode without a limit",
    ),
    pytest.param(
        world(make_csi_node("n1", {"other": 1}), *bound("x"), *bound("y"), placed.claim("x")),
        pod.claim("y"),
        [None, None],
        id="limit of another driver",
    ),
    pytest.param(
        world(limit_1, *bound("x"), *bound("y"), placed.claim("x")),
        pod.claim("y"),
        [TOO_MANY, None],
        id="beyond the limit",
    ),
    pytest.param(
        world(make_csi_node("n1", {DISKS: 2}), *bound("x"), *bound("y"), placed.claim("x")),
        pod.claim("y"),
        [None, None],
        id="just fits",
    ),
    pytest.param(
        world(make_csi_node("n1", {DISKS: 0}), *bound("y")),
        pod.claim("y"),
        [TOO_MANY, None],
        id="limit of zero",
    ),
    pytest.param(
        world(limit_1, *bound("x"), placed.claim("x")),
        pod.claim("x"),
        [None, None],
        id="the same volume counts once",
    ),
    pytest.param(
        world(limit_1, *bound("x"), *bound("y", handle="x"), placed.claim("x")),
        pod.claim("y"),
        [None, None],
        id="the same handle counts once",
    ),
    pytest.param(
        world(limit_1, *bound("x"), *bound("y"), placed.claim("x").claim("y")),
        pod.claim("x"),
        [None, None],
        id="beyond the limit already, nothing added",
    ),
    pytest.param(
        world(limit_1, *bound("x"), *bound("y")),
        pod.claim("x").claim("y"),
        [TOO_MANY, None],
        id="two at once",
    ),
    pytest.param(
        world(limit_1, *bound("x"), *bound("y"), make_attachment("va", "n1", "pv-x")),
        pod.claim("y"),
        [TOO_MANY, None],
        id="attached without a pod",
    ),
    pytest.param(
        world(limit_1, *bound("y"), make_attachment("va", "n1", "pv-y")),
        pod.claim("y"),
        [TOO_MANY, None],
        id="attached itself, but by no pod",
    ),
    pytest.param(
        world(
            make_csi_node("n1", {DISKS: 2}),
            *bound("x"),
            *bound("y"),
            placed.claim("x"),
            make_attachment("va", "n1", "pv-x"),
        ),
        pod.claim("y"),
        [None, None],
        id="attached for a pod counts once",
    ),
    pytest.param(
        world(
            limit_1,
            *bound("y"),
            make_attachment("va", "n1", "gone"),
            make_attachment("vb", "n1", None),
            make_attachment("vc", "n2", "pv-y"),
            make_attachment("vd", "n1", "pv-y", attacher=""),
            make_attachment("ve", "n1", "pv-y", attacher="other"),
        ),
        pod.claim("y"),
        [None, None],
        id="attachments that do not count",
    ),
    pytest.param(
        world(
            limit_1,
            *in_tree("x", **gce("x")),
            *bound("y"),
            make_attachment("va", "n1", "pv-x", attacher=DISKS),
        ),
        pod.claim("y"),
        [None, None],
        id="attachment of an in-tree volume",
    ),
    pytest.param(
        world(limit_1, *bound("x"), placed.claim("x"), new, delayed),
        pod.claim("new"),
        [TOO_MANY, None],
        id="volume to be made",
    ),
    pytest.param(
        world(limit_1, placed.claim("new"), new, delayed),
        pod.claim("new"),
        [None, None],
        id="volume to be made, shared",
    ),
    pytest.param(
        world(limit_1, *bound("x"), placed.claim("x"), new),
        pod.claim("new"),
        [None, None],
        id="class missing",
    ),
    pytest.param(
        world(limit_1, *bound("x"), placed.claim("x"), make_claim("new")),
        pod.claim("new"),
        [None, None],
        id="no class",
    ),
    pytest.param(
        world(
            limit_1,
            *bound("x"),
            placed.claim("x"),
            delayed,
            make_claim("y", volume="gone", class_name="delayed"),
        ),
        pod.claim("y"),
        [TOO_MANY, None],
        id="volume missing: its class says the driver",
    ),
    pytest.param(
        world(
            make_csi_node("n1", {EBS: 0}),
            new,
            make_class("delayed", provisioner="kubernetes.io/aws-ebs"),
        ),
        pod.claim("new"),
        [TOO_MANY, None],
        id="in-tree class",
    ),
    pytest.param(
        world(
            make_csi_node("n1", {"csi.vsphere.vmware.com": 0}),
            new,
            make_class("delayed", provisioner="kubernetes.io/vsphere-volume"),
        ),
        pod.claim("new"),
        [None, None],
        id="in-tree class that is not counted",
    ),
    pytest.param(
        world(make_csi_node("n1", {GCE: 0}), *in_tree("x", **gce("d"))),
        pod.claim("x"),
        [TOO_MANY, None],
        id="in-tree volume",
    ),
    pytest.param(
        world(
            make_csi_node("n1", {"csi.vsphere.vmware.com": 0}),
            *in_tree("x", vsphere_volume=volume_sources.VsphereVolume(volume_path="p")),
        ),
        pod.claim("x"),
        [None, None],
        id="in-tree volume that is not counted",
    ),
    pytest.param(
        world(make_csi_node("n1", {"disk.csi.azure.com": 0}), *in_tree("x", **azure("Shared"))),
        pod.claim("x"),
        [None, None],
        id="in-tree volume without a CSI counterpart",
    ),
    pytest.param(
        world(make_csi_node("n1", {GCE: 0}), *in_tree("x")),
        pod.claim("x"),
        [None, None],
        id="volume of another kind",
    ),
    pytest.param(
        world(limit_1, *bound("y", driver=""), *bound("x"), placed.claim("x")),
        pod.claim("y"),
        [None, None],
        id="volume without a driver",
    ),
    pytest.param(
        world(make_csi_node("n1", {GCE: 1}), placed.volume(**gce("a"))),
        pod.volume(**gce("b")),
        [TOO_MANY, None],
        id="disks without claims",
    ),
    pytest.param(
        world(make_csi_node("n1", {EBS: 1}), placed.volume(**ebs("aws://zone/vol-1"))),
        pod.volume(**ebs("vol-1")),
        [None, None],
        id="two names of one EBS volume",
    ),
    pytest.param(
        world(limit_1),
        pod.volume("v", **ebs("aws://zone/disk")),
        [
            (
                ERROR,
                (f"{NO_EBS_VOLUME} (aws://zone/disk)",),
            ),
            None,
        ],
        id="disk without a CSI counterpart",
    ),
    pytest.param(
        world(make_csi_node("n1")),
        pod.volume("v", **azure("Dedicated")),
        [
            (
                ERROR,
                (f"{NOT_CONVERTED}: kind(Dedicated) is not supported in csi migration",),
            ),
            None,
        ],
        id="unmanaged Azure disk",
    ),
    pytest.param(
        world(make_csi_node("n1", {"disk.csi.azure.com": 0})),
        pod.volume("v", **azure("managed")),
        [TOO_MANY, None],
        id="managed Azure disk",
    ),
    pytest.param(
        world(limit_1),
        pod.claim("c"),
        [(NEVER, ('looking up PVC default/c: persistentvolumeclaim "c" not found',))] * 2,
        id="claim missing",
    ),
    pytest.param(
        world(limit_1),
        pod.volume("v", **ebs("aws://x/y")).claim("c"),
        [
            (
                ERROR,
                (f"{NO_EBS_VOLUME} (aws://x/y)",),
            ),
            (NEVER, ('looking up PVC default/c: persistentvolumeclaim "c" not found',)),
        ],
        id="the first problem is told",
    ),
    pytest.param(
        world(limit_1),
        pod.claim(""),
        [(ERROR, ("PersistentVolumeClaim had no name",))] * 2,
        id="claim without a name",
    ),
    pytest.param(
        world(limit_1, make_claim("a-v")),
        pod.ephemeral("v"),
        [(ERROR, (not_owned("a"),))] * 2,
        id="claim of an ephemeral volume that is not the pod's",
    ),
    pytest.param(
        world(
            limit_1,
            *bound("x"),
            placed.claim("x"),
            delayed,
            make_claim("a-v", owner_uid="uid-default-a", class_name="delayed"),
        ),
        pod.ephemeral("v"),
        [TOO_MANY, None],
        id="ephemeral volume",
    ),
    pytest.param(
        world(limit_1, *bound("x"), placed.claim("gone")),
        pod.claim("x"),
        [None, None],
        id="claim of a placed pod missing",
    ),
    pytest.param(
        world(
            limit_1, make_csi_node("n2"), make_claim("placed-v"), *bound("x"), placed.ephemeral("v")
        ),
        pod.claim("x"),
        [(ERROR, (not_owned("placed"),)), None],
        id="ephemeral volume of a placed pod that is not its own",
    ),
    pytest.param(
        world(limit_1, make_claim("placed-v"), make_claim("y"), placed.ephemeral("v")),
        pod.claim("y"),
        [None, None],
        id="it does not matter for pods without CSI volumes",
    ),
]


@pytest.mark.parametrize("around, waiting, expected", LIMITS)
def test_node_volume_limits(around: World, waiting: PodBuilder, expected: Any) -> None:
    """Volumes count against the limit of their driver, once each."""
    plugin = node_volume_limits.NodeVolumeLimits()
    assert said(plugin, waiting, around.build()) == expected


REGIONAL = "projects/UNSPECIFIED/regions/us-east1/disks/d"


@pytest.mark.parametrize(
    "labels, handle",
    [
        pytest.param({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="no zone"),
        pytest.param(
            {"topology.kubernetes.io/zone": "us-east1-b"},
            "projects/UNSPECIFIED/zones/us-east1-b/disks/d",
            id="one zone",
        ),
        pytest.param(
            {"topology.kubernetes.io/zone": "us-east1-b__us-east1-c"}, REGIONAL, id="two zones"
        ),
        pytest.param(
            {
                "topology.kubernetes.io/zone": "us-west1-a",
                "failure-domain.beta.kubernetes.io/zone": "us-east1-b__us-east1-c",
            },
            REGIONAL,
            id="the beta label goes first",
        ),
        pytest.param({"topology.kubernetes.io/zone": "us-east1-b__us-west1-c"}, "", id="2 regions"),
        pytest.param({"topology.kubernetes.io/zone": "east__west"}, "", id="no region"),
    ],
)
def test_gce_disks_are_known_by_their_zones(labels: dict[str, str], handle: str) -> None:
    """An in-tree GCE disk and a CSI volume of the same handle are one volume."""
    around = world(
        make_csi_node("n1", {GCE: 1}),
        *in_tree("x", **gce("d"), meta={"labels": labels}),
        *bound("y", driver=GCE, handle=handle or "another"),
        placed.claim("y"),
    )
    plugin = node_volume_limits.NodeVolumeLimits()
    assert said(plugin, pod.claim("x"), around.build()) == [None, None]
    if handle:
        other = bound("z", driver=GCE, handle="another")
        crowded = dataclasses.replace(around, stored=(*around.stored, *other))
        assert said(plugin, pod.claim("x").claim("z"), crowded.build()) == [TOO_MANY, None]
