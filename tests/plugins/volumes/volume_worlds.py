"""Clusters of two nodes with volumes, and what a volume plugin says of a pod in them."""

from __future__ import annotations

import dataclasses
from typing import Any

from policysched.cluster.objects import storage_objects, volume_sources
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, status
from tests import storage_builders
from tests.builders import Cluster, PodBuilder, make_cache, make_node, make_pod
from tests.plugins import asking
from tests.reference.single_node import Answer
from tests.storage_builders import make_claim

DISKS = "example.com/disks"
SKIPPED = "skipped"
OUT_OF_SCOPE = "out of scope"
pod = make_pod("a")
placed = make_pod("placed").node("n1")


class NoBinder:
    """Stands where a binder must be."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Refuse."""
        return handles.BindError("nothing is bound here")


@dataclasses.dataclass(frozen=True)
class World:
    """Two nodes, `n1` with pods, and storage objects."""

    pods: tuple[PodBuilder, ...] = ()
    stored: tuple[storage_objects.StorageObject, ...] = ()
    labels: tuple[dict[str, str], dict[str, str]] = ({}, {})

    def build(self) -> Cluster:
        """Return the cluster."""
        cluster = make_cache()
        for name, labels in zip(("n1", "n2"), self.labels, strict=True):
            cluster.cache.set_node(make_node(name).labels(labels).build())
        storage_builders.store(cluster.cache.storage, *self.stored)
        for builder in self.pods:
            cluster.cache.add_pod(cluster.info(builder))
        return cluster


def world(*things: Any, **fields: Any) -> World:
    """Return a world of pods and storage objects."""
    pods = tuple(t for t in things if isinstance(t, PodBuilder))
    return World(pods, tuple(t for t in things if not isinstance(t, PodBuilder)), **fields)


def said(plugin: Any, waiting: PodBuilder, cluster: Cluster) -> str | Answer | list[Answer]:
    """Return what a plugin says: out of scope, skipped, a rejection, or an answer a node."""
    info = cluster.info(waiting)
    snap = cluster.cache.snapshot()
    state = asking.state_for(info)
    if not plugin.applies_to(state, info.shape, snap):
        return OUT_OF_SCOPE
    if hasattr(plugin, "pre_filter"):
        found: status.Status = plugin.pre_filter(state, info, snap).status
        if found.is_skip:
            return SKIPPED
        if not found.is_success:
            return found.code.value, found.reasons
    return asking.alive(snap, asking.answers(plugin.filter(state, info, snap.view_all_rows())))


# --- disks ---------------------------------------------------------------------------------------


def gce(name: str, *, read_only: bool = False) -> dict[str, Any]:
    """Return a GCE disk."""
    disk = volume_sources.GCEPersistentDisk(pd_name=name, read_only=read_only)
    return {"gce_persistent_disk": disk}


def ebs(volume_id: str) -> dict[str, Any]:
    """Return an EBS volume."""
    disk = volume_sources.AWSElasticBlockStore(volume_id=volume_id)
    return {"aws_elastic_block_store": disk}


def iscsi(iqn: str, *, read_only: bool = False) -> dict[str, Any]:
    """Return an iSCSI target."""
    return {"iscsi": volume_sources.ISCSIVolume(iqn=iqn, read_only=read_only)}


def rbd(*monitors: str, pool: str = "p", image: str = "i", read_only: bool = False) -> Any:
    """Return an RBD image."""
    disk = volume_sources.RBDVolume(monitors=monitors, pool=pool, image=image, read_only=read_only)
    return {"rbd": disk}


def azure(kind: str | None = None) -> dict[str, Any]:
    """Return an Azure disk."""
    return {"azure_disk": volume_sources.AzureDisk(disk_uri="uri", kind=kind)}


# --- claims and their volumes --------------------------------------------------------------------


def bound(name: str, *, driver: str = DISKS, handle: str = "", **fields: Any) -> tuple[Any, ...]:
    """Return a claim and its CSI volume."""
    volume = storage_builders.make_volume(f"pv-{name}", csi=(driver, handle or name), **fields)
    return make_claim(name, volume=f"pv-{name}", is_bound=True), volume


def in_tree(name: str, **source: Any) -> tuple[Any, ...]:
    """Return a claim and its in-tree volume."""
    volume = storage_builders.make_volume(f"pv-{name}", **source)
    return make_claim(name, volume=f"pv-{name}", is_bound=True), volume
