"""An API server with claims, and attempts to schedule a pod with devices."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec
import numpy as np

from policysched import clock as clocks
from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects, objects
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, handles, interface, status
from policysched.plugins import names
from policysched.plugins.dynamic_resources import dynamic_resources
from tests import builders, device_builders
from tests.plugins import asking

Claim = device_objects.ResourceClaim
Change = Callable[[], None]

REFUSED = handles.WriteError("somebody objects")
CONFLICT = handles.WriteError("the object has been modified", is_conflict=True)
SHARED = "shared"


def version_claim(claim: Claim, version: int, **metadata: Any) -> Claim:
    """Return a claim in another version, with other fields of its metadata."""
    metadata["resource_version"] = str(version)
    return msgspec.structs.replace(
        claim, metadata=msgspec.structs.replace(claim.metadata, **metadata)
    )


class ClaimServer:
    """Keeps the newest version of each claim, and writes as the API server does.

    Attributes:
        calls: the methods that were called, in order.
        before: for each call, in order, what somebody else does just before it.
        answers: for each call, in order, what it answers instead of what it should; a call that is
            named in `lost` does its work nevertheless.
        lost: the calls of which the answer gets lost, by number from 0.
        waited_seconds: how long the plugin has slept, each time.
        during_sleep: for each sleep, in order, what happens meanwhile.
    """

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.before: dict[int, Change] = {}
        self.answers: dict[int, handles.WriteError] = {}
        self.lost: set[int] = set()
        self.waited_seconds: list[float] = []
        self.during_sleep: list[Change] = []
        self._claims: dict[str, Claim] = {}
        self._version = 100

    def put(self, claim: Claim) -> Claim:
        """Store a claim, in a new version; return that."""
        self._version += 1
        stored = self._claims[claim.metadata.name] = version_claim(claim, self._version)
        return stored

    def get(self, name: str) -> Claim:
        """Return the newest version of a claim."""
        return self._claims[name]

    def remove(self, name: str) -> None:
        """Remove a claim."""
        del self._claims[name]

    async def read(self, claim: Claim) -> Claim | handles.WriteError:
        """Return the newest version."""
        return self._serve("read", claim, lambda newest: newest)

    async def write_finalizers(self, claim: Claim) -> Claim | handles.WriteError:
        """Store the finalizers."""

        def write(newest: Claim) -> Claim | handles.WriteError:
            if newest.metadata.resource_version != claim.metadata.resource_version:
                return CONFLICT
            finalizers = claim.metadata.finalizers
            metadata = msgspec.structs.replace(newest.metadata, finalizers=finalizers)
            return self.put(msgspec.structs.replace(newest, metadata=metadata))

        return self._serve("write_finalizers", claim, write)

    async def write_status(self, claim: Claim) -> Claim | handles.WriteError:
        """Store the status."""

        def write(newest: Claim) -> Claim | handles.WriteError:
            if newest.metadata.resource_version != claim.metadata.resource_version:
                return CONFLICT
            return self.put(msgspec.structs.replace(newest, status=claim.status))

        return self._serve("write_status", claim, write)

    async def unreserve(self, claim: Claim, pod: pod_shape.PodInfo) -> handles.WriteError | None:
        """Remove the reservation of a pod."""

        def write(newest: Claim) -> Claim:
            left = tuple(each for each in newest.status.reserved_for if each.uid != pod.uid)
            changed = msgspec.structs.replace(newest.status, reserved_for=left)
            return self.put(msgspec.structs.replace(newest, status=changed))

        answer = self._serve("unreserve", claim, write)
        return answer if isinstance(answer, handles.WriteError) else None

    async def create(self, claim: Claim, name_prefix: str) -> Claim | handles.WriteError:
        """Fail, because these tests use existing claims."""
        raise NotImplementedError

    async def delete(self, claim: Claim) -> handles.WriteError | None:
        """Fail, because these tests delete no claims."""
        raise NotImplementedError

    async def write_extended_resource_status(
        self, pod: pod_shape.PodInfo, status: objects.PodExtendedResourceClaimStatus
    ) -> handles.WriteError | None:
        """Fail, because these tests use claims of users."""
        raise NotImplementedError

    def _serve(
        self, name: str, claim: Claim, serve: Callable[[Claim], Claim | handles.WriteError]
    ) -> Claim | handles.WriteError:
        number = len(self.calls)
        self.calls.append(name)
        self.before.get(number, lambda: None)()
        answer = self.answers.get(number)
        if answer is not None and number not in self.lost:
            return answer
        newest = self._claims.get(claim.metadata.name)
        if newest is None:
            return handles.WriteError(f'resourceclaims "{claim.metadata.name}" not found')
        served = serve(newest)
        return served if answer is None else answer

    async def sleep(self, seconds: float) -> None:
        """Run the next of the planned steps."""
        self.waited_seconds.append(seconds)
        if self.during_sleep:
            self.during_sleep.pop(0)()


@dataclasses.dataclass
class DeviceWorld:
    """A cluster with devices, its API server, and the plugin.

    Attributes:
        server: the API server.
        cluster: what the scheduler knows.
        clock: stands still.
        plugin: the plugin.
        changes: the changes of claims that the plugin or the watch made, with devices of before
            and after.
    """

    server: ClaimServer
    cluster: builders.Cluster
    clock: clocks.ManualClock
    plugin: dynamic_resources.DynamicResources
    tasks: list[Coroutine[Any, Any, None]] = dataclasses.field(default_factory=list)
    changes: list[tuple[bool, bool]] = dataclasses.field(default_factory=list)

    @property
    def devices(self) -> cluster_devices.ClusterDevices:
        """The scheduler's state of devices."""
        return self.cluster.cache.devices

    def show(self, claim: Claim) -> Claim:
        """Store a claim, and let the watch show it; return it."""
        stored = self.server.put(claim)
        self.devices.claims.set(stored)
        return stored

    def show_newest(self) -> None:
        """Let the watch show the newest version of all claims."""
        for claim in list(self.devices.claims):
            self.devices.claims.set(self.server.get(claim.metadata.name))

    def start(self, pod: builders.PodBuilder) -> DevicePod:
        """Begin an attempt for a pod."""
        info = self.cluster.info(pod)
        return DevicePod(self, info, asking.state_for(info))

    def run_tasks(self) -> None:
        """Run the writes in the background."""
        while self.tasks:
            asyncio.run(self.tasks.pop(0))

    def _note(self, old: Claim | None, new: Claim | None) -> None:
        had, has = (each is not None and each.allocation is not None for each in (old, new))
        self.changes.append((had, has))


@dataclasses.dataclass
class DevicePod:
    """One attempt for a pod."""

    world: DeviceWorld
    info: pod_shape.PodInfo
    state: cycle_state.CycleState

    def pre_filter(self) -> status.Status:
        """Run PreFilter."""
        snap = self.world.cluster.cache.snapshot()
        return self.world.plugin.pre_filter(self.state, self.info, snap).status

    def filter(self) -> dict[str, str]:
        """Run PreFilter and Filter; return the reason for each node, "" if it passes."""
        before = self.pre_filter()
        assert before.is_success, before
        found, nodes = self._filter(), self.world.cluster.cache.snapshot().nodes
        reasons = [found.statuses[i].reasons for i in found.ids.tolist()]
        return {name: ", ".join(reasons[row]) for name, row in nodes.row_of.items()}

    def _filter(self) -> status.NodeStatuses:
        snap = self.world.cluster.cache.snapshot()
        return self.world.plugin.filter(self.state, self.info, snap.view_all_rows())

    def score(self) -> list[int]:
        """Run Score for all nodes, after PreFilter and Filter."""
        self.filter()
        snap = self.world.cluster.cache.snapshot()
        scores = self.world.plugin.score(self.state, self.info, snap.view_all_rows())
        return [int(each) for each in scores]

    def describe_evidence(
        self, node_name: str = "n1", reason: str = dynamic_resources.NO_DEVICES
    ) -> str:
        """Return the evidence behind the rejection of a node, which lacks devices by default."""
        snap = self.world.cluster.cache.snapshot()
        node = snap.view_rows(np.array([snap.nodes.row_of[node_name]], np.intp))
        return self.world.plugin.evidence_on(self.state, self.info, node, reason)

    def post_filter(self) -> interface.PostFilterResult:
        """Run PreFilter, Filter and PostFilter."""
        self.filter()
        found = self._filter()
        snap = self.world.cluster.cache.snapshot()
        diagnosis = interface.Diagnosis(found.ids.astype(np.int16), found.statuses)
        return self.world.plugin.post_filter(self.state, self.info, snap, diagnosis)

    def reserve(self, node_name: str = "n1") -> status.Status:
        """Run PreFilter, Filter and Reserve."""
        self.filter()
        return self.world.plugin.reserve(self.state, self.info, node_name)

    def pre_bind(self, node_name: str = "n1") -> status.Status:
        """Run PreBind."""
        return asyncio.run(self.world.plugin.pre_bind(self.state, self.info, node_name))

    def unreserve(self, node_name: str = "n1") -> None:
        """Run Unreserve, with what it writes."""
        self.world.plugin.unreserve(self.state, self.info, node_name)
        self.world.run_tasks()


def make_world(
    *slices: device_objects.ResourceSlice,
    claims: Iterable[Claim] = (),
    node_names: Iterable[str] = ("n1", "n2"),
    clock: clocks.ManualClock | None = None,
) -> DeviceWorld:
    """Return a world with the class `any`, and claims that the watch has shown."""
    clock = clock or clocks.ManualClock(builders.EPOCH)
    cluster = builders.make_cache([builders.make_node(name) for name in node_names], clock=clock)
    server = ClaimServer()
    tasks: list[Coroutine[Any, Any, None]] = []
    handle = handles.Handle(
        devices=cluster.cache.devices,
        claim_writer=server,
        clock=clock,
        sleep=server.sleep,
        start_task=tasks.append,
    )
    plugin = dynamic_resources.DynamicResources(handle)
    world = DeviceWorld(server, cluster, clock, plugin, tasks)
    world.devices.classes.set(device_builders.make_class("any"))
    for each in slices:
        world.devices.slices.set(each)
    for claim in claims:
        world.show(claim)
    world.devices.claims.on_change = world._note
    return world


def make_pod(name: str, *claim_names: str) -> builders.PodBuilder:
    """Return a pod that uses some claims."""
    uses = tuple(
        objects.PodResourceClaim(name=each, resource_claim_name=each) for each in claim_names
    )
    return builders.make_pod(name).uid(f"uid-of-{name}").spec(resource_claims=uses)


def reserve_for(claim: Claim, *pods: str) -> Claim:
    """Return a claim that is reserved for some pods of `make_pod`."""
    users = tuple(
        device_objects.ResourceClaimConsumerReference(
            resource="pods", name=pod, uid=f"uid-of-{pod}"
        )
        for pod in pods
    )
    changed = msgspec.structs.replace(claim.status, reserved_for=users)
    return msgspec.structs.replace(claim, status=changed)


def list_devices(claim: Claim) -> list[str]:
    """Return the names of the devices of a claim."""
    results = () if claim.allocation is None else claim.allocation.devices.results
    return [each.device for each in results]


NOW = builders.EPOCH.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
PLUGIN = names.DYNAMIC_RESOURCES
