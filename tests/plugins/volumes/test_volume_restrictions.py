"""What VolumeRestrictions says, branch by branch."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster import what_if
from policysched.plugins.volume_restrictions import volume_restrictions
from tests.builders import PodBuilder, make_pod
from tests.plugins import asking
from tests.plugins.volumes.volume_worlds import (
    OUT_OF_SCOPE,
    SKIPPED,
    World,
    ebs,
    gce,
    iscsi,
    placed,
    pod,
    rbd,
    said,
    world,
)
from tests.reference.single_node import NEVER, NOT_NOW
from tests.storage_builders import make_claim

ONE_POD = "ReadWriteOncePod"

PAIRS = [
    pytest.param(gce("a"), gce("a"), True, id="GCE: both write"),
    pytest.param(gce("a"), gce("b"), False, id="GCE: other disk"),
    pytest.param(gce("a", read_only=True), gce("a"), True, id="GCE: the other one writes"),
    pytest.param(gce("a"), gce("a", read_only=True), True, id="GCE: the pod writes"),
    pytest.param(
        gce("a", read_only=True), gce("a", read_only=True), False, id="GCE: both only read"
    ),
    pytest.param(ebs("a"), ebs("a"), True, id="EBS"),
    pytest.param(ebs("a"), ebs("b"), False, id="EBS: other volume"),
    pytest.param(ebs("a"), gce("a"), False, id="same name, other kind"),
    pytest.param(iscsi("a"), iscsi("a"), True, id="iSCSI"),
    pytest.param(
        iscsi("a", read_only=True), iscsi("a", read_only=True), False, id="iSCSI: both only read"
    ),
    pytest.param(rbd("x", "y"), rbd("y", "z"), True, id="RBD: one common monitor"),
    pytest.param(rbd("x"), rbd("z"), False, id="RBD: no common monitor"),
    pytest.param(rbd("x"), rbd("x", pool="q"), False, id="RBD: other pool"),
    pytest.param(rbd("x"), rbd("x", image="j"), False, id="RBD: other image"),
    pytest.param(
        rbd("x", read_only=True), rbd("x", read_only=True), False, id="RBD: both only read"
    ),
    pytest.param(rbd("x", "x"), rbd("x"), True, id="RBD: monitor named twice"),
]


@pytest.mark.parametrize("own, other, conflicts", PAIRS)
def test_disks_of_two_pods(own: dict[str, Any], other: dict[str, Any], conflicts: bool) -> None:
    """A disk keeps a second pod off the node, not off others, until the first one goes."""
    cluster = world(placed.volume(**other)).build()
    waiting = pod.volume(**own)
    plugin = volume_restrictions.VolumeRestrictions()
    conflict = (NOT_NOW, (volume_restrictions.REASON_DISK,))
    assert said(plugin, waiting, cluster) == [conflict if conflicts else None, None]
    cluster.cache.remove_pod(cluster.info(placed.volume(**other)))
    assert said(plugin, waiting, cluster) == [None, None]


IN_USE = (NOT_NOW, (volume_restrictions.REASON_CLAIM,))
RESTRICTIONS = [
    pytest.param(world(), pod, OUT_OF_SCOPE, id="no volumes"),
    pytest.param(world(), pod.ephemeral("v"), OUT_OF_SCOPE, id="ephemeral volumes alone"),
    pytest.param(
        world(),
        pod.claim("c"),
        (NEVER, ('persistentvolumeclaim "c" not found',)),
        id="claim missing",
    ),
    pytest.param(
        world(make_claim("c", "prod")),
        pod.claim("c"),
        (NEVER, ('persistentvolumeclaim "c" not found',)),
        id="claim of another namespace",
    ),
    pytest.param(
        world(make_claim("c", modes=[ONE_POD])), pod.claim("c"), SKIPPED, id="nobody uses it"
    ),
    pytest.param(
        world(make_claim("c"), placed.claim("c")), pod.claim("c"), SKIPPED, id="may be shared"
    ),
    pytest.param(
        world(make_claim("c", modes=["ReadWriteOnce", ONE_POD]), placed.claim("c")),
        pod.claim("c"),
        [IN_USE, IN_USE],
        id="in use",
    ),
    pytest.param(
        world(make_claim("c", modes=[ONE_POD]), make_pod("b", "prod").node("n1").claim("c")),
        pod.claim("c"),
        SKIPPED,
        id="a claim of that name in use elsewhere",
    ),
    pytest.param(
        world(make_claim("c", modes=[ONE_POD]), placed.node("unknown").claim("c")),
        pod.claim("c"),
        SKIPPED,
        id="in use on a node that is not known",
    ),
    pytest.param(
        world(make_claim("placed-v", modes=[ONE_POD]), placed.ephemeral("v")),
        pod.claim("placed-v"),
        SKIPPED,
        id="in use as an ephemeral volume",
    ),
    pytest.param(
        world(make_claim("c", modes=[ONE_POD]), placed.claim("c").volume(**gce("a"))),
        pod.claim("c").volume(**gce("a")),
        [(NOT_NOW, (volume_restrictions.REASON_DISK,)), IN_USE],
        id="disk and claim",
    ),
]


@pytest.mark.parametrize("around, waiting, expected", RESTRICTIONS)
def test_volume_restrictions(around: World, waiting: PodBuilder, expected: Any) -> None:
    """Claims have to exist, and those of one pod alone be free."""
    plugin = volume_restrictions.VolumeRestrictions()
    assert said(plugin, waiting, around.build()) == expected


claim = make_claim("c", modes=[ONE_POD])
user = placed.claim("c")
second = make_pod("second").node("n2").claim("c")
namesake = make_pod("namesake", "prod").node("n2").claim("c")


@pytest.mark.parametrize(
    "around, gone, expected",
    [
        pytest.param(world(claim, user), user, [None, IN_USE], id="the one that uses it"),
        pytest.param(world(claim, user, second), user, [None, IN_USE], id="one of two"),
        pytest.param(
            world(claim, user, namesake),
            namesake,
            [IN_USE, None],
            id="one that uses a claim of that name",
        ),
        pytest.param(
            world(claim, user, placed.uid("x")), placed.uid("x"), [IN_USE] * 2, id="other"
        ),
        pytest.param(
            world(claim, user.volume(**gce("d"))),
            user.volume(**gce("d")),
            [None, IN_USE],
            id="with the disk",
        ),
    ],
)
def test_what_if_a_pod_went(around: World, gone: PodBuilder, expected: Any) -> None:
    """Each node is judged as if only its own pods went, and uses are counted as kube-scheduler."""
    cluster = around.build()
    waiting = cluster.info(pod.claim("c").volume(**gce("d")))
    snap = cluster.cache.snapshot()
    plugin, state = volume_restrictions.VolumeRestrictions(), asking.state_for(waiting)
    plugin.remember(state, waiting, snap)
    leaving = [(cluster.info(gone), snap.nodes.row_of[gone.pod.spec.node_name])]
    with what_if.WhatIf(snap) as supposed:
        supposed.remove_pods(leaving)
        found = plugin.filter_apart(state, waiting, snap.view_all_rows())
    assert asking.answers(found) == expected
    after = plugin.filter_apart(state, waiting, snap.view_all_rows())
    assert all(answer is not None for answer in asking.answers(after))
