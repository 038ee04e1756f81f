"""Strategies for volumes, claims and what belongs to them, few names and much overlap."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import msgspec

from policysched.cluster.objects import objects, storage_objects, volume_sources
from tests import builders, storage_builders
from tests.reference import volume_binding as reference

NODES = ("n1", "n2", "n3", "n4")
CLASSES = ("local", "network", "elsewhere")
PROVISIONER = "disks.example.com"
CLAIMS = ("c1", "c2", "c3", "p-scratch")
VOLUMES = tuple(f"v{i}" for i in range(7))
ZONES = ("a", "b")
LABEL_KEYS = (reference.ZONE, "kubernetes.io/hostname", "topology.ebs.csi.aws.com/zone")
SIZES = ("1Gi", "2Gi", "1024Mi", "1500m")
OWNER = "p"
PENDING = ("web", OWNER)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> objects.Node:
    """Return a node with some labels."""
    labels = draw(st.dictionaries(st.sampled_from(LABEL_KEYS), st.sampled_from((*ZONES, name))))
    return builders.make_node(name).labels(labels).build()


@st.composite
def expressions(draw: st.DrawFn) -> objects.SelectorRequirement:
    """Return a requirement on a label."""
    operator = draw(st.sampled_from(("In", "In", "In", "NotIn", "Exists", "DoesNotExist")))
    values = st.lists(st.sampled_from((*ZONES, *NODES)), min_size=1, max_size=2, unique=True)
    return objects.SelectorRequirement(
        key=draw(st.sampled_from((*LABEL_KEYS, reference.OLD_ZONE))),
        operator=operator,
        values=tuple(draw(values)) if "In" in operator else (),
    )


@st.composite
def terms(draw: st.DrawFn) -> objects.NodeSelectorTerm:
    """Return a node selector term, which may be empty."""
    field = objects.SelectorRequirement(
        key="metadata.name",
        operator="In",
        values=draw(st.sampled_from((("n1",), ("n1", "n2")))),
    )
    return objects.NodeSelectorTerm(
        match_expressions=tuple(draw(st.lists(expressions(), max_size=2))),
        match_fields=draw(st.sampled_from(((), (), (), (field,)))),
    )


@st.composite
def references(draw: st.DrawFn) -> storage_objects.ClaimReference | None:
    """Return a claimRef, or none."""
    if draw(st.integers(0, 2)):
        return None
    name = draw(st.sampled_from(CLAIMS))
    uid = draw(st.sampled_from(("", f"uid-default-{name}", f"uid-default-{name}", "another")))
    return storage_objects.ClaimReference(namespace="default", name=name, uid=uid)


@st.composite
def volumes(draw: st.DrawFn) -> storage_objects.PersistentVolume:
    """Return a volume."""
    meta: dict[str, Any] = {
        "labels": draw(
            st.dictionaries(
                st.sampled_from((reference.ZONE, reference.OLD_ZONE, "tier")),
                st.sampled_from(("a", "a__b", "fast")),
            )
        )
    }
    if not draw(st.integers(0, 7)):
        meta["deletion_timestamp"] = "2026-01-05T11:59:00Z"
    disk = volume_sources.AWSElasticBlockStore(volume_id="vol-1")
    source: dict[str, Any] = {"aws_elastic_block_store": disk} if draw(st.booleans()) else {}
    return storage_builders.make_volume(
        draw(st.sampled_from(VOLUMES)),
        capacity=draw(st.sampled_from(SIZES)),
        class_name=draw(st.sampled_from(("local", "local", *CLASSES))),
        modes=draw(st.sampled_from((("ReadWriteOnce",), ("ReadWriteOnce", "ReadOnlyMany")))),
        claim=draw(references()),
        phase=draw(st.sampled_from(("Available", "Available", "Available", "Bound", "Released"))),
        terms=draw(st.lists(terms(), max_size=2)),
        meta=meta,
        volume_mode=draw(st.sampled_from((None, None, "Filesystem", "Block"))),
        volume_attributes_class_name=draw(st.sampled_from((None, None, None, "", "gold"))),
        **source,
    )


@st.composite
def claims(draw: st.DrawFn) -> storage_objects.PersistentVolumeClaim:
    """Return a claim."""
    annotations = {}
    if not draw(st.integers(0, 4)):
        annotations[storage_objects.SELECTED_NODE] = draw(st.sampled_from(("n1", "n2", "gone")))
    is_bound = not draw(st.integers(0, 3))
    selector = objects.LabelSelector(match_labels={"tier": "fast"})
    claim = storage_builders.make_claim(
        draw(st.sampled_from(CLAIMS)),
        request=draw(st.sampled_from((*SIZES, None))),
        class_name=draw(
            st.sampled_from(("local", "local", "local", "network", "immediate", "", None))
        ),
        modes=draw(st.sampled_from(((), ("ReadWriteOnce",), ("ReadOnlyMany",)))),
        volume=draw(st.sampled_from((*VOLUMES, "gone"))) if is_bound else "",
        is_bound=is_bound,
        annotations=annotations,
        owner_uid=draw(st.sampled_from((None, "uid-default-p"))),
        selector=draw(st.sampled_from((None, None, selector, objects.LabelSelector()))),
        volume_mode=draw(st.sampled_from((None, None, "Block"))),
        volume_attributes_class_name=draw(st.sampled_from((None, None, None, "gold"))),
    )
    if not draw(st.integers(0, 9)):
        claim = msgspec.structs.replace(claim, status=storage_objects.VolumeStatus(phase="Lost"))
    return claim


@st.composite
def usable_claims(draw: st.DrawFn, name: str) -> storage_objects.PersistentVolumeClaim:
    """Return a claim that gets its volume when its pod gets a node, or has one."""
    volume = draw(st.sampled_from(("", "", "", *VOLUMES)))
    return storage_builders.make_claim(
        name,
        request=draw(st.sampled_from(SIZES)),
        class_name=draw(st.sampled_from(("local", "local", "network"))),
        volume=volume,
        is_bound=volume != "",
        owner_uid="uid-default-p",
    )


@st.composite
def classes(draw: st.DrawFn) -> storage_objects.StorageClass:
    """Return a class."""
    allowed = st.dictionaries(
        st.sampled_from(LABEL_KEYS[:2]), st.sampled_from((("a",), ("a", "b"))), max_size=2
    )
    return storage_builders.make_class(
        draw(st.sampled_from((*CLASSES, "immediate"))),
        provisioner=draw(
            st.sampled_from((PROVISIONER, PROVISIONER, storage_objects.NO_PROVISIONER))
        ),
        mode=draw(st.sampled_from(("WaitForFirstConsumer",) * 6 + ("Immediate", None))),
        topologies=draw(st.lists(allowed, max_size=2)),
    )


@st.composite
def capacities(draw: st.DrawFn) -> storage_objects.CSIStorageCapacity:
    """Return what a class has left somewhere."""
    topology = st.sampled_from(
        (
            None,
            objects.LabelSelector(),
            objects.LabelSelector(match_labels={reference.ZONE: "a"}),
            objects.LabelSelector(match_labels={"kubernetes.io/hostname": "n2"}),
        )
    )
    return storage_builders.make_capacity(
        draw(st.sampled_from(("k1", "k2", "k3"))),
        draw(st.sampled_from(CLASSES)),
        draw(st.sampled_from((*SIZES, None))),
        maximum=draw(st.sampled_from((None, None, "1Gi"))),
        topology=draw(topology),
    )


@st.composite
def csi_nodes(draw: st.DrawFn) -> storage_objects.CSINode:
    """Return a CSINode."""
    plugins = draw(st.sampled_from(((), ("kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"))))
    return storage_builders.make_csi_node(draw(st.sampled_from(NODES)), migrated=plugins)


def drivers() -> st.SearchStrategy[storage_objects.CSIDriver]:
    """Return the driver."""
    tracks = st.sampled_from((None, True, True, False))
    return tracks.map(lambda t: storage_builders.make_driver(PROVISIONER, has_capacity=t))


def stored_objects() -> st.SearchStrategy[Any]:
    """Return any of these."""
    return st.one_of(
        volumes(), volumes(), claims(), classes(), capacities(), csi_nodes(), drivers()
    )


@st.composite
def pods(draw: st.DrawFn) -> objects.Pod:
    """Return a pod with claims."""
    named = draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3))
    uses = [
        objects.Volume(
            name=f"v{i}",
            persistent_volume_claim=objects.PersistentVolumeClaimSource(claim_name=name),
        )
        for i, name in enumerate(named)
    ]
    name = draw(st.sampled_from(PENDING))
    if name == OWNER and draw(st.booleans()):
        uses.append(objects.Volume(name="scratch", ephemeral=objects.EphemeralVolumeSource()))
    return builders.make_pod(name).spec(volumes=tuple(uses)).build()
