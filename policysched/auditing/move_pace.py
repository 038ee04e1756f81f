"""Decide when the next pod may be evicted, and whether the run has ended before."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable

from policysched import clock as clocks

MAX_LISTING_SECONDS = 600.0
"""The age of the listing after which a run ends: the simulation may be wrong by then."""


class RunEnd(enum.StrEnum):
    """Why a run ends before it has looked at all violators."""

    INTERRUPTED = "the command was interrupted"
    LISTING_TOO_OLD = "the listing of the cluster is too old; run the command again"
    GUARD_NOT_WRITTEN = "the loop guard could not be written, so the run has ended"


class MovePace:
    """Keeps two evictions apart, and ends a run that is interrupted or has an old listing."""

    def __init__(
        self,
        clock: clocks.Clock,
        listed_at_seconds: float,
        pause_seconds: float,
        wait: Callable[[float], Awaitable[bool]],
    ) -> None:
        """Evict every `pause_seconds` at most.

        The cluster was listed at `listed_at_seconds` on the monotonic clock or later. `wait` waits
        for some seconds, or until the run is interrupted, and returns whether it is.
        """
        self._clock = clock
        self._listed_at_seconds = listed_at_seconds
        self._pause_seconds = pause_seconds
        self._wait = wait
        self._next_seconds = listed_at_seconds

    async def find_end(self) -> RunEnd | None:
        """Return why no further pod may be evicted.

        The listing is too old already if it will be at the next eviction.
        """
        if await self._wait(0.0):
            return RunEnd.INTERRUPTED
        turn_seconds = max(self._next_seconds, self._clock.monotonic_seconds())
        is_old = turn_seconds - self._listed_at_seconds > MAX_LISTING_SECONDS
        return RunEnd.LISTING_TOO_OLD if is_old else None

    async def wait_for_turn(self) -> RunEnd | None:
        """Wait until the next pod may be evicted; return why it may not be."""
        end = await self.find_end()
        if end is not None:
            return end
        left_seconds = max(0.0, self._next_seconds - self._clock.monotonic_seconds())
        return RunEnd.INTERRUPTED if await self._wait(left_seconds) else None

    def note_eviction(self) -> None:
        """Let the pause begin."""
        self._next_seconds = self._clock.monotonic_seconds() + self._pause_seconds
