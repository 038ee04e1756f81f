"""The reservations and writes of policysched for claims of pods, in the format of the oracle."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeAlias
from unittest import mock

import msgspec
import orjson

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.devices import claims
from policysched.cluster.objects import device_objects, time_text
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, runtime, status
from policysched.offline import sessions
from policysched.plugins.dynamic_resources import dynamic_resources
from tests import builders

Manifest = dict[str, Any]
MakeDecider: TypeAlias = Callable[[], sessions.PodDecider]
NOW = builders.EPOCH.replace(month=6)
"""Later than everything in generated clusters."""

_FIRST_VERSION = 1_000_000
"""Higher than the versions in the cases, so that written objects are newer."""

_UNSAVED = "<extended-resources>"
"""The name that kube-scheduler gives the claim for extended resources before it is created."""
_DEFAULTS = {"allocationMode": "ExactCount", "count": 1}
"""Of a request for devices."""
_CONFLICT = handles.WriteError("the object has been modified", is_conflict=True)


class ClaimServer:
    """An API server with the claims of a case; it records all writes.

    Attributes:
        writes: the recorded writes.
        events: the recorded events about pods.
        tasks: writes in the background; `take_writes` runs them.
        show: is called with each created claim.
    """

    def __init__(self, cluster: Manifest) -> None:
        self.writes: list[Manifest] = []
        self.events: list[Manifest] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.show: Callable[[device_objects.ResourceClaim], None] = _ignore
        self._given = {
            _key_of(item["metadata"]): item
            for item in cluster["items"]
            if item["kind"] == "ResourceClaim"
        }
        self._claims: dict[str, Manifest] = {}
        self._count = 0
        self.reset()

    def reset(self) -> None:
        """Undo all writes."""
        self._claims = copy.deepcopy(self._given)

    def take_writes(self) -> list[Manifest]:
        """Run the tasks; return the writes since the last call."""
        for task in self.tasks:
            asyncio.run(task)
        self.tasks.clear()
        taken, self.writes = self.writes, []
        return taken

    def record_event(self, pod: pod_shape.PodInfo, reason: str, action: str, note: str) -> None:
        """Record a normal event about a pod."""
        del pod
        made = {"type": "Normal", "reason": reason, "action": action, "note": note}
        self.events.append(made)

    async def read(self, claim: device_objects.ResourceClaim) -> device_objects.ResourceClaim:
        """Return the newest version of a claim."""
        return msgspec.convert(self._find(claim), device_objects.ResourceClaim)

    async def write_finalizers(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Write the finalizers of a claim; return its new version."""
        found = self._find(claim)
        if not _is_newest(claim, found):
            return _CONFLICT
        written = list(claim.metadata.finalizers)
        # The oracle does not record writes that change nothing.
        if written != found["metadata"].get("finalizers", []):
            found["metadata"]["finalizers"] = written
            self._note("update", "resourceclaims", found, {"finalizers": written})
        return self._renew(found)

    async def write_status(
        self, claim: device_objects.ResourceClaim
    ) -> device_objects.ResourceClaim | handles.WriteError:
        """Write allocation and reservations of a claim; return its new version."""
        found = self._find(claim)
        if not _is_newest(claim, found):
            return _CONFLICT
        written = found.setdefault("status", {})
        written["allocation"] = _as_json(claim.allocation)
        written["reservedFor"] = _as_json(claim.status.reserved_for)
        if claim.allocation is None:
            written.pop("devices", None)
        self._note("update", "resourceclaims/status", found, _status(written))
        return self._renew(found)

    async def unreserve(self, claim: device_objects.ResourceClaim, pod: pod_shape.PodInfo) -> None:
        """Remove the reservation of a pod from a claim, whatever its version."""
        found = self._find(claim)
        written = found.setdefault("status", {})
        before = written.get("reservedFor", ())
        kept = [each for each in before if each["uid"] != pod.pod.metadata.uid]
        if len(kept) < len(before):
            written["reservedFor"] = kept
            self._note("patch", "resourceclaims/status", found, _status(written))

    async def create(
        self, claim: device_objects.ResourceClaim, name_prefix: str
    ) -> device_objects.ResourceClaim:
        """Create a claim with a new name; the watch shows it immediately."""
        metadata = _as_json(claim.metadata)
        spec = _as_json(claim.spec)
        for request in spec["devices"]["requests"]:
            request["exactly"] = _DEFAULTS | request["exactly"]
        value = {
            "generateName": name_prefix,
            "annotations": metadata["annotations"],
            "ownerReferences": metadata["ownerReferences"],
            "spec": spec,
        }
        metadata |= {"name": f"{name_prefix}made", "uid": f"uid-of-{name_prefix}"}
        found = self._claims[_key_of(metadata)] = {"metadata": metadata, "spec": spec}
        self._note("create", "resourceclaims", found, value)
        created = self._renew(found)
        self.show(created)
        return created

    async def delete(self, claim: device_objects.ResourceClaim) -> None:
        """Delete a claim, whatever its version."""
        self._note("delete", "resourceclaims", self._find(claim), {})

    async def write_extended_resource_status(
        self, pod: pod_shape.PodInfo, status: msgspec.Struct
    ) -> None:
        """Write the claim for the extended resources of a pod into its status."""
        written = {"extendedResourceClaimStatus": status}
        self._note("patch", "pods/status", {"metadata": _as_json(pod.pod.metadata)}, written)

    def _find(self, claim: device_objects.ResourceClaim) -> Manifest:
        return self._claims[claim.full_name]

    def _renew(self, found: Manifest) -> device_objects.ResourceClaim:
        self._count += 1
        found["metadata"]["resourceVersion"] = str(_FIRST_VERSION + self._count)
        return msgspec.convert(found, device_objects.ResourceClaim)

    def _note(self, verb: str, resource: str, found: Manifest, value: Manifest) -> None:
        name = _key_of(found["metadata"])
        made: Manifest = {"verb": verb, "resource": resource, "name": name}
        value = _as_json(value)
        self.writes.append({**made, "value": value} if value else made)


def answer(cluster: Manifest, make_decider: MakeDecider) -> Iterator[Manifest]:
    """Yield the result for each pending pod of a case, as if it were the only one."""
    server = ClaimServer(cluster)
    handle = functools.partial(
        handles.Handle,
        claim_writer=server,
        start_task=server.tasks.append,
        record_event=server.record_event,
        clock=clocks.ManualClock(NOW),
        sleep=_skip_time,
    )
    number = 0
    while True:
        with mock.patch.object(handles, "Handle", handle):
            decider = make_decider()
        if number == len(decider.cluster.pending):
            return
        yield _PodBinding(server, decider, decider.cluster.pending[number]).answer()
        number += 1


def _ignore(claim: device_objects.ResourceClaim) -> None:
    del claim


async def _skip_time(seconds: float) -> None:
    del seconds


class _PodBinding:
    """Binds one pod."""

    def __init__(
        self, server: ClaimServer, decider: sessions.PodDecider, pod: pod_shape.PodInfo
    ) -> None:
        self._server = server
        self._pod = pod
        self._cache = decider.cluster.cache
        self._framework = decider.choice.require_framework(pod)
        server.show = self._cache.devices.claims.set

    def answer(self) -> Manifest:
        """Return the result for the pod."""
        snap = self._cache.snapshot()
        result = self._framework.schedule_pod(self._pod, snap)
        rows = [] if result.diagnosis else self._framework.feasible_rows(self._pod, snap).tolist()
        nodes = [] if result.node_name is None else [snap.nodes.names[row] for row in rows]
        made: Manifest = {
            "pod": self._pod.key,
            "node": result.node_name,
            "nodes": {name: self._reserve(result, name) for name in nodes},
        }
        if result.node_name is not None:
            # A new cycle, because PreBind writes everything that a cycle has reserved.
            again = self._framework.schedule_pod(self._pod, snap)
            return made | {"preBind": self._pre_bind(again, result.node_name)}
        if result.diagnosis is not None and snap.node_count:
            return made | {"postFilter": self._deallocate(result, snap)}
        return made

    def _reserve(self, result: runtime.ScheduleResult, node: str) -> Manifest:
        """Reserve on a node, and undo it."""
        points = self._framework.binding
        with _reservations() as reserved:
            refusal = points.reserve(result.state, self._pod, node)
        points.unreserve(result.state, self._pod, node)
        names_by_uid = {claim.metadata.uid: claim.full_name for claim in self._cache.devices.claims}
        unsaved = f"{self._pod.pod.metadata.namespace}/{_UNSAVED}"
        pending = {
            names_by_uid.get(uid, unsaved): _allocation(_as_json(allocation))
            for uid, allocation in reserved.items()
        }
        made = {"claims": pending, "unreserved": self._server.take_writes()}
        self._server.reset()
        return made | _refusal(refusal)

    def _pre_bind(self, result: runtime.ScheduleResult, node: str) -> Manifest:
        """Run PreBind, and then Unreserve."""
        points = self._framework.binding
        refusal = points.reserve(result.state, self._pod, node)
        if refusal.is_success:
            refusal = points.pre_bind_pre_flight(result.state, self._pod, node)
        if refusal.is_success:
            refusal = asyncio.run(points.pre_bind(result.state, self._pod, node))
            if not refusal.is_success:
                refusal = status.error("", f'running PreBind plugin "{refusal.plugin}"', refusal)
        writes, events = self._server.take_writes(), self._server.events[:]
        self._server.events.clear()
        points.unreserve(result.state, self._pod, node)
        made = {"writes": writes, "events": events, "unreserved": self._server.take_writes()}
        self._server.reset()
        return made | ({} if refusal.is_skip else _refusal(refusal))

    def _deallocate(self, result: runtime.ScheduleResult, snap: snapshot.Snapshot) -> Manifest:
        """Run PostFilter of DynamicResources only, as the oracle does."""
        assert result.diagnosis is not None
        plugin = next(
            each
            for each in self._framework.profile.plugins
            if isinstance(each, dynamic_resources.DynamicResources)
        )
        found = plugin.post_filter(result.state, self._pod, snap, result.diagnosis)
        if found.write is not None:
            asyncio.run(_run(found.write))
        made = {"writes": self._server.take_writes()}
        self._server.reset()
        return made | _refusal(found.status)


async def _run(write: Callable[[], Awaitable[bool]]) -> None:
    await write()


@contextlib.contextmanager
def _reservations() -> Iterator[dict[str, device_objects.AllocationResult]]:
    """Yield the allocations that Reserve chooses, by the identities of claims."""
    noted: dict[str, device_objects.AllocationResult] = {}
    start = claims.ResourceClaims.start_allocation

    def observed(
        known: claims.ResourceClaims, uid: str, allocation: device_objects.AllocationResult
    ) -> None:
        noted[uid] = allocation
        start(known, uid, allocation)

    with mock.patch.object(claims.ResourceClaims, "start_allocation", observed):
        yield noted


# --- forms of answers ----------------------------------------------------------------------------


def _refusal(answer: status.Status) -> Manifest:
    if answer.is_success:
        return {}
    return {"refusal": {"code": answer.code.value, "reasons": list(answer.reasons)}}


def _status(written: Manifest) -> Manifest:
    """Return the status of a claim without empty fields."""
    made = {name: value for name, value in written.items() if value}
    if "allocation" in made:
        made["allocation"] = _allocation(made["allocation"])
    return made


def _allocation(given: Manifest) -> Manifest:
    """Return an allocation with numbers in place of the identities of shares, and `now`."""
    made = copy.deepcopy(given)
    shares = [each for each in made["devices"].get("results", ()) if "shareID" in each]
    for number, result in enumerate(shares, 1):
        result["shareID"] = str(number)
    if made.get("allocationTimestamp") == time_text.format_rfc3339(NOW):
        made["allocationTimestamp"] = "now"
    return made


def _as_json(value: object) -> Any:
    return orjson.loads(msgspec.json.encode(value))


def _is_newest(claim: device_objects.ResourceClaim, found: Manifest) -> bool:
    return bool(claim.metadata.resource_version == found["metadata"]["resourceVersion"])


def _key_of(metadata: Manifest) -> str:
    return f"{metadata['namespace']}/{metadata['name']}"
