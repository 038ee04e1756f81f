"""Sleep in virtual time: a sleep ends when the manual clock reaches its end."""

from __future__ import annotations

import asyncio
import heapq
import itertools

from policysched import clock as clocks


class VirtualTime:
    """A manual clock and the coroutines that sleep on it."""

    def __init__(self, clock: clocks.ManualClock) -> None:
        """Sleep on `clock`, which only `advance` may move from now on."""
        self.clock = clock
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    @property
    def next_wake_seconds(self) -> float | None:
        """End of the next sleep (monotonic clock), or None if no coroutine sleeps."""
        return self._sleepers[0][0] if self._sleepers else None

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has advanced by `seconds`."""
        if seconds <= 0:
            return
        woken = asyncio.get_running_loop().create_future()
        due_seconds = self.clock.monotonic_seconds() + seconds
        heapq.heappush(self._sleepers, (due_seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Advance the clock by `seconds`, stopping at the end of each sleep.

        Woken coroutines run before the clock advances further, for as many awaits as
        `run_ready_tasks` allows.
        """
        end_seconds = self.clock.monotonic_seconds() + seconds
        await run_ready_tasks()
        while self._sleepers and self._sleepers[0][0] <= end_seconds:
            due_seconds, _, woken = heapq.heappop(self._sleepers)
            self.clock.advance(max(0.0, due_seconds - self.clock.monotonic_seconds()))
            if not woken.cancelled():
                woken.set_result(None)
            await run_ready_tasks()
        self.clock.advance(max(0.0, end_seconds - self.clock.monotonic_seconds()))


async def run_ready_tasks(rounds: int = 10) -> None:
    """Run `rounds` iterations of the event loop; in each, ready tasks run until they wait."""
    for _ in range(rounds):
        await asyncio.sleep(0)
