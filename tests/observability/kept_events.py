"""A recorder that keeps what it is given."""

from __future__ import annotations

from policysched.kube.events import event_series


class KeptEvents:
    """See `recorders.ObjectEventRecorder`.

    Attributes:
        events: type, reason, action, note of each.
        about: what those about an object regard, in order.
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str, str]] = []
        self.about: list[event_series.InvolvedObject] = []

    def record_object_event(
        self,
        about: event_series.InvolvedObject,
        event_type: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        """Keep one."""
        self.about.append(about)
        self.events.append((event_type, reason, action, note))

    def record_event_without_object(
        self, event_type: str, reason: str, action: str, note: str
    ) -> None:
        """Keep one."""
        self.events.append((event_type, reason, action, note))
