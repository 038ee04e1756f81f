"""What VolumeZone says, branch by branch."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.objects import storage_objects
from policysched.plugins.volume_zone import volume_zone
from tests.builders import PodBuilder
from tests.plugins.volumes.volume_worlds import (
    OUT_OF_SCOPE,
    SKIPPED,
    World,
    in_tree,
    pod,
    said,
    world,
)
from tests.reference.single_node import NEVER
from tests.storage_builders import make_claim, make_class

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ELSEWHERE = (NEVER, (volume_zone.REASON,))


def zoned(labels: dict[str, str], *nodes: dict[str, str]) -> World:
    """Return a world with the claim `c` bound to a volume with labels, and two nodes."""
    first, second = nodes
    return world(*in_tree("c", meta={"labels": labels}), labels=(first, second))


ZONES = [
    pytest.param(world(), pod, OUT_OF_SCOPE, id="no volumes"),
    pytest.param(world(), pod.ephemeral("v"), OUT_OF_SCOPE, id="ephemeral volumes alone"),
    pytest.param(
        world(), pod.claim(""), (NEVER, ("PersistentVolumeClaim had no name",)), id="no claim name"
    ),
    pytest.param(
        world(),
        pod.claim("c"),
        (NEVER, ('persistentvolumeclaim "c" not found',)),
        id="claim missing",
    ),
    pytest.param(
        world(make_claim("c")),
        pod.claim("c"),
        (NEVER, ("PersistentVolumeClaim had no pv name and storageClass name",)),
        id="no class",
    ),
    pytest.param(
        world(make_claim("c", class_name="")),
        pod.claim("c"),
        (NEVER, ("PersistentVolumeClaim had no pv name and storageClass name",)),
        id="empty class",
    ),
    pytest.param(
        world(make_claim("c", class_name="k")),
        pod.claim("c"),
        (NEVER, ('storageclass.storage.k8s.io "k" not found',)),
        id="class missing",
    ),
    pytest.param(
        world(make_claim("c", class_name="k"), make_class("k", mode=None)),
        pod.claim("c"),
        (NEVER, ('VolumeBindingMode not set for StorageClass "k"',)),
        id="no binding mode",
    ),
    pytest.param(
        world(make_claim("c", class_name="k"), make_class("k", mode="Immediate")),
        pod.claim("c"),
        (NEVER, ("PersistentVolume had no name",)),
        id="immediate and not bound",
    ),
    pytest.param(
        world(make_claim("c", class_name="k"), make_class("k")),
        pod.claim("c"),
        SKIPPED,
        id="waits for the pod",
    ),
    pytest.param(
        world(
            make_claim("c", class_name="k", annotations={storage_objects.BETA_STORAGE_CLASS: ""}),
            make_class("k"),
        ),
        pod.claim("c"),
        (NEVER, ("PersistentVolumeClaim had no pv name and storageClass name",)),
        id="annotated class goes first",
    ),
    pytest.param(
        world(make_claim("c", volume="gone")),
        pod.claim("c"),
        (NEVER, ('persistentvolume "gone" not found',)),
        id="volume missing",
    ),
    pytest.param(zoned({}, {ZONE: "a"}, {ZONE: "b"}), pod.claim("c"), SKIPPED, id="no labels"),
    pytest.param(
        zoned({ZONE: ""}, {ZONE: "a"}, {ZONE: "b"}), pod.claim("c"), SKIPPED, id="empty label"
    ),
    pytest.param(
        zoned({ZONE: "a__"}, {ZONE: "a"}, {ZONE: "b"}), pod.claim("c"), SKIPPED, id="empty part"
    ),
    pytest.param(
        zoned({ZONE: "a"}, {ZONE: "a"}, {ZONE: "b"}),
        pod.claim("c"),
        [None, ELSEWHERE],
        id="one zone",
    ),
    pytest.param(
        zoned({ZONE: "a__ c"}, {ZONE: "c"}, {ZONE: "a__ c"}),
        pod.claim("c"),
        [None, ELSEWHERE],
        id="several zones",
    ),
    pytest.param(
        zoned({ZONE: "a"}, {}, {"disk": "ssd"}),
        pod.claim("c"),
        [None, None],
        id="nodes without zones and regions",
    ),
    pytest.param(
        zoned({ZONE: "a"}, {REGION: "r"}, {BETA_ZONE: "a"}),
        pod.claim("c"),
        [ELSEWHERE, ELSEWHERE],
        id="nodes without the label, but another one",
    ),
    pytest.param(
        zoned({BETA_ZONE: "a"}, {ZONE: "a"}, {BETA_ZONE: "a"}),
        pod.claim("c"),
        [None, None],
        id="beta label: the new one serves",
    ),
    pytest.param(
        zoned({BETA_ZONE: "a"}, {ZONE: "a", BETA_ZONE: "b"}, {ZONE: "b", BETA_ZONE: "a"}),
        pod.claim("c"),
        [ELSEWHERE, None],
        id="beta label goes first",
    ),
    pytest.param(
        zoned({BETA_REGION: "r", ZONE: "a"}, {REGION: "r", ZONE: "a"}, {REGION: "r"}),
        pod.claim("c"),
        [None, ELSEWHERE],
        id="all labels have to match",
    ),
    pytest.param(
        zoned({REGION: "r", BETA_REGION: "s"}, {REGION: "r"}, {REGION: "r", BETA_REGION: "s"}),
        pod.claim("c"),
        [ELSEWHERE, None],
        id="labels of both generations",
    ),
    pytest.param(
        world(
            *in_tree("c", meta={"labels": {ZONE: "a"}}),
            *in_tree("d", meta={"labels": {ZONE: "b"}}),
            labels=({ZONE: "a"}, {ZONE: "b"}),
        ),
        pod.claim("c").claim("d"),
        [ELSEWHERE, ELSEWHERE],
        id="volumes in different zones",
    ),
]


@pytest.mark.parametrize("around, waiting, expected", ZONES)
def test_volume_zone(around: World, waiting: PodBuilder, expected: Any) -> None:
    """A pod goes to the zones and regions of its volumes."""
    assert said(volume_zone.VolumeZone(), waiting, around.build()) == expected
