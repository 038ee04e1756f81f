"""Protocols through which the loop writes; `kube` and `sim` implement them.

`kube` is for real clusters, `sim` for the embedded cluster. Changes in the cluster arrive through
calls of `scheduler.event_handlers.ClusterEventHandlers`, in watch order.
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
    """A condition to write: `PodScheduled`, or `DisruptionTarget` of a victim."""

    status: str
    reason: str
    message: str


class PodStatusWriter(Protocol):
    """Writes pod status; never blocks the scheduling cycle; retries or logs failures."""

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: PodCondition,
        nominated_node_name: str | None = None,
    ) -> None:
        """Queue a status patch; the newest patch of a pod replaces older ones.

        `nominated_node_name` None does not change the nomination.
        """
        ...

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Queue a patch of `nominatedNodeName` alone; "" withdraws the nomination."""
        ...


class Evictor(Protocol):
    """Deletes victims of preemption; any number of calls may be in flight."""

    async def evict(self, victim: pod_shape.PodInfo, condition: PodCondition) -> bool:
        """Write the victim's `DisruptionTarget` condition and start its graceful deletion.

        Returns:
            False if the pod with this uid was gone already.

        Raises:
            RemoteError: retries failed for a while; the pod may still exist.
        """
        ...


class EventType(enum.Enum):
    """The type of a Kubernetes event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventRecorder(Protocol):
    """Writes Kubernetes events (events.k8s.io/v1) in the background, from a bounded queue.

    The events of one pod are written in order.
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
        """Queue one event about `pod`; if too many events wait, drop and count it.

        Equal events become one event with a count and the note of the first. `equal_by` is compared
        instead of the note if the note has details that differ each time.
        """
        ...


class PodLookup(Protocol):
    """Returns the newest known state of a pod, to detect changes during its scheduling."""

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the pod as last seen by the watch, None if it is gone."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerPorts:
    """All outputs of the loop, except for binding, which the DefaultBinder plugin does.

    `sleep` waits on the clock of the scheduler.
    """

    recorder: EventRecorder
    status_writer: PodStatusWriter
    evictor: Evictor
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
