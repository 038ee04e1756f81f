"""Define the protocols through which the loop writes to the cluster.

`kube` implements them for real clusters, `sim` for the simulated cluster. Changes in the cluster
arrive through `scheduler.event_handlers.ClusterEventHandlers`, in watch order.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from collections.abc import Awaitable, Callable
from typing import Protocol

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import extender_answers, handles, runtime, status

Binder = handles.Binder


@dataclasses.dataclass(frozen=True, slots=True)
class PodCondition:
    """A pod condition to write: `PodScheduled`, or `DisruptionTarget` for a victim.

    `since_seconds` is when the condition began, in whole seconds since 1970; None for the time of
    the write. The API server keeps the time of a condition that only gets another message.
    """

    status: str
    reason: str
    message: str
    since_seconds: int | None = None


class PodStatusWriter(Protocol):
    """Writes pod status in the background; retries or logs failures."""

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: PodCondition,
        nominated_node_name: str | None = None,
    ) -> None:
        """Queue a status patch, which replaces an older queued patch of the same pod.

        With `nominated_node_name` None, the nomination is not changed.
        """
        ...

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Queue a patch of only `nominatedNodeName`; "" withdraws the nomination."""
        ...


class Evictor(Protocol):
    """Evicts victims of preemption; any number of calls can be in progress."""

    async def evict(self, victim: pod_shape.PodInfo, condition: PodCondition) -> bool:
        """Write the `DisruptionTarget` condition of the victim and start its graceful deletion.

        Returns:
            False if the pod with this uid no longer existed.

        Raises:
            RemoteError: all retries failed; the pod may still exist.
        """
        ...


class EventType(enum.Enum):
    """The type of a Kubernetes event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventRecorder(Protocol):
    """Records Kubernetes events (events.k8s.io/v1) in the background, from a bounded queue.

    The events of each pod are written in order.
    """

    def record(  # noqa: PLR0913 - the fields of an event
        self,
        pod: pod_shape.PodInfo,
        event_type: EventType,
        reason: str,
        action: str,
        note: str,
        reporting_controller: str,
        *,
        equal_by: str | None = None,
    ) -> None:
        """Queue an event about `pod`; if the queue is full, drop and count it.

        Identical events are merged into one, which has a count and the note of the first. If the
        note has details that differ each time, `equal_by` is compared instead of the note.
        """
        ...


class PodLookup(Protocol):
    """Returns the newest version of a pod, to detect changes during its scheduling."""

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the newest version from the watch, or None if the pod is gone."""
        ...


class Extenders(Protocol):
    """HTTP extenders: servers that take part in decisions about some pods."""

    def is_asked_about(self, pod: pod_shape.PodInfo) -> bool:
        """Return whether an extender takes part in the choice of a node for the pod."""
        ...

    async def ask(
        self,
        framework: runtime.Framework,
        pod: pod_shape.PodInfo,
        take_snapshot: Callable[[], snapshot.Snapshot],
    ) -> extender_answers.ExtenderAnswers:
        """Return the answers about a pod, for its scheduling cycle with `framework`."""
        ...

    async def bind(self, pod: pod_shape.PodInfo, node_name: str) -> status.Status | None:
        """Bind a pod; None if the Bind plugins have to do it. After an error, it may be bound."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerPorts:
    """All outputs of the loop except the bindings of the DefaultBinder plugin.

    `sleep` waits on the clock of the scheduler. `extenders` are None if none is configured.
    """

    recorder: EventRecorder
    status_writer: PodStatusWriter
    evictor: Evictor
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    extenders: Extenders | None = None
