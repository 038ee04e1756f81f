"""Sleeping in virtual time: a sleep ends when the manual clock passes its end."""

from __future__ import annotations

import asyncio
import heapq
import itertools

from policysched import clock as clocks


class VirtualTime:
    """A manual clock and the coroutines that sleep until it advances."""

    def __init__(self, clock: clocks.ManualClock) -> None:
        """Use `clock`; from now on, only `advance` may move it."""
        self.clock = clock
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    @property
    def next_wake_seconds(self) -> float | None:
        """The end of the next sleep (monotonic clock), or None."""
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
        """Advance the clock by `seconds`, and stop at every sleep that ends on the way.

        Coroutines that wake run before the clock advances further, for as many awaits as
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
    """Run tasks that are ready; each round of the event loop runs them to their next await."""
    for _ in range(rounds):
        await asyncio.sleep(0)
