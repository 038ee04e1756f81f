"""Simulate an API server in memory, within the process of the scheduler.

It replaces the API server in both directions: the `watch_objects` methods of its collections feed
objects to handlers; `bind`, `evict`, `set_condition`, `nominate` and `record` implement the ports
in `scheduler.ports`. Bindings follow the rules of the pods/binding subresource (kubernetes
`pkg/registry/core/pod/storage/storage.go`, assignPod).
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from policysched import clock as clocks
from policysched.cluster.objects import disruption_budgets, objects, storage_objects
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import storage as storages
from policysched.framework import handles
from policysched.scheduler import ports
from policysched.sim import collection, faults, termination

POD_SCHEDULED = "PodScheduled"
DISRUPTION_TARGET = "DisruptionTarget"


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A Kubernetes event that the scheduler recorded."""

    at: datetime.datetime
    pod: str
    type: str
    reason: str
    action: str
    note: str
    reporting_controller: str


async def _sleep_not_at_all(_seconds: float) -> None:
    return


class SimulatedApiServer:
    """The objects and events of a simulated cluster.

    Attributes:
        nodes, pods, namespaces, budgets: collections of objects, to create, update and delete.
            `get_storage_collection` returns those of storage objects.
        events: events that the scheduler recorded, oldest first.
        faults, eviction_faults: failures of bindings and evictions; can be changed at any time.
        terminations: graceful deletions of pods.
        bind_count: number of successful bindings, including those whose answer was lost.
    """

    def __init__(
        self,
        clock: clocks.Clock,
        rng: random.Random,
        sleep: Callable[[float], Awaitable[None]] = _sleep_not_at_all,
    ) -> None:
        """Start empty; slow calls and grace periods wait with `sleep` (`VirtualTime.sleep`)."""
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._version = 0
        self._undelivered: collections.deque[Callable[[], None]] = collections.deque()
        self.nodes: collection.ObjectCollection[objects.Node] = collection.ObjectCollection(
            "nodes", self
        )
        self.pods: collection.ObjectCollection[objects.Pod] = collection.ObjectCollection(
            "pods", self
        )
        self.namespaces: collection.ObjectCollection[objects.Namespace] = (
            collection.ObjectCollection("namespaces", self)
        )
        self.budgets: collection.ObjectCollection[disruption_budgets.PodDisruptionBudget] = (
            collection.ObjectCollection("poddisruptionbudgets", self)
        )
        self._stored: dict[type[Any], collection.ObjectCollection[Any]] = {
            kind: collection.ObjectCollection(kind.__name__.lower() + "s", self)
            for kind in storage_objects.API_VERSIONS
        }
        self.events: list[RecordedEvent] = []
        self.faults = faults.BindFaults()
        self.eviction_faults = faults.EvictionFaults()
        self.terminations = termination.GracefulTerminations(self.pods, sleep, self.now)
        self.bind_count = 0

    def get_storage_collection(
        self, kind: type[storages.ObjectT]
    ) -> collection.ObjectCollection[storages.ObjectT]:
        """Return the collection of the storage objects of one type."""
        return self._stored[kind]

    # --- journal of the collections ---------------------------------------------------------------

    def make_next_version(self) -> int:
        """Return the next resourceVersion."""
        self._version += 1
        return self._version

    def make_uid(self) -> str:
        """Return a random UUID; the same seed gives the same sequence."""
        digits = f"{self._rng.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def now(self) -> datetime.datetime:
        """Return the time of the injected clock."""
        return self._clock.now()

    def queue_delivery(self, deliver: Callable[[], None]) -> None:
        """Queue the delivery of one change until `deliver_changes`."""
        self._undelivered.append(deliver)

    def deliver_changes(self) -> int:
        """Deliver all pending changes to the watch sinks, in order; return their number."""
        count = len(self._undelivered)
        for _ in range(count):
            self._undelivered.popleft()()
        return count

    @property
    def has_undelivered(self) -> bool:
        """Whether changes have not been delivered yet."""
        return bool(self._undelivered)

    # --- ports of the scheduler -------------------------------------------------------------------

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> handles.BindError | None:
        """Bind a pod after `faults.delay_seconds`; return None if the scheduler receives a success.

        `faults` can lose the answer to a successful binding, which returns an error.
        """
        await self._sleep(self.faults.delay_seconds)
        if self.faults.refuses_next_binding(self._rng):
            return handles.BindError("the simulated API server refused the binding")
        meta = pod.pod.metadata
        current = self.pods.find(meta.name, meta.namespace)
        refusal = _find_binding_refusal(current, pod)
        if refusal is not None or current is None:
            return refusal
        self.pods.update(_make_bound_pod(current, node_name, self._make_timestamp()))
        self.bind_count += 1
        if self.faults.loses_binding_answer(self._rng):
            return handles.BindError("the answer to the binding was lost")
        return None

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: ports.PodCondition,
        nominated_node_name: str | None = None,
    ) -> None:
        """Write the PodScheduled condition; ignore a pod that was deleted or replaced."""
        current = self._get_current_pod(pod)
        if current is None:
            return
        status = _replace_condition(
            current.status, _make_condition(POD_SCHEDULED, condition, self._make_timestamp())
        )
        if nominated_node_name is not None:
            status = msgspec.structs.replace(status, nominated_node_name=nominated_node_name)
        self._set_pod_status(current, status)

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Write the nominated node of a pod that is not bound yet."""
        current = self._get_current_pod(pod)
        if current is not None and not current.spec.node_name:
            status = msgspec.structs.replace(current.status, nominated_node_name=node_name)
            self._set_pod_status(current, status)

    async def evict(self, victim: pod_shape.PodInfo, condition: ports.PodCondition) -> bool:
        """Write the DisruptionTarget condition of a pod and delete it gracefully.

        Return False if the pod no longer exists.

        Raises:
            SimulatedApiError: `eviction_faults` made the eviction fail.
        """
        await self._sleep(self.eviction_faults.delay_seconds)
        if self.eviction_faults.fails_next_eviction(self._rng):
            raise collection.SimulatedApiError("InternalError", "the simulated API server failed")
        current = self._get_current_pod(victim)
        if current is None:
            return False
        marked = _make_condition(DISRUPTION_TARGET, condition, self._make_timestamp())
        self._set_pod_status(current, _replace_condition(current.status, marked))
        self.terminations.begin_deletion(self._get_current_pod(victim) or current)
        return True

    def record(  # noqa: PLR0913 - the fields of an event
        self,
        pod: pod_shape.PodInfo,
        event_type: ports.EventType,
        reason: str,
        action: str,
        note: str,
        reporting_controller: str,
        *,
        equal_by: str | None = None,
    ) -> None:
        """Append an event to `events`; identical events are not merged."""
        self.events.append(
            RecordedEvent(
                self.now(), pod.key, event_type.value, reason, action, note, reporting_controller
            )
        )

    def _get_current_pod(self, pod: pod_shape.PodInfo) -> objects.Pod | None:
        """Return the stored version of a pod, or None if it was deleted or replaced."""
        meta = pod.pod.metadata
        current = self.pods.find(meta.name, meta.namespace)
        return current if current is not None and current.metadata.uid == pod.uid else None

    def _set_pod_status(self, pod: objects.Pod, status: objects.PodStatus) -> None:
        if status != pod.status:
            self.pods.update(msgspec.structs.replace(pod, status=status))

    def _make_timestamp(self) -> str:
        return self.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _find_binding_refusal(
    current: objects.Pod | None, wanted: pod_shape.PodInfo
) -> handles.BindError | None:
    """Return the error of binding `wanted`, or None; `current` is the stored pod of that name."""
    if current is None:
        return handles.BindError(f'pods "{wanted.pod.metadata.name}" not found')
    if wanted.pod.metadata.uid not in ("", current.metadata.uid):
        return _make_conflict_error(current, "the uid in the precondition is of another pod")
    if current.metadata.deletion_timestamp is not None:
        return _make_conflict_error(current, "pod is being deleted, cannot be assigned to a host")
    if current.spec.node_name:
        return _make_conflict_error(
            current, f'pod is already assigned to node "{current.spec.node_name}"'
        )
    if current.spec.scheduling_gates:
        return _make_conflict_error(current, "pod has non-empty .spec.schedulingGates")
    return None


def _make_conflict_error(pod: objects.Pod, problem: str) -> handles.BindError:
    return handles.BindError(
        f'Operation cannot be fulfilled on pods/binding "{pod.metadata.name}": {problem}'
    )


def _make_bound_pod(pod: objects.Pod, node_name: str, timestamp: str) -> objects.Pod:
    scheduled = _make_condition(POD_SCHEDULED, ports.PodCondition("True", "", ""), timestamp)
    status = msgspec.structs.replace(pod.status, nominated_node_name="")
    return msgspec.structs.replace(
        pod,
        spec=msgspec.structs.replace(pod.spec, node_name=node_name),
        status=_replace_condition(status, scheduled),
    )


def _make_condition(kind: str, said: ports.PodCondition, timestamp: str) -> objects.Condition:
    if said.since_seconds is not None:
        began = datetime.datetime.fromtimestamp(said.since_seconds, datetime.UTC)
        timestamp = began.strftime("%Y-%m-%dT%H:%M:%SZ")
    return objects.Condition(
        type=kind,
        status=said.status,
        reason=said.reason,
        message=said.message,
        last_transition_time=timestamp,
    )


def _replace_condition(status: objects.PodStatus, new: objects.Condition) -> objects.PodStatus:
    """Return the status with `new` in place of the condition of its type.

    The transition time is kept if the status of the condition is unchanged.
    """
    old = next((c for c in status.conditions if c.type == new.type), None)
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    others = tuple(c for c in status.conditions if c.type != new.type)
    return msgspec.structs.replace(status, conditions=(*others, new))
