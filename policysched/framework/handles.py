"""What plugins are given when they are made: the cache's state and the doors to the API server."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Awaitable, Callable
from typing import Protocol

from policysched import clock as clocks
from policysched.cluster.objects import disruption_budgets, storage_objects
from policysched.cluster.pods import owner_selectors, pod_shape
from policysched.cluster.storage import storage as storages
from policysched.framework import preemptions
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
    """Why a volume or claim was not written, in the words of the API server."""

    message: str


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


class NoVolumeWriter:
    """Stands where there is no API server: nothing is written."""

    async def write_volume(
        self, volume: storage_objects.PersistentVolume
    ) -> storage_objects.PersistentVolume | WriteError:
        """Refuse."""
        return WriteError("there is no API server")

    async def write_claim(
        self, claim: storage_objects.PersistentVolumeClaim
    ) -> storage_objects.PersistentVolumeClaim | WriteError:
        """Refuse."""
        return WriteError("there is no API server")


@dataclasses.dataclass(frozen=True, slots=True)
class Handle:
    """What plugins are given when they are made.

    `owners` are the selectors of services and controllers: the cache's, or empty where default
    spread constraints are not wanted. `preemptions` are the scheduler's, or none where nobody is
    evicted. `storage` and `budgets` are the cache's, for what happens outside a scheduling cycle
    too: hints, PreBind. `volume_writer` and `sleep` serve PreBind. `rng` is for choices that are
    left to chance; without it the same is chosen every time. `waiting_pods` are those that Permit
    plugins delay: the scheduler's, or none where nothing is bound.
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
    volume_writer: VolumeWriter = dataclasses.field(default_factory=NoVolumeWriter)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random | None = None
    waiting_pods: waiting.WaitingPods = dataclasses.field(
        default_factory=lambda: waiting.WaitingPods(clocks.SystemClock())
    )
