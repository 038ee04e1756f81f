"""The volume plugins that look at nodes, against the scalar reference, through changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st

from policysched.cluster import what_if
from policysched.cluster.objects import objects, storage_objects, volume_sources
from policysched.cluster.pods import pod_shape
from policysched.plugins.node_volume_limits import node_volume_limits
from policysched.plugins.volume_restrictions import volume_restrictions
from policysched.plugins.volume_zone import volume_zone
from tests import builders, examples, storage_builders
from tests.plugins import asking, worlds
from tests.reference import volumes as reference
from tests.reference.cluster import Cluster
from tests.reference.single_node import Answer
from tests.reference.stored import Stored
from tests.storage_builders import make_attachment, make_claim, make_class, make_csi_node

NODES = ("n0", "n1", "n2")
NAMESPACES = (*("default",) * 9, "prod")
POD_NAMES = ("p0", "p1", "p2", "p3", "p4")
DISKS, EBS, GCE = "example.com/disks", "ebs.csi.aws.com", "pd.csi.storage.gke.io"
DRIVERS = (DISKS, DISKS, DISKS, EBS, GCE)
CLAIMS = ("c0", "c1", "p0-v", "p1-v", "p4-v")
VOLUMES = ("v0", "v1", "v2", "v3")
CLASSES = ("k0", "k1", "k2")
zone_labels = st.fixed_dictionaries(
    {},
    optional={
        "topology.kubernetes.io/zone": st.sampled_from(("a", "b")),
        "failure-domain.beta.kubernetes.io/zone": st.sampled_from(("a", "b")),
        "topology.kubernetes.io/region": st.just("r"),
    },
)
volume_labels = st.fixed_dictionaries(
    {},
    optional={
        "topology.kubernetes.io/zone": st.sampled_from(("a", "b")),
        "failure-domain.beta.kubernetes.io/region": st.sampled_from(("r", "s__r", "__")),
        "topology.kubernetes.io/region": st.sampled_from(("r", "s")),
    },
)

# --- pods ----------------------------------------------------------------------------------------

modes = st.booleans()
sources: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(
        lambda name: {
            "persistent_volume_claim": objects.PersistentVolumeClaimSource(claim_name=name)
        },
        st.sampled_from(CLAIMS),
    ),
    st.just({"ephemeral": objects.EphemeralVolumeSource()}),
    st.builds(
        lambda name, mode: {
            "gce_persistent_disk": volume_sources.GCEPersistentDisk(pd_name=name, read_only=mode)
        },
        st.sampled_from("de"),
        modes,
    ),
    st.builds(
        lambda volume_id: {
            "aws_elastic_block_store": volume_sources.AWSElasticBlockStore(volume_id=volume_id)
        },
        st.sampled_from(("vol-1", "aws://zone/vol-1", "vol-2", "aws://zone/no")),
    ),
    st.builds(
        lambda iqn, mode: {"iscsi": volume_sources.ISCSIVolume(iqn=iqn, read_only=mode)},
        st.sampled_from("xy"),
        modes,
    ),
    st.builds(
        lambda monitors, image, mode: {
            "rbd": volume_sources.RBDVolume(monitors=tuple(monitors), image=image, read_only=mode)
        },
        st.sets(st.sampled_from("mn"), min_size=1).map(sorted),
        st.sampled_from("ij"),
        modes,
    ),
)


@st.composite
def pods(draw: st.DrawFn, name: str, node_name: str = "") -> objects.Pod:
    """Return a pod with up to three volumes, most of which are claims."""
    builder = builders.make_pod(name, draw(st.sampled_from(NAMESPACES))).node(node_name)
    for source in draw(st.lists(sources, min_size=0 if node_name else 1, max_size=3)):
        builder = builder.volume("v", **source)
    return builder.build()


# --- storage objects -----------------------------------------------------------------------------


@st.composite
def claims(
    draw: st.DrawFn, name: str = "", namespace: str = "default"
) -> storage_objects.PersistentVolumeClaim:
    """Return a claim, bound or not."""
    name = name or draw(st.sampled_from(CLAIMS))
    owner = f"uid-{namespace}-{name.removesuffix('-v')}"
    return make_claim(
        name,
        namespace,
        volume=draw(st.sampled_from(("", *VOLUMES, *VOLUMES, "gone"))),
        class_name=draw(st.sampled_from((None, "", *CLASSES, *CLASSES, "gone"))),
        modes=draw(st.sampled_from((["ReadWriteOnce"], ["ReadWriteOncePod"]))),
        owner_uid=draw(st.sampled_from((*(owner,) * 9, "other"))),
    )


@st.composite
def persistent_volumes(draw: st.DrawFn, name: str = "") -> storage_objects.PersistentVolume:
    """Return a CSI volume, or an in-tree one."""
    name = name or draw(st.sampled_from(VOLUMES))
    meta = {"labels": draw(volume_labels)}
    if draw(st.integers(0, 2)):
        driver, handle = (
            draw(st.sampled_from(DRIVERS)),
            draw(st.sampled_from((name, name, "vol-1", ""))),
        )
        return storage_builders.make_volume(name, csi=(driver, handle), meta=meta)
    disk = volume_sources.GCEPersistentDisk(pd_name=draw(st.sampled_from("de")))
    return storage_builders.make_volume(name, gce_persistent_disk=disk, meta=meta)


def csi_nodes(name: str) -> st.SearchStrategy[storage_objects.CSINode]:
    """Return the drivers of a node, most of them with low limits."""
    limit = st.sampled_from((None, 0, 1, 1, 2, 2))
    limits = st.fixed_dictionaries({DISKS: limit}, optional={EBS: limit, GCE: limit})
    return st.builds(make_csi_node, st.just(name), limits)


things: st.SearchStrategy[storage_objects.StorageObject] = st.one_of(
    claims(),
    claims(namespace="prod"),
    persistent_volumes(),
    st.builds(
        make_class,
        st.sampled_from(CLASSES),
        provisioner=st.sampled_from((DISKS, EBS, "kubernetes.io/gce-pd")),
        mode=st.sampled_from(("WaitForFirstConsumer", "Immediate", None)),
    ),
    st.sampled_from(NODES).flatmap(csi_nodes),
    st.builds(
        make_attachment,
        st.sampled_from(("a0", "a1", "a2")),
        st.sampled_from(NODES),
        st.sampled_from((*VOLUMES, "gone", None)),
        attacher=st.sampled_from(DRIVERS),
    ),
)


@dataclasses.dataclass
class World:
    """Nodes, pods and storage objects, twice."""

    cluster: worlds.World = dataclasses.field(default_factory=worlds.World)
    stored: Stored = dataclasses.field(default_factory=Stored)

    def set(self, thing: storage_objects.StorageObject) -> None:
        """Add or replace a storage object."""
        storage_builders.store(self.cluster.built.cache.storage, thing)
        meta = thing.metadata
        if isinstance(thing, storage_objects.PersistentVolumeClaim):
            self.stored.claims[meta.namespace, meta.name] = thing
        else:
            self._plain(thing)[meta.name] = thing

    def remove(self, thing: storage_objects.StorageObject) -> None:
        """Remove the object of that name if there is one."""
        meta = thing.metadata
        store = self.cluster.built.cache.storage.get_store(type(thing))
        store.remove(meta.name, meta.namespace)
        if isinstance(thing, storage_objects.PersistentVolumeClaim):
            self.stored.claims.pop((meta.namespace, meta.name), None)
        else:
            self._plain(thing).pop(meta.name, None)

    def _plain(self, thing: storage_objects.StorageObject) -> dict[str, Any]:
        by_type: dict[type, dict[str, Any]] = {
            storage_objects.PersistentVolume: self.stored.volumes,
            storage_objects.StorageClass: self.stored.classes,
            storage_objects.CSINode: self.stored.csi_nodes,
            storage_objects.VolumeAttachment: self.stored.attachments,
        }
        return by_type[type(thing)]


def set_node(world: World, name: str, labels: dict[str, str]) -> None:
    """Add or replace a node."""
    world.cluster.set_node(builders.make_node(name).labels(labels).build())


@st.composite
def changes(draw: st.DrawFn, world: World) -> str:
    """Make one change to both sides; return what it was."""
    kinds = ("set", "set", "set", "remove", "pod", "pod", "no pod", "node", "no node")
    kind = draw(st.sampled_from(kinds))
    name = draw(st.sampled_from(NODES))
    match kind:
        case "set":
            thing = draw(things)
            world.set(thing)
            return repr(thing)
        case "remove":
            thing = draw(things)
            world.remove(thing)
            return f"without {thing.metadata.name}"
        case "pod":
            pod = draw(pods(draw(st.sampled_from(POD_NAMES)), name))
            world.cluster.set_pod(pod)
            return repr(pod)
        case "no pod":
            uid = f"uid-{draw(st.sampled_from(NAMESPACES))}-{draw(st.sampled_from(POD_NAMES))}"
            world.cluster.remove_pod(uid)
            return f"without {uid}"
        case "node":
            set_node(world, name, draw(zone_labels))
        case _:
            world.cluster.remove_node(name)
    return f"{kind} {name}"


@st.composite
def some_worlds(draw: st.DrawFn) -> World:
    """Return a cluster with nodes, pods and storage objects."""
    world = World()
    for name in NODES:
        set_node(world, name, draw(zone_labels))
        world.set(draw(csi_nodes(name)))
    for name in CLAIMS:
        world.set(draw(claims(name)))
    for name in VOLUMES:
        world.set(draw(persistent_volumes(name)))
    for thing in draw(st.lists(things, max_size=4)):
        world.set(thing)
    for name in POD_NAMES[: draw(st.integers(2, 4))]:
        node_name = draw(st.sampled_from(("n0", "n0", *NODES, "unknown")))
        world.cluster.set_pod(draw(pods(name, node_name)))
    return world


def answers(plugin: Any, pod: pod_shape.PodInfo, world: World) -> list[Answer]:
    """Return what a plugin says of each node; a rejection by PreFilter holds for all."""
    snap = world.cluster.built.cache.snapshot()
    passing: list[Answer] = [None] * snap.node_count
    state = asking.state_for(pod)
    if not plugin.applies_to(state, pod.shape, snap):
        return passing
    if hasattr(plugin, "pre_filter"):
        found = plugin.pre_filter(state, pod, snap).status
        if found.is_skip:
            return passing
        if not found.is_success:
            return [(found.code.value, found.reasons)] * snap.node_count
    return asking.alive(snap, asking.answers(plugin.filter(state, pod, snap.view_all_rows())))


@hypothesis.settings(max_examples=examples.scale(150))
@hypothesis.given(st.data())
def test_volume_plugins_equal_the_reference_after_every_change(data: st.DataObject) -> None:
    """What is counted stays right whatever comes, changes and goes."""
    world = data.draw(some_worlds())
    plain, stored = world.cluster.plain, world.stored
    expected: list[tuple[Any, Callable[[objects.Pod, objects.Node], Answer]]] = [
        (
            volume_restrictions.VolumeRestrictions(),
            lambda p, n: reference.volume_restrictions(p, n, plain, stored),
        ),
        (
            node_volume_limits.NodeVolumeLimits(),
            lambda p, n: reference.node_volume_limits(p, n, plain, stored),
        ),
        (volume_zone.VolumeZone(), lambda p, n: reference.volume_zone(p, n, stored)),
    ]
    for _ in range(5):
        pod = world.cluster.info(data.draw(pods("p4")))
        for plugin, function in expected:
            ours = answers(plugin, pod, world)
            assert ours == [function(pod.pod, node) for node in world.cluster.nodes], plugin.name
        hypothesis.note(data.draw(changes(world)))


@hypothesis.settings(max_examples=examples.scale(100))
@hypothesis.given(st.data())
def test_what_if_pods_went(data: st.DataObject) -> None:
    """Every node is judged as if its own pods went and no others, and all is as before then."""
    world = data.draw(some_worlds())
    plain, stored, snap = world.cluster.plain, world.stored, world.cluster.built.cache.snapshot()
    pod = world.cluster.info(data.draw(pods("p4")))
    limits = node_volume_limits.NodeVolumeLimits()
    placed = [p for p, _ in plain.placed()]
    gone = data.draw(st.lists(st.sampled_from(placed), unique_by=id)) if placed else []
    left = Cluster(plain.nodes, {u: p for u, p in plain.pods.items() if p not in gone})
    restrictions, state = volume_restrictions.VolumeRestrictions(), asking.state_for(pod)
    is_judged = restrictions.pre_filter(state, pod, snap).status.is_success
    before = answers(limits, pod, world)
    restrictions.remember(state, pod, snap)
    with what_if.WhatIf(snap) as supposed:
        rows = [(world.cluster.info(p), snap.nodes.row_of[p.spec.node_name]) for p in gone]
        supposed.remove_pods(rows)
        for_limits = answers(limits, pod, world)
        view = snap.view_all_rows()
        for_claims = asking.alive(snap, asking.answers(restrictions.filter_apart(state, pod, view)))
    for node, ours, theirs in zip(world.cluster.nodes, for_limits, for_claims, strict=True):
        assert ours == reference.node_volume_limits(pod.pod, node, left, stored)
        if is_judged:
            here = [p for p in gone if p.spec.node_name == node.name]
            expected = reference.volume_restrictions_without(here, pod.pod, node, plain, stored)
            assert theirs == expected
    assert answers(limits, pod, world) == before
