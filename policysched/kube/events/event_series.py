"""One event for many equal happenings: which events are alike, and how often they occurred.

Source of the idea: client-go, tools/events/event_broadcaster.go. Unlike there, two events with
different notes are different: for a pod that fits nowhere the note is the news.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
from collections.abc import Hashable

import msgspec

FINISH = datetime.timedelta(minutes=6)
"""A happening later than this after the last equal one starts an event anew (finishTime)."""

REFRESH = datetime.timedelta(minutes=5)
"""How often the count of a running series is brought up to date on the server."""

LIMIT = 8192
"""So many events are remembered; the ones that were repeated last stay."""


class InvolvedObject(msgspec.Struct, frozen=True, rename="camel"):
    """Which object an event is about: its `regarding`."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    api_version: str = "v1"
    kind: str = "Pod"


@dataclasses.dataclass(slots=True, eq=False)
class CountedEvent:
    """An event, and how often it has occurred.

    Attributes:
        name: of the event object.
        pod: what it is about.
        text: event type, reason, action, note, reporting controller.
        first_at: when it occurred first.
        last_at: when it occurred last.
        count: how often it occurred.
        written_count: the count that the server knows, 0 when it has no such event.
        written_at: when the server was told.
        is_waiting: whether it is in a queue to be written.
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
    def is_server_behind(self) -> bool:
        """Whether the server does not know the count."""
        return self.written_count < self.count

    def is_count_update_due(self, now: datetime.datetime) -> bool:
        """Return whether to tell the server: the first repetition at once, then now and then."""
        if self.written_at is None or self.written_count <= 1:
            return self.is_server_behind
        return self.is_server_behind and now - self.written_at >= REFRESH


class RecentEvents:
    """The events of the last minutes by what makes them equal."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        # In order of the last occurrence.
        self._events: collections.OrderedDict[Hashable, CountedEvent] = collections.OrderedDict()

    def count_repeated_event(self, key: Hashable, now: datetime.datetime) -> CountedEvent | None:
        """Return the event that occurs once more, counted up; None where it is a new one."""
        event = self._events.get(key)
        if event is None or now - event.last_at >= FINISH:
            return None
        event.count += 1
        event.last_at = now
        self._events.move_to_end(key)
        return event

    def add_event(self, key: Hashable, event: CountedEvent) -> CountedEvent | None:
        """Remember a new event; return one that is forgotten for it."""
        forgotten = self._events.pop(key, None)
        self._events[key] = event
        if len(self._events) > self._limit:
            _, forgotten = self._events.popitem(last=False)
        return forgotten

    def pop_idle_events(self, now: datetime.datetime) -> list[CountedEvent]:
        """Forget and return the events that have not occurred for a while."""
        finished = []
        for key, event in list(self._events.items()):
            if now - event.last_at < FINISH:
                break
            del self._events[key]
            finished.append(event)
        return finished
