"""Counted volumes follow every change of what they were counted from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from policysched.cluster import what_if
from policysched.cluster.objects import storage_objects as objects
from policysched.cluster.storage import attached_volumes, csi_migration
from tests import storage_builders
from tests.builders import Cluster, make_cache, make_node, make_pod
from tests.storage_builders import make_attachment, make_claim, make_class, make_csi_node

DISKS = "example.com/disks"
pod = make_pod("a").node("n1").claim("c")
owned = make_claim("b-v", owner_uid="uid-default-b")
Change = Callable[[Cluster], object]


def make_world() -> Cluster:
    """Return a node with a limit of one, whose pod has a volume."""
    cluster = make_cache([make_node("n1"), make_node("n2")])
    storage_builders.store(
        cluster.cache.storage,
        make_csi_node("n1", {DISKS: 1}),
        make_claim("c", volume="v"),
        storage_builders.make_volume("v", csi=(DISKS, "handle")),
        storage_builders.make_volume("w", csi=(DISKS, "other")),
    )
    cluster.cache.add_pod(cluster.info(pod))
    return cluster


def put(*things: objects.StorageObject) -> Change:
    """Return the change that adds or replaces objects."""
    return lambda cluster: storage_builders.store(cluster.cache.storage, *things)


def remove(kind: type[objects.StorageObject], name: str) -> Change:
    """Return the change that removes an object."""
    namespace = "default" if kind is objects.PersistentVolumeClaim else ""
    return lambda cluster: cluster.cache.storage.get_store(kind).remove(name, namespace)


def is_full(attached: attached_volumes.AttachedVolumeCounts, driver: str = DISKS) -> list[bool]:
    """Return, for both nodes, whether another volume is too many."""
    attached.refresh()
    full: list[bool] = attached.find_nodes_over_volume_limit(
        driver, {csi_migration.CSIVolumeIdentity(driver, "x")}
    ).tolist()
    return full


CHANGES: list[object] = [
    pytest.param(lambda _: None, True, id="nothing"),
    pytest.param(
        lambda cluster: cluster.cache.remove_pod(cluster.info(pod)), False, id="pod removed"
    ),
    pytest.param(remove(objects.PersistentVolumeClaim, "c"), False, id="claim removed"),
    pytest.param(remove(objects.PersistentVolume, "v"), False, id="volume removed, no class"),
    pytest.param(
        put(make_claim("c", class_name="k"), make_class("k", provisioner=DISKS)),
        True,
        id="claim of a class",
    ),
    pytest.param(
        put(storage_builders.make_volume("v", csi=("other", "handle"))), False, id="other driver"
    ),
    pytest.param(put(make_csi_node("n1", {DISKS: 2})), False, id="limit raised"),
    pytest.param(put(make_csi_node("n1", {DISKS: None})), False, id="limit taken away"),
    pytest.param(remove(objects.CSINode, "n1"), False, id="CSINode removed"),
    pytest.param(put(make_attachment("va", "n1", "v", attacher=DISKS)), True, id="attached"),
    pytest.param(lambda cluster: cluster.cache.remove_node("n1"), True, id="node removed"),
]


@pytest.mark.parametrize("change, full", CHANGES)
def test_a_full_node(change: Change, full: bool) -> None:
    """A node is full until a change makes room on it."""
    cluster = make_world()
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    assert is_full(attached) == [True, False]
    change(cluster)
    assert is_full(attached) == [full, False]


def test_volumes_come_late() -> None:
    """Class, volume and attachment count as soon as they are known, and no longer than that."""
    cluster = make_world()
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    put(make_claim("c", volume="late", class_name="k"))(cluster)
    assert is_full(attached) == [False, False]
    put(make_class("k", provisioner=DISKS))(cluster)
    assert is_full(attached) == [True, False]
    put(storage_builders.make_volume("late", csi=("another", "handle")))(cluster)
    assert is_full(attached) == [False, False]
    put(make_attachment("va", "n1", "w", attacher=DISKS))(cluster)
    assert is_full(attached) == [True, False]
    remove(objects.PersistentVolume, "w")(cluster)
    assert is_full(attached) == [False, False]
    put(storage_builders.make_volume("w", csi=(DISKS, "other")))(cluster)
    assert is_full(attached) == [True, False]
    remove(objects.VolumeAttachment, "va")(cluster)
    assert is_full(attached) == [False, False]


def test_an_attachment_that_moves() -> None:
    """It counts on the node that it names now."""
    cluster = make_world()
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    put(
        make_csi_node("n1", {DISKS: 2}),
        make_csi_node("n2", {DISKS: 1}),
        make_attachment("va", "n1", "w", attacher=DISKS),
    )(cluster)
    assert is_full(attached) == [True, False]
    put(make_attachment("va", "n2", "w", attacher=DISKS))(cluster)
    assert is_full(attached) == [False, True]


def test_problems_of_pods_are_told_until_they_are_solved() -> None:
    """An ephemeral volume's claim must be the pod's own."""
    cluster = make_world()
    put(make_claim("b-v"))(cluster)
    cluster.cache.add_pod(cluster.info(make_pod("b").node("n1").ephemeral("v")))
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    attached.refresh()
    text = "PVC default/b-v was not created for pod default/b (pod is not owner)"
    assert attached.problems == {0: text}
    put(owned)(cluster)
    attached.refresh()
    assert attached.problems == {}
    put(make_claim("b-v"))(cluster)
    attached.refresh()
    assert attached.problems == {0: text}
    put(make_csi_node("n1"))(cluster)
    attached.refresh()
    assert attached.problems == {}, "nothing is counted without limits"


def test_changes_beyond_what_the_logs_remember() -> None:
    """When too much changed to be told, all rows are counted anew."""
    cluster = make_world()
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    assert is_full(attached) == [True, False]
    remove(objects.PersistentVolumeClaim, "c")(cluster)
    for _ in range(10_000):
        put(make_claim("d"))(cluster)
    assert is_full(attached) == [False, False]


def test_a_row_that_another_node_takes_over() -> None:
    """Nothing of the former node is left."""
    cluster = make_world()
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    assert is_full(attached) == [True, False]
    cluster.cache.remove_pod(cluster.info(pod))
    cluster.cache.remove_node("n1")
    cluster.cache.set_node(make_node("n3").build())
    assert cluster.cache.nodes.row_of["n3"] == 0
    assert is_full(attached) == [False, False]
    assert attached.has_csi_node().tolist() == [False, False]
    put(make_csi_node("n3", {DISKS: 0}))(cluster)
    assert is_full(attached) == [True, False]
    assert attached.has_limits().tolist() == [True, False]


def test_the_first_pod_with_a_problem_is_told_of_whatever_was_supposed() -> None:
    """A what-if question leaves the pods of a node in their order."""
    cluster = make_world()
    first, second = (make_pod(name).node("n1").ephemeral("v") for name in ("first", "second"))
    put(make_claim("first-v"), make_claim("second-v"))(cluster)
    for builder in (first, second):
        cluster.cache.add_pod(cluster.info(builder))
    attached = attached_volumes.AttachedVolumeCounts(cluster.cache.storage, cluster.cache.nodes)
    with what_if.WhatIf(cluster.cache.snapshot()) as supposed:
        supposed.remove_pods([(cluster.info(first), 0)])
        attached.refresh()
        assert "second" in attached.problems[0]
    attached.refresh()
    assert "first" in attached.problems[0]
