"""What the loop needs from outside: implemented by `kube` for a real cluster and by `sim`.

Writes go out through these; what happens in the cluster comes in by calls of
`scheduler.event_handlers.EventHandlers`, in watch order.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from collections.abc import Awaitable, Callable
from typing import Protocol

from policysched.cluster import pod_shape
from policysched.framework import interface

Binder = interface.Binder


@dataclasses.dataclass(frozen=True, slots=True)
class PodCondition:
    """The `PodScheduled` condition to be written."""

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


class EventType(enum.Enum):
    """Type of a Kubernetes event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventRecorder(Protocol):
    """Writes Kubernetes events (events.k8s.io/v1) in order, bounded, behind everything else."""

    def record(
        self,
        pod: pod_shape.PodInfo,
        event_type: EventType,
        reason: str,
        action: str,
        note: str,
        reporting_controller: str,
    ) -> None:
        """Queue one event about `pod`; dropped (and counted) when too many are waiting."""
        ...


class PodLookup(Protocol):
    """The newest known state of a pod, to notice that it changed while it was being scheduled."""

    def current(self, uid: str) -> pod_shape.PodInfo | None:
        """Return the pod as last seen by the watch, None when it is gone."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Outside:
    """All ways out of the loop, except for binding, which is the DefaultBinder plugin's.

    `sleep` waits, by the clock that the scheduler goes by.
    """

    recorder: EventRecorder
    status_writer: PodStatusWriter
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
