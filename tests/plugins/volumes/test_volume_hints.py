"""Which events bring pods back that volume plugins rejected, without VolumeBinding."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import volume_sources
from policysched.plugins.node_volume_limits import node_volume_limits
from policysched.plugins.volume_restrictions import volume_restrictions
from policysched.plugins.volume_zone import volume_zone
from tests.builders import make_node, make_pod
from tests.plugins import hinting
from tests.plugins.hinting import Action, Resource
from tests.plugins.volumes.volume_worlds import ebs, gce, iscsi
from tests.storage_builders import (
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
)

ZONE = "topology.kubernetes.io/zone"
waiting = make_pod("a").claim("c").ephemeral("v").volume(**gce("disk"))
placed = make_pod("b").node("n1")
elsewhere = make_pod("b", "prod").node("n1")
node = make_node("n1")
CLAIM, CLASS = Resource.PERSISTENT_VOLUME_CLAIM, Resource.STORAGE_CLASS
VOLUME, CSI_NODE = Resource.PERSISTENT_VOLUME, Resource.CSI_NODE
ATTACHMENT = Resource.VOLUME_ATTACHMENT
relabelled = hinting.node_updated(Action.UPDATE_NODE_LABEL, node, node.labels({ZONE: "a"}))
claim_added = hinting.stored(CLAIM, new=make_claim("c"))
claim_updated = hinting.stored(CLAIM, old=make_claim("c"), new=make_claim("c", volume="v"))
other_claim_added = hinting.stored(CLAIM, new=make_claim("d"))
claim_added_elsewhere = hinting.stored(CLAIM, new=make_claim("c", "prod"))
own_claim_added = hinting.stored(CLAIM, new=make_claim("a-v"))

RESTRICTIONS = [
    pytest.param(hinting.pod_deleted(placed.claim("c")), True, id="pod with the claim deleted"),
    pytest.param(hinting.pod_deleted(elsewhere.claim("c")), False, id="claim of a namesake"),
    pytest.param(hinting.pod_deleted(placed.claim("d")), False, id="other claim"),
    pytest.param(hinting.pod_deleted(placed.ephemeral("v")), False, id="ephemeral volume"),
    pytest.param(hinting.pod_deleted(placed.volume(**gce("disk"))), True, id="disk"),
    pytest.param(
        hinting.pod_deleted(elsewhere.volume(**gce("disk"))), True, id="disk, other namespace"
    ),
    pytest.param(hinting.pod_deleted(placed.volume(**gce("other"))), False, id="other disk"),
    pytest.param(
        hinting.pod_deleted(make_pod("b").claim("c")), False, id="pod that was on no node"
    ),
    pytest.param(hinting.pod_added(placed.claim("c")), False, id="pod added"),
    pytest.param(hinting.node_added(node), True, id="node added"),
    pytest.param(relabelled, False, id="node relabelled"),
    pytest.param(claim_added, True, id="claim added"),
    pytest.param(claim_updated, False, id="claim updated"),
    pytest.param(other_claim_added, False, id="other claim added"),
    pytest.param(claim_added_elsewhere, False, id="claim added in another namespace"),
    pytest.param(own_claim_added, False, id="claim of the ephemeral volume added"),
]


@pytest.mark.parametrize("happening, expected", RESTRICTIONS)
def test_volume_restrictions(happening: hinting.Happening, expected: bool) -> None:
    """A disk or claim that is let go of, a claim that was missing, a new node."""
    plugin = volume_restrictions.VolumeRestrictions()
    assert hinting.would_queue(plugin, waiting, happening) == expected


LIMITS = [
    pytest.param(hinting.stored(CSI_NODE, new=make_csi_node("n1")), True, id="CSINode added"),
    pytest.param(
        hinting.stored(
            CSI_NODE, old=make_csi_node("n1", {"x": 1}), new=make_csi_node("n1", {"x": 2})
        ),
        True,
        id="limit raised",
    ),
    pytest.param(
        hinting.stored(
            CSI_NODE, old=make_csi_node("n1", {"x": 2}), new=make_csi_node("n1", {"x": 1})
        ),
        False,
        id="limit lowered",
    ),
    pytest.param(
        hinting.stored(CSI_NODE, old=make_csi_node("n1"), new=make_csi_node("n1", {"x": 1})),
        True,
        id="driver added",
    ),
    pytest.param(
        hinting.stored(CSI_NODE, old=make_csi_node("n1"), new=make_csi_node("n1", {"x": None})),
        False,
        id="driver without a limit added",
    ),
    pytest.param(hinting.pod_deleted(placed.claim("d")), True, id="pod with a claim deleted"),
    pytest.param(hinting.pod_deleted(placed.ephemeral("v")), True, id="with an ephemeral volume"),
    pytest.param(hinting.pod_deleted(placed.volume(**ebs("x"))), True, id="with an EBS volume"),
    pytest.param(hinting.pod_deleted(placed.volume(**iscsi("x"))), False, id="with iSCSI"),
    pytest.param(hinting.pod_deleted(placed), False, id="without volumes"),
    pytest.param(hinting.pod_deleted(make_pod("b").claim("d")), False, id="pod on no node"),
    pytest.param(claim_added, True, id="claim added"),
    pytest.param(own_claim_added, True, id="claim of the ephemeral volume added"),
    pytest.param(other_claim_added, False, id="other claim added"),
    pytest.param(claim_added_elsewhere, False, id="claim added in another namespace"),
    pytest.param(claim_updated, False, id="claim updated"),
    pytest.param(
        hinting.stored(ATTACHMENT, old=make_attachment("va", "n1", "v")), True, id="detached"
    ),
    pytest.param(
        hinting.stored(ATTACHMENT, new=make_attachment("va", "n1", "v")), False, id="attached"
    ),
    pytest.param(hinting.node_added(node), False, id="node added"),
]


@pytest.mark.parametrize("happening, expected", LIMITS)
def test_node_volume_limits(happening: hinting.Happening, expected: bool) -> None:
    """Higher limits, volumes that go, claims that were missing."""
    plugin = node_volume_limits.NodeVolumeLimits()
    assert hinting.would_queue(plugin, waiting, happening) == expected


@pytest.mark.parametrize(
    "attacher, expected", [("pd.csi.storage.gke.io", True), ("ebs.csi.aws.com", False)]
)
def test_detached_volumes_help_pods_with_disks_of_that_driver(
    attacher: str, expected: bool
) -> None:
    """A pod without claims waits for the driver that took its disk over."""
    detached = make_attachment("va", "n1", "v", attacher=attacher)
    plugin = node_volume_limits.NodeVolumeLimits()
    with_disk = make_pod("a").volume(**gce("disk"))
    happening = hinting.stored(ATTACHMENT, old=detached)
    assert hinting.would_queue(plugin, with_disk, happening) == expected


volume = make_volume("v", meta={"labels": {ZONE: "a"}})
moved = make_volume("v", meta={"labels": {ZONE: "b"}})
renamed_disk = make_volume(
    "v",
    meta={"labels": {ZONE: "a"}},
    gce_persistent_disk=volume_sources.GCEPersistentDisk(pd_name="d"),
)

ZONES = [
    pytest.param(hinting.stored(CLASS, new=make_class("k")), True, id="class that waits added"),
    pytest.param(
        hinting.stored(CLASS, new=make_class("k", mode="Immediate")), False, id="other class added"
    ),
    pytest.param(
        hinting.stored(CLASS, old=make_class("k"), new=make_class("k")), False, id="class updated"
    ),
    pytest.param(hinting.node_added(node), True, id="node added"),
    pytest.param(relabelled, True, id="node relabelled"),
    pytest.param(claim_added, True, id="claim added"),
    pytest.param(claim_updated, True, id="claim updated"),
    pytest.param(other_claim_added, False, id="other claim added"),
    pytest.param(claim_added_elsewhere, False, id="claim added in another namespace"),
    pytest.param(own_claim_added, False, id="claim of the ephemeral volume added"),
    pytest.param(hinting.stored(VOLUME, new=volume), True, id="volume added"),
    pytest.param(hinting.stored(VOLUME, old=volume, new=moved), True, id="volume relabelled"),
    pytest.param(
        hinting.stored(VOLUME, old=volume, new=renamed_disk), False, id="volume changed otherwise"
    ),
    pytest.param(hinting.stored(VOLUME, old=volume), False, id="volume deleted"),
    pytest.param(hinting.pod_deleted(placed.claim("c")), False, id="pod deleted"),
]


@pytest.mark.parametrize("happening, expected", ZONES)
def test_volume_zone(happening: hinting.Happening, expected: bool) -> None:
    """Classes that wait, claims of the pod, volumes somewhere else, nodes somewhere else."""
    assert hinting.would_queue(volume_zone.VolumeZone(), waiting, happening) == expected
