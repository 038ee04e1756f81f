"""Delay new decisions while many events wait, so that a killed process loses few of them.

The API server keeps bindings that were written, but waiting events are lost with the process.
karmada-scheduler drops events if more than 1,000 wait (client-go, `tools/record/event.go`,
maxQueuedEvents). If no events can be written at all, decisions are not delayed: no workload waits
only because its events cannot be written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched import clock as clocks

LIMIT: Final = 256
"""Number of events that may wait: those of 128 bindings."""

PATIENCE_SECONDS: Final = 1.0
"""If the number of waiting events reaches no new low for this time, decisions go on."""


class EventBackpressure:
    """Determines whether decisions must wait for events."""

    def __init__(self, waiting: Callable[[], int], clock: clocks.Clock) -> None:
        """Use `waiting`, which returns how many events wait to be written."""
        self._waiting = waiting
        self._clock = clock
        self._least: int | None = None
        self._since_seconds = 0.0

    def is_event_backlog_full(self) -> bool:
        """Return whether no further decision may begin now."""
        waiting, now_seconds = self._waiting(), self._clock.monotonic_seconds()
        if waiting <= LIMIT:
            self._least = None
            return False
        if self._least is None or waiting < self._least:
            self._least, self._since_seconds = waiting, now_seconds
        return now_seconds - self._since_seconds < PATIENCE_SECONDS
