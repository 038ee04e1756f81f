"""The scheduling loop: decide on one binding at a time while earlier decisions are written."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from typing import TYPE_CHECKING, TypeAlias

from policysched.scheduler import shutdown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from policysched import clock as clocks
    from policysched.karmada.scheduler import binding_scheduler, event_handlers
    from policysched.karmada.state import estimates
    from policysched.karmada_loop import binding_writer

Ask: TypeAlias = "Callable[[estimates.EstimateRequest], Awaitable[estimates.Answers]]"
"""Asks the estimators of clusters; never raises, and ends within a timeout."""


_LOOK_SECONDS = 0.05
"""Interval at which to check whether decisions are still held back."""


def _never_hold_back() -> bool:
    return False


async def _answer_without_estimators(question: estimates.EstimateRequest) -> estimates.Answers:
    return dict.fromkeys(question.clusters)


class BindingSchedulingLoop:
    """Schedules bindings; see `leadership.runner.LeaderTask`.

    Attributes:
        ask: asks the estimators of clusters if a decision needs their answers.
        is_held_back: while it returns True, no new attempt begins.
        steps: number of tasks started plus number of tasks ended, which shows progress.
        is_running: whether `run` is active.
    """

    def __init__(
        self,
        decisions: binding_scheduler.BindingScheduler,
        handlers: event_handlers.BindingEventHandlers,
        writer: binding_writer.BindingWriter,
        clock: clocks.Clock,
        awake: asyncio.Event,
        *,
        writes_at_once: int,
    ) -> None:
        """Schedule the bindings queued by `handlers`; `awake` is set when there is work."""
        self._decisions = decisions
        self._handlers = handlers
        self._writer = writer
        self._clock = clock
        self._awake = awake
        self._writes_at_once = writes_at_once
        self.is_held_back: Callable[[], bool] = _never_hold_back
        self.steps = 0
        self.is_running = False
        self.ask: Ask = _answer_without_estimators
        self._answered: collections.deque[
            tuple[binding_scheduler.BindingAttempt, estimates.Answers]
        ] = collections.deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        self._pauses = 0

    @property
    def must_delay_new_attempt(self) -> bool:
        """Whether a new attempt must wait until another attempt is written or answered."""
        return len(self._tasks) >= self._writes_at_once

    async def run(self) -> None:
        """Schedule until `stop` is called; `run` can be called again after that."""
        self._is_stopping = False
        self._decisions.requeue_all_bindings()
        self.is_running = True
        try:
            while not self._is_stopping:
                if self._run_one_step():
                    await asyncio.sleep(0)
                else:
                    await self._wait_for_work()
        finally:
            self.is_running = False
            self._decisions.stop_queueing()

    def _run_one_step(self) -> bool:
        """Do one step of work; return False if there is no work now."""
        if self._handlers.process_oldest_cluster_change():
            return True
        if self._pauses:
            return False
        if self._answered:
            self._start_attempt_task(self._decisions.resume_attempt(*self._answered.popleft()))
            return True
        if self.must_delay_new_attempt or self.is_held_back():
            return False
        attempt = self._decisions.begin_next_attempt()
        if attempt is None:
            return False
        self._start_attempt_task(attempt)
        return True

    def _start_attempt_task(self, attempt: binding_scheduler.BindingAttempt) -> None:
        """Start a task that writes the attempt, or that asks the estimators it needs."""
        self.steps += 1
        if attempt.question is None:
            work = self._writer.write_attempt(attempt)
        else:
            work = self._ask_estimators(attempt, attempt.question)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget_finished_task)

    async def _ask_estimators(
        self, attempt: binding_scheduler.BindingAttempt, question: estimates.EstimateRequest
    ) -> None:
        """Ask estimators and queue their answers for the next step, because only steps decide."""
        try:
            answers = await self.ask(question)
        except asyncio.CancelledError:
            self._decisions.abandon_attempt(attempt)
            raise
        self._answered.append((attempt, answers))

    def _forget_finished_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.steps += 1
        self._awake.set()

    async def _wait_for_work(self) -> None:
        """Wait until the loop is woken or the next timer expires."""
        self._awake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._compute_wait_seconds()):
                await self._awake.wait()

    def _compute_wait_seconds(self) -> float | None:
        """Return the seconds until the next check for work, or None to wait only for events."""
        if self.must_delay_new_attempt or self._pauses:
            return None
        if self.is_held_back():
            return _LOOK_SECONDS
        due_seconds = self._handlers.queue.next_timer_seconds()
        if due_seconds is None:
            return None
        return max(0.0, due_seconds - self._clock.monotonic_seconds())

    def pause(self) -> None:
        """Pause decisions until `resume` is called as often as `pause`.

        Attempts in progress continue.
        """
        self._pauses += 1

    def resume(self) -> None:
        """End one pause; decisions continue after the last pause."""
        self._pauses -= 1
        self._awake.set()

    async def stop(self, grace_seconds: float = 5.0) -> bool:
        """End `run`; return whether all attempts in progress have been written."""
        self._is_stopping = True
        self._awake.set()
        is_done = await shutdown.finish_tasks(self._tasks, grace_seconds)
        while self._answered:
            attempt, _ = self._answered.popleft()
            self._decisions.abandon_attempt(attempt)
        return is_done
