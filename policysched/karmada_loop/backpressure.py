"""Delay new decisions while many events wait, so that a killed process loses few of them.

The API server stores written bindings, but waiting events are lost with the process.
karmada-scheduler drops events if more than 1,000 wait (client-go, `tools/record/event.go`,
maxQueuedEvents). If no events can be written at all, decisions are not delayed: a workload never
waits only because its events cannot be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched import clock as clocks

LIMIT: Final = 256
"""Maximum number of waiting events; a binding causes two."""

PATIENCE_SECONDS: Final = 1.0
"""If the number of waiting events does not reach a new low within this time, decisions continue."""


class EventBackpressure:
    """Determines whether decisions must wait for events."""

    def __init__(self, waiting: Callable[[], int], clock: clocks.Clock) -> None:
        """Watch the number of unwritten events, which `waiting` returns."""
        self._waiting = waiting
        self._clock = clock
        self._least: int | None = None
        self._since_seconds = 0.0

    def is_event_backlog_full(self) -> bool:
        """Return whether new decisions must wait."""
        waiting, now_seconds = self._waiting(), self._clock.monotonic_seconds()
        if waiting <= LIMIT:
            self._least = None
            return False
        if self._least is None or waiting < self._least:
            self._least, self._since_seconds = waiting, now_seconds
        return now_seconds - self._since_seconds < PATIENCE_SECONDS
