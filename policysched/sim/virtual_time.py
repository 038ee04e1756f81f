"""Waiting in virtual time: sleeps end when the manual clock is moved past them."""

from __future__ import annotations

import asyncio
import heapq
import itertools

from policysched import clock as clocks


class VirtualTime:
    """A manual clock and the coroutines that wait on it."""

    def __init__(self, clock: clocks.ManualClock) -> None:
        """Wait on `clock`, which only `advance` should move from now on."""
        self.clock = clock
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    @property
    def next_wake_seconds(self) -> float | None:
        """When the next sleep ends (monotonic clock), None when nobody sleeps."""
        return self._sleepers[0][0] if self._sleepers else None

    async def sleep(self, seconds: float) -> None:
        """Return once the clock has moved on by `seconds`."""
        if seconds <= 0:
            return
        woken = asyncio.get_running_loop().create_future()
        due_seconds = self.clock.monotonic_seconds() + seconds
        heapq.heappush(self._sleepers, (due_seconds, next(self._order), woken))
        await woken

    async def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`, stopping at every sleep that ends on the way.

        Whoever is woken runs before the clock moves on, as far as it comes without sleeping again.
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
    """Let tasks that are ready run: each round of the event loop takes them one await further."""
    for _ in range(rounds):
        await asyncio.sleep(0)
