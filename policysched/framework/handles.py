"""What plugins are given when they are made: the cache's state and the doors to the API server."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from policysched import clock as clocks
from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import (
    device_objects,
    disruption_budgets,
    objects,
    storage_objects,
)
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.cluster.storage import storage as storages
from policysched.framework import claim_measurements, preemptions
from policysched.framework import waiting_pods as waiting


@dataclasses.dataclass(frozen=True, slots=True)
class BindError:
    """Why a binding was refused, in the words of the API server."""

    message: str


class Binder(Protocol):
    """The door to the API server for the DefaultBinder plugin."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> BindError | None:
        """Create the binding; None when it was made."""
        ...


class NoBinder:
    """Refuses every binding: there is no API server."""

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> BindError | None:
        """Refuse."""
        del pod, node_name
        return BindError("there is no API server")


@dataclasses.dataclass(frozen=True, slots=True)
class WriteError:
    """Why an object was not written, in the words of the API server.

    Attributes:
        message: the reason.
        is_conflict: whether the object has a newer version than the one that was changed.
    """

    message: str
    is_conflict: bool = False


class VolumeWriter(Protocol):
    """The door to the API server for the VolumeBinding plugin.

    Each write is about the version of the object that it is given, and refused when there is a
    newer one, unless that has what was to be written.
    """

    async def write_volume(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolume | WriteError:
        """Write the claimRef, and the annotation of who set it; return the volume as it is then."""
        ...

    async def write_claim(
        self, claim: storage_objects.PersistentVolumeClaim
    ) -> storage_objects.PersistentVolumeClaim | WriteError:
        """Write the annotation of the selected node; return the claim as it is then."""
        ...


_NO_SERVER = WriteError("there is no API server")


class NoVolumeWriter:
    """Stands where there is no API server: nothing is written."""

    async def write_volume(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolume | WriteError:
        """Refuse."""
        return _NO_SERVER

    async def write_claim(
        self, claim: storage_objects.PersistentVolumeClaim
    ) -> storage_objects.PersistentVolumeClaim | WriteError:
        """Refuse."""
        return _NO_SERVER


class ClaimWriter(Protocol):
    """The door to the API server for the DynamicResources plugin.

    Each write but `unreserve` is about the version of the claim that it is given, and refused as a
    conflict when there is a newer one.
    """

    async def read(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | WriteError:
        """Return the newest version of a claim."""
        ...

    async def write_finalizers(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | WriteError:
        """Write the finalizers of a claim; return the claim as it is then."""
        ...

    async def write_status(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | WriteError:
        """Write allocation and reservations of a claim; return the claim as it is then.

        Without an allocation, the reports of drivers on its devices are removed, too.
        """
        ...

    async def unreserve(
        self, claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo
    ) -> WriteError | None:
        """Remove the reservation of a pod from a claim, whatever its version."""
        ...

    async def create(
        self, claim: device_objects.ResourceClaim, name_prefix: str
    ) -> device_objects.ResourceClaim | WriteError:
        """Create a claim with a new name that begins so; return it."""
        ...

    async def delete(self, claim: device_objects.ResourceClaim) -> WriteError | None:
        """Delete a claim, whatever its version."""
        ...

    async def write_extended_resource_status(
        self, pod: pod_shape.PodInfo, status: objects.PodExtendedResourceClaimStatus
    ) -> WriteError | None:
        """Write into the status of a pod which claim serves its extended resources."""
        ...


class NoClaimWriter:
    """Refuses all reads and writes, because there is no API server."""

    async def read(self, claim: device_objects.ResourceClaim) -> WriteError:
        """Refuse."""
        return _NO_SERVER

    async def write_finalizers(self, claim: device_objects.ResourceClaim) -> WriteError:
        """Refuse."""
        return _NO_SERVER

    async def write_status(self, claim: device_objects.ResourceClaim) -> WriteError:
        """Refuse."""
        return _NO_SERVER

    async def unreserve(
        self, claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo
    ) -> WriteError:
        """Refuse."""
        return _NO_SERVER

    async def create(self, claim: device_objects.ResourceClaim, name_prefix: str) -> WriteError:
        """Refuse."""
        return _NO_SERVER

    async def delete(self, claim: device_objects.ResourceClaim) -> WriteError:
        """Refuse."""
        return _NO_SERVER

    async def write_extended_resource_status(
        self, pod: pod_shape.PodInfo, status: objects.PodExtendedResourceClaimStatus
    ) -> WriteError:
        """Refuse."""
        return _NO_SERVER


def _record_nothing(pod: pod_shape.PodInfo, reason: str, action: str, note: str) -> None:
    del pod, reason, action, note


def _refuse_task(work: Coroutine[Any, Any, None]) -> None:
    work.close()


@dataclasses.dataclass(frozen=True, slots=True)
class Handle:
    """What plugins are given when they are made.

    `owners` are the selectors of services and controllers: the cache's, or empty if default spread
    constraints are not wanted. `preemptions` are the scheduler's, or none if no pod is evicted.
    `storage`, `budgets` and `devices` are the cache's, for what happens outside a scheduling cycle
    too: hints, PreBind. `volume_writer`, `claim_writer` and `sleep` serve PreBind. `clock` has the
    time of writes, and limits how long searches and waits take. `start_task` runs a write in the
    background; without an API server, it is dropped. `record_event` records a normal event about a
    pod: reason, action and note. `measured_claims` are the scheduler's. `rng` is for choices that
    are left to chance; without it the same is chosen every time. `waiting_pods` are those that
    Permit plugins delay: the scheduler's, or none without bindings.
    """

    binder: Binder = dataclasses.field(default_factory=NoBinder)
    owners: owner_selectors.OwnerSelectors = dataclasses.field(
        default_factory=owner_selectors.OwnerSelectors
    )
    preemptions: preemptions.PreemptionsInProgress = dataclasses.field(
        default_factory=preemptions.PreemptionsInProgress
    )
    storage: storages.Storage = dataclasses.field(default_factory=storages.Storage)
    budgets: disruption_budgets.DisruptionBudgets = dataclasses.field(
        default_factory=disruption_budgets.DisruptionBudgets
    )
    devices: cluster_devices.ClusterDevices = dataclasses.field(
        default_factory=cluster_devices.ClusterDevices
    )
    volume_writer: VolumeWriter = dataclasses.field(default_factory=NoVolumeWriter)
    claim_writer: ClaimWriter = dataclasses.field(default_factory=NoClaimWriter)
    clock: clocks.Clock = dataclasses.field(default_factory=clocks.SystemClock)
    record_event: Callable[[pod_shape.PodInfo, str, str, str], None] = _record_nothing
    measured_claims: claim_measurements.ClaimMeasurements = dataclasses.field(
        default_factory=claim_measurements.ClaimMeasurements
    )
    start_task: Callable[[Coroutine[Any, Any, None]], None] = _refuse_task
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random | None = None
    waiting_pods: waiting.WaitingPods = dataclasses.field(
        default_factory=lambda: waiting.WaitingPods(clocks.SystemClock())
    )
