"""The loop: bindings are decided one after the other, while earlier ones are being written."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from policysched.scheduler import ending

if TYPE_CHECKING:
    from policysched import clock as clocks
    from policysched.app.karmada import writing
    from policysched.karmada import event_handlers, scheduling


class Loop:
    """Schedules bindings; see `app.terms.Loop`."""

    def __init__(
        self,
        decisions: scheduling.Scheduling,
        handlers: event_handlers.EventHandlers,
        writer: writing.Writer,
        clock: clocks.Clock,
        awake: asyncio.Event,
        *,
        writes_at_once: int,
    ) -> None:
        """Do what `handlers` have queued; `awake` is set when there is something to do."""
        self._decisions = decisions
        self._handlers = handlers
        self._writer = writer
        self._clock = clock
        self._awake = awake
        self._writes_at_once = writes_at_once
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._pauses = 0

    @property
    def is_full(self) -> bool:
        """Whether nothing more is decided before something is written."""
        return len(self._tasks) >= self._writes_at_once

    async def run(self) -> None:
        """Schedule until `stop` is called; after that it may be run again."""
        self._is_stopping = False
        self._decisions.start_over()
        while not self._is_stopping:
            if self._step():
                await asyncio.sleep(0)
            else:
                await self._wait()

    def _step(self) -> bool:
        """Do one thing; False where there is nothing to do now."""
        if self._handlers.follow_clusters():
            return True
        if self.is_full or self._pauses:
            return False
        attempt = self._decisions.next_attempt()
        if attempt is None:
            return False
        task = asyncio.get_running_loop().create_task(self._writer.carry_out(attempt))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return True

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._awake.set()

    async def _wait(self) -> None:
        """Wait until something happens, or a pause ends."""
        self._awake.clear()
        due_seconds = self._handlers.queue.next_timer_seconds()
        seconds = None
        if due_seconds is not None and not self.is_full and not self._pauses:
            seconds = max(0.0, due_seconds - self._clock.monotonic_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._awake.wait()

    def pause(self) -> None:
        """Decide nothing until as many `resume`; what was begun goes on."""
        self._pauses += 1

    def resume(self) -> None:
        """Decide again, if this was the last pause."""
        self._pauses -= 1
        self._awake.set()

    async def stop(self, grace_seconds: float = 5.0) -> bool:
        """End `run`; say whether everything that was begun has been written."""
        self._is_stopping = True
        self._awake.set()
        return await ending.finish(self._tasks, grace_seconds)
