"""Define the recorder of events about objects other than pods."""

from __future__ import annotations

from typing import Protocol

from policysched.kube.events import event_series


class ObjectEventRecorder(Protocol):
    """Queues events; see `kube.events.event_recorder.ApiEventRecorder`."""

    def record_object_event(
        self,
        about: event_series.InvolvedObject,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        /,
    ) -> None:
        """Queue an event about an object."""
        ...

    def record_event_without_object(
        self, event_type: str, reason: str, action: str, note: str, /
    ) -> None:
        """Queue an event that is about no object of the cluster."""
        ...
