"""Count repeated events, so that the server stores one event with a count.

Source: client-go, tools/events/event_broadcaster.go. Unlike in client-go, events with different
notes are different events, because only the note shows why an unschedulable pod now fits on no
node.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
from collections.abc import Hashable

import msgspec

FINISH = datetime.timedelta(minutes=6)
"""An event that recurs after a longer pause starts a new series (client-go, finishTime)."""

REFRESH = datetime.timedelta(minutes=5)
"""Minimum interval between two updates of a running series on the server."""

LIMIT = 8192
"""Limit of remembered events; the least recently repeated event is forgotten first."""


class InvolvedObject(msgspec.Struct, frozen=True, rename="camel"):
    """The object that an event is about: the event's field `regarding`."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    api_version: str = "v1"
    kind: str = "Pod"


@dataclasses.dataclass(slots=True, eq=False)
class CountedEvent:
    """An event and its number of occurrences.

    Attributes:
        name: name of the event object.
        pod: the object that the event is about, usually a pod.
        text: event type, reason, action, note, reporting controller.
        first_at: time of the first occurrence.
        last_at: time of the last occurrence.
        count: number of occurrences.
        written_count: the count on the server, or 0 before the event is created there.
        written_at: time of the last write to the server.
        is_waiting: whether the event is in a queue to be written.
    """

    name: str
    pod: InvolvedObject
    text: tuple[str, str, str, str, str]
    first_at: datetime.datetime
    last_at: datetime.datetime
    count: int = 1
    written_count: int = 0
    written_at: datetime.datetime | None = None
    is_waiting: bool = False

    @property
    def is_server_count_outdated(self) -> bool:
        """Whether the server has a lower count."""
        return self.written_count < self.count

    def is_count_update_due(self, now: datetime.datetime) -> bool:
        """Return whether to write the count: on the first repetition, then every REFRESH."""
        if self.written_at is None or self.written_count <= 1:
            return self.is_server_count_outdated
        return self.is_server_count_outdated and now - self.written_at >= REFRESH


class RecentEvents:
    """The events of the last few minutes, keyed by the values that repeated events share."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        # Ordered by the last occurrence, oldest first.
        self._events: collections.OrderedDict[Hashable, CountedEvent] = collections.OrderedDict()

    def count_repeated_event(self, key: Hashable, now: datetime.datetime) -> CountedEvent | None:
        """Count a repeated event and return it; return None for a new event."""
        event = self._events.get(key)
        if event is None or now - event.last_at >= FINISH:
            return None
        event.count += 1
        event.last_at = now
        self._events.move_to_end(key)
        return event

    def add_event(self, key: Hashable, event: CountedEvent) -> CountedEvent | None:
        """Remember a new event; return the event forgotten to make room for it, if any."""
        forgotten = self._events.pop(key, None)
        self._events[key] = event
        if len(self._events) > self._limit:
            _, forgotten = self._events.popitem(last=False)
        return forgotten

    def pop_idle_events(self, now: datetime.datetime) -> list[CountedEvent]:
        """Forget and return the events that have not recurred within FINISH."""
        finished = []
        for key, event in list(self._events.items()):
            if now - event.last_at < FINISH:
                break
            del self._events[key]
            finished.append(event)
        return finished
