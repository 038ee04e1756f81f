"""Which events bring back a pod that VolumeBinding rejected."""

from __future__ import annotations

import pytest

from policysched.cluster.objects import objects
from policysched.framework import handles
from policysched.plugins.volume_binding import volume_binding
from tests.builders import PodBuilder, make_node, make_pod
from tests.plugins import hinting
from tests.plugins.hinting import Action, Happening, Resource, stored
from tests.plugins.volumes.volume_worlds import NoBinder
from tests.storage_builders import (
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

PV, PVC = Resource.PERSISTENT_VOLUME, Resource.PERSISTENT_VOLUME_CLAIM
CLASS, NODE = Resource.STORAGE_CLASS, Resource.CSI_NODE
DRIVER, CAPACITY = Resource.CSI_DRIVER, Resource.CSI_STORAGE_CAPACITY
INLINE = objects.Volume(name="i", csi=objects.CSIVolume(driver="d"))
waiting = make_pod("a").claim("c").ephemeral("v")
inline = make_pod("a").spec(volumes=(INLINE,)).claim("c")


def grown(old: str | None, new: str | None, *, maximum: str | None = None) -> Happening:
    """A capacity changes."""
    before = make_capacity("k", "made", old)
    return stored(CAPACITY, old=before, new=make_capacity("k", "made", new, maximum=maximum))


def tracked(old: bool | None, new: bool | None, name: str = "d") -> Happening:
    """A driver changes whether its capacity is tracked."""
    before = make_driver(name, has_capacity=old)
    return stored(DRIVER, old=before, new=make_driver(name, has_capacity=new))


HELPFUL = [
    pytest.param(stored(PV, new=make_volume("v")), id="volume added"),
    pytest.param(stored(PV, old=make_volume("v"), new=make_volume("v")), id="volume changed"),
    pytest.param(stored(PVC, new=make_claim("c")), id="claim added"),
    pytest.param(stored(PVC, old=make_claim("c"), new=make_claim("c")), id="claim changed"),
    pytest.param(stored(PVC, new=make_claim("a-v")), id="claim of the ephemeral volume"),
    pytest.param(stored(CLASS, new=make_class("k")), id="class added"),
    pytest.param(
        stored(CLASS, old=make_class("k"), new=make_class("k", topologies=[{"zone": ["a"]}])),
        id="class allows other nodes",
    ),
    pytest.param(stored(NODE, new=make_csi_node("n")), id="CSINode added"),
    pytest.param(
        stored(NODE, old=make_csi_node("n"), new=make_csi_node("n", migrated=["p"])),
        id="CSI driver stands in",
    ),
    pytest.param(stored(CAPACITY, new=make_capacity("k", "made", None)), id="capacity added"),
    pytest.param(grown("1Gi", "2Gi"), id="capacity grows"),
    pytest.param(grown(None, "0"), id="capacity is told of"),
    pytest.param(grown("1Gi", "1Gi", maximum="2Gi"), id="larger volumes are possible"),
    pytest.param(hinting.node_added(make_node("n")), id="node added"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_LABEL, make_node("n"), make_node("n")),
        id="node relabelled",
    ),
    pytest.param(hinting.pod_deleted(make_pod("b").claim("d")), id="pod with claims gone"),
]
USELESS = [
    pytest.param(stored(PV, old=make_volume("v")), id="volume gone"),
    pytest.param(stored(PVC, new=make_claim("d")), id="another claim"),
    pytest.param(stored(PVC, new=make_claim("c", "elsewhere")), id="claim elsewhere"),
    pytest.param(stored(PVC, old=make_claim("c")), id="claim gone"),
    pytest.param(
        stored(CLASS, old=make_class("k"), new=make_class("k", provisioner="other")),
        id="class changed otherwise",
    ),
    pytest.param(
        stored(NODE, old=make_csi_node("n"), new=make_csi_node("n", {"d": 3})),
        id="CSINode changed otherwise",
    ),
    pytest.param(grown("2Gi", "1Gi"), id="capacity shrinks"),
    pytest.param(grown("2Gi", "9Gi", maximum="2Gi"), id="no larger volumes"),
    pytest.param(grown("2Gi", None), id="capacity is not told of any more"),
    pytest.param(stored(DRIVER, new=make_driver("d")), id="driver added"),
    pytest.param(tracked(True, False), id="driver of no inline volume"),
    pytest.param(
        hinting.node_updated(Action.UPDATE_NODE_TAINT, make_node("n"), make_node("n")),
        id="node tainted",
    ),
    pytest.param(hinting.pod_deleted(make_pod("b")), id="pod without claims gone"),
]


def would_queue(happening: Happening, pod: PodBuilder = waiting) -> bool:
    """Return whether an event brings the waiting pod back."""
    plugin = volume_binding.VolumeBinding(handles.Handle(NoBinder()))
    return hinting.would_queue(plugin, pod, happening)


@pytest.mark.parametrize("happening", HELPFUL)
def test_events_that_help(happening: Happening) -> None:
    """What may let claims find volumes brings the pod back."""
    assert would_queue(happening)


@pytest.mark.parametrize("happening", USELESS)
def test_events_that_do_not_help(happening: Happening) -> None:
    """What cannot help leaves the pod where it is."""
    assert not would_queue(happening)


@pytest.mark.parametrize(
    "happening, helps",
    [
        pytest.param(tracked(True, False), True, id="not any more"),
        pytest.param(tracked(True, None), True, id="unsaid"),
        pytest.param(tracked(True, True), False, id="still"),
        pytest.param(tracked(None, False), False, id="never was"),
        pytest.param(tracked(False, True), False, id="from now on"),
        pytest.param(tracked(True, False, "other"), False, id="another driver"),
    ],
)
def test_drivers_of_inline_volumes(happening: Happening, helps: bool) -> None:
    """A driver that does not track its capacity any more brings back pods that mount it inline."""
    assert would_queue(happening, inline) == helps
