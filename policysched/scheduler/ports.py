"""What the loop needs from outside: implemented by `kube` for a real cluster and by `sim`.

Writes go out through these; what happens in the cluster comes in by calls of
`scheduler.event_handlers.ClusterEventHandlers`, in watch order.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from collections.abc import Awaitable, Callable
from typing import Protocol

from policysched.cluster.pods import pod_shape
from policysched.framework import handles

Binder = handles.Binder


@dataclasses.dataclass(frozen=True, slots=True)
class PodCondition:
    """A condition to be written: `PodScheduled`, or `DisruptionTarget` of a victim."""

    status: str
    reason: str
    message: str


class PodStatusWriter(Protocol):
    """Writes pod status; never blocks the scheduling cycle, failures are retried or logged."""

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: PodCondition,
        nominated_node_name: str | None = None,
    ) -> None:
        """Queue a status patch; the newest one per pod wins. None leaves the nomination alone."""
        ...

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Queue a patch of `nominatedNodeName` alone; "" takes a nomination back."""
        ...


class Evictor(Protocol):
    """Deletes pods that make room for others; any number of calls may be in flight."""

    async def evict(self, victim: pod_shape.PodInfo, condition: PodCondition) -> bool:
        """Write the victim's `DisruptionTarget` condition and begin its graceful deletion.

        Returns:
            False when the pod, known by its uid, was gone already.

        Raises:
            RemoteError: it may still be there, and trying again for a while was no help.
        """
        ...


class EventType(enum.Enum):
    """Type of a Kubernetes event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventRecorder(Protocol):
    """Writes Kubernetes events (events.k8s.io/v1) in order, bounded, behind everything else."""

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
        """Queue one event about `pod`; dropped (and counted) when too many are waiting.

        Events that are equal become one with a count; `equal_by` is compared instead of the note,
        where the note has details that differ each time. The first one's note stays.
        """
        ...


class PodLookup(Protocol):
    """The newest known state of a pod, to notice that it changed while it was being scheduled."""

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the pod as last seen by the watch, None when it is gone."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerPorts:
    """All ways out of the loop, except for binding, which is the DefaultBinder plugin's.

    `sleep` waits, by the clock that the scheduler goes by.
    """

    recorder: EventRecorder
    status_writer: PodStatusWriter
    evictor: Evictor
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
