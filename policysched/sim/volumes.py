"""Simulate volumes: the scheduler's writes and the controllers that react to them.

The controllers implement the part of a real cluster that affects scheduling. The PersistentVolume
controller completes the binding of volumes to claims (`pkg/controller/volume/persistentvolume`).
The provisioner creates volumes for claims with a selected node, or fails and removes the selected
node (sig-storage-lib-external-provisioner, `controller.go`).
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Generic, TypeVar

import msgspec

from policysched.cluster.objects import objects, storage_objects
from policysched.framework import handles
from policysched.sim import api_server, collection

_HOSTNAME = "kubernetes.io/hostname"

ObjectT = TypeVar(
    "ObjectT", storage_objects.PersistentVolume, storage_objects.PersistentVolumeClaim
)


@dataclasses.dataclass(slots=True)
class VolumeFaults:
    """Delays and failures of the controllers; by default, every operation succeeds immediately.

    Attributes:
        bind_seconds: delay until a volume is bound to its claim.
        provision_seconds: delay of provisioning.
        give_up_next: number of upcoming volumes that the provisioner fails to create.
        refuse_next: number of upcoming writes by the scheduler that fail with a conflict.
    """

    bind_seconds: float = 0.0
    provision_seconds: float = 0.0
    give_up_next: int = 0
    refuse_next: int = 0


class SimulatedVolumeController:
    """The writes of VolumeBinding (`handles.VolumeWriter`) and the controllers that react to them.

    Attributes:
        faults: delays and failures; can be changed at any time.
    """

    def __init__(
        self, server: api_server.SimulatedApiServer, sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        """Watch the volumes and claims of `server`; the controllers wait with `sleep`."""
        self.faults = VolumeFaults()
        self._sleep = sleep
        self._nodes = server.nodes
        self._volumes = server.get_storage_collection(storage_objects.PersistentVolume)
        self._claims = server.get_storage_collection(storage_objects.PersistentVolumeClaim)
        self._classes = server.get_storage_collection(storage_objects.StorageClass)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._volumes.watch_objects(_ObjectCallbackSink(self._start_binding_if_needed))
        self._claims.watch_objects(_ObjectCallbackSink(self._start_provisioning_if_needed))

    # --- writes of the scheduler ------------------------------------------------------------------

    async def write_volume(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolume | handles.WriteError:
        """Write a volume; return an error if it has changed since the version of `volume`."""
        return self._write_object(self._volumes, volume)

    async def write_claim(
        self, claim: storage_objects.PersistentVolumeClaim
    ) -> storage_objects.PersistentVolumeClaim | handles.WriteError:
        """Write a claim; return an error if it has changed since the version of `claim`."""
        return self._write_object(self._claims, claim)

    def _write_object(
        self, objects_of_kind: collection.ObjectCollection[ObjectT], item: ObjectT
    ) -> ObjectT | handles.WriteError:
        if self.faults.refuse_next > 0:
            self.faults.refuse_next -= 1
            return handles.WriteError("the object has been modified")
        try:
            return objects_of_kind.update(item)
        except collection.SimulatedApiError as error:
            return handles.WriteError(str(error))

    # --- the controllers --------------------------------------------------------------------------

    def _start_binding_if_needed(self, volume: storage_objects.PersistentVolume) -> None:
        reference = volume.spec.claim_ref
        if reference is not None and self._find_unbound_claim(volume) is not None:
            self._start_unique_task(
                f"bind {reference.uid}", self._bind_volume(volume.metadata.name)
            )

    def _start_provisioning_if_needed(self, claim: storage_objects.PersistentVolumeClaim) -> None:
        if not claim.spec.volume_name and self._needs_provisioning(claim):
            meta = claim.metadata
            self._start_unique_task(
                f"make {meta.uid}", self._provision_volume(meta.name, meta.namespace)
            )

    def _start_unique_task(self, key: str, work: Coroutine[None, None, None]) -> None:
        """Start the task `key` unless it is already running; needs a running event loop."""
        if key in self._tasks:
            work.close()
            return
        task = self._tasks[key] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def _find_unbound_claim(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolumeClaim | None:
        """Return the unbound claim that the claimRef of the volume names, or None."""
        reference = volume.spec.claim_ref
        if reference is None:
            return None
        claim = self._claims.find(reference.name, reference.namespace)
        if claim is None or claim.metadata.uid != reference.uid or claim.spec.volume_name:
            return None
        return claim

    async def _bind_volume(self, volume_name: str) -> None:
        """Complete the binding of a volume and its claim, if the claim is still unbound."""
        await self._sleep(self.faults.bind_seconds)
        volume = self._volumes.find(volume_name)
        claim = None if volume is None else self._find_unbound_claim(volume)
        if volume is None or claim is None:
            return
        bound = storage_objects.VolumeStatus(phase="Bound")
        self._volumes.update(msgspec.structs.replace(volume, status=bound))
        marks = (storage_objects.BIND_COMPLETED, storage_objects.BOUND_BY_CONTROLLER)
        metadata = msgspec.structs.replace(
            claim.metadata,
            annotations={**claim.metadata.annotations, **dict.fromkeys(marks, "yes")},
        )
        spec = msgspec.structs.replace(claim.spec, volume_name=volume_name)
        self._claims.update(
            msgspec.structs.replace(claim, metadata=metadata, spec=spec, status=bound)
        )

    def _needs_provisioning(self, claim: storage_objects.PersistentVolumeClaim) -> bool:
        storage_class = self._classes.find(claim.class_name)
        if storage_class is None or storage_class.provisioner == storage_objects.NO_PROVISIONER:
            return False
        waits = storage_class.volume_binding_mode == storage_objects.WAIT_FOR_FIRST_CONSUMER
        return not waits or storage_objects.SELECTED_NODE in claim.metadata.annotations

    async def _provision_volume(self, name: str, namespace: str) -> None:
        """Create a volume for a claim, or remove its selected node if provisioning fails."""
        await self._sleep(self.faults.provision_seconds)
        claim = self._claims.find(name, namespace)
        if claim is None or claim.spec.volume_name or not self._needs_provisioning(claim):
            return
        if self.faults.give_up_next > 0:
            self.faults.give_up_next -= 1
            self._claims.update(_drop_selected_node(claim))
            return
        node_name = claim.metadata.annotations.get(storage_objects.SELECTED_NODE, "")
        self._volumes.create(_make_volume_for_claim(claim, self._nodes.find(node_name)))


class _ObjectCallbackSink(Generic[ObjectT]):
    """Calls a function for every listed, new or changed object."""

    def __init__(self, saw: Callable[[ObjectT], None]) -> None:
        self._saw: Callable[[ObjectT], None] = saw

    def replace(self, items: Iterable[ObjectT]) -> None:
        """Call the function for each object."""
        for item in items:
            self._saw(item)

    def upsert(self, item: ObjectT) -> None:
        """Call the function for the object."""
        self._saw(item)

    def delete(self, item: ObjectT) -> None:
        """Do nothing: deleted objects need no controller."""


def _drop_selected_node(
    claim: storage_objects.PersistentVolumeClaim,
) -> storage_objects.PersistentVolumeClaim:
    annotations = dict(claim.metadata.annotations)
    annotations.pop(storage_objects.SELECTED_NODE, None)
    metadata = msgspec.structs.replace(claim.metadata, annotations=annotations)
    return msgspec.structs.replace(claim, metadata=metadata)


def _make_volume_for_claim(
    claim: storage_objects.PersistentVolumeClaim, node: objects.Node | None
) -> storage_objects.PersistentVolume:
    """Return a volume of the requested size; only `node` can access it, or every node if None."""
    meta = claim.metadata
    reference = storage_objects.ClaimReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
    )
    return storage_objects.PersistentVolume(
        metadata=objects.ObjectMeta(name=f"pvc-{meta.uid}"),
        spec=storage_objects.PersistentVolumeSpec(
            capacity=dict(claim.spec.resources.requests),
            access_modes=claim.spec.access_modes,
            claim_ref=reference,
            storage_class_name=claim.class_name,
            volume_mode=claim.spec.volume_mode,
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
            node_affinity=None if node is None else _make_single_node_affinity(node),
        ),
    )


def _make_single_node_affinity(node: objects.Node) -> storage_objects.VolumeNodeAffinity:
    hostname = node.metadata.labels.get(_HOSTNAME, node.name)
    names = objects.SelectorRequirement(key=_HOSTNAME, operator="In", values=(hostname,))
    term = objects.NodeSelectorTerm(match_expressions=(names,))
    return storage_objects.VolumeNodeAffinity(
        required=objects.NodeSelector(node_selector_terms=(term,))
    )
