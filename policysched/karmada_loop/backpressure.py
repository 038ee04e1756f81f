"""Holds decisions back while events are far behind, so that a kill loses few of them.

What was written is kept by the API server; what is to be told of it waits here, and is lost with
the process. karmada-scheduler drops what is over 1,000 (client-go, `tools/record/event.go`,
maxQueuedEvents). Where events do not get on at all nothing is held back: no workload waits because
nobody can be told of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched import clock as clocks

LIMIT: Final = 256
"""So many events may wait, those of 128 bindings."""

PATIENCE_SECONDS: Final = 1.0
"""After so long without any event getting written they do not get on."""


class EventBackpressure:
    """Whether there is room for more to be told."""

    def __init__(self, waiting: Callable[[], int], clock: clocks.Clock) -> None:
        """Go by how many events are waiting."""
        self._waiting = waiting
        self._clock = clock
        self._least: int | None = None
        self._since_seconds = 0.0

    def is_event_backlog_full(self) -> bool:
        """Return whether nothing more is to be decided now."""
        waiting, now_seconds = self._waiting(), self._clock.monotonic_seconds()
        if waiting <= LIMIT:
            self._least = None
            return False
        if self._least is None or waiting < self._least:
            self._least, self._since_seconds = waiting, now_seconds
        return now_seconds - self._since_seconds < PATIENCE_SECONDS
