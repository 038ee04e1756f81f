"""Run the scheduler during the terms of this process as leader.

A term lasts from the election to the loss of the lease. Between terms the process is on standby:
watches keep the caches up to date, but the process does not decide or write anything. A term begins
with a new list of all pods, because the watch may not have shown the previous leader's last
bindings yet. When the lease is lost, the term ends: bindings that are not complete by then are
undone, and the process is on standby again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

_log = logging.getLogger("policysched")

Refresh = Callable[[], Awaitable[None]]


class LeaderElector(Protocol):
    """Determines when this process leads; see `kube.election.leader_election.LeaseElector`."""

    @property
    def is_leading(self) -> bool:
        """Whether this process leads now."""
        ...

    @property
    def holder(self) -> str:
        """The identity of the leader as last seen; "" if it is unknown."""
        ...

    def overdue_seconds(self) -> float:
        """Return the seconds for which this process has failed to notice the loss of its lease."""
        ...

    async def acquire(self) -> None:
        """Wait until this process leads."""
        ...

    async def renew(self) -> None:
        """Keep leading; return once this process no longer leads."""
        ...

    async def release(self) -> None:
        """Release the lease, so that the next leader can start immediately."""
        ...


class LeaderTask(Protocol):
    """The work that runs during a term; see `scheduler.scheduler.Scheduler`."""

    async def run(self) -> None:
        """Schedule until `stop` is called; `run` can be called again after that."""
        ...

    async def stop(self, grace_seconds: float = 5.0) -> bool:
        """End `run`; return whether all work in progress has ended."""
        ...


class NeverLeader:
    """The elector of a process that never leads, as in a dry run."""

    is_leading = False
    holder = ""

    def overdue_seconds(self) -> float:
        """Return 0: no lease can be lost."""
        return 0.0

    async def acquire(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    async def renew(self) -> None:
        """Return immediately."""

    async def release(self) -> None:
        """Do nothing."""


class AlwaysLeader:
    """The elector of a process that leads without an election."""

    is_leading = True
    holder = ""

    def overdue_seconds(self) -> float:
        """Return 0: no lease can be lost."""
        return 0.0

    async def acquire(self) -> None:
        """Return immediately: this process always leads."""

    async def renew(self) -> None:
        """Wait for ever: leading does not end."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing: no lease is held."""


class LeadershipRunner:
    """Runs the terms of one process in succession."""

    def __init__(
        self,
        elector: LeaderElector,
        scheduler: LeaderTask,
        *,
        refresh: Refresh | None = None,
        last_writes_seconds: float = 5.0,
    ) -> None:
        """Create a runner; `run` starts it.

        Args:
            elector: determines when this process leads.
            scheduler: runs during each term.
            refresh: lists all pods or bindings again before a term.
            last_writes_seconds: how long writes may continue after the lease is lost.
        """
        self._elector = elector
        self._scheduler = scheduler
        self._refresh = refresh
        self._last_writes_seconds = last_writes_seconds
        self._is_ending = False
        self._is_finished = False

    async def run(self) -> None:
        """Alternate between standby and terms until `stop_scheduling_and_flush` or cancellation."""
        while not self._is_ending:
            await self._elector.acquire()
            await self._lead_one_term()

    async def _lead_one_term(self) -> None:
        """Schedule until the lease is lost; renew the lease even while the process shuts down."""
        renewing = asyncio.create_task(self._elector.renew())
        scheduling = asyncio.create_task(self._refresh_and_run_scheduler())
        try:
            await asyncio.wait((renewing, scheduling), return_when=asyncio.FIRST_COMPLETED)
            if scheduling.done():
                scheduling.result()
                await renewing
            else:
                renewing.result()
                await self._stop_scheduling(scheduling)
        finally:
            renewing.cancel()
            scheduling.cancel()
            await asyncio.gather(renewing, scheduling, return_exceptions=True)

    async def _refresh_and_run_scheduler(self) -> None:
        if self._refresh is not None:
            await self._refresh()
        if not self._is_ending:
            await self._scheduler.run()

    async def _stop_scheduling(self, scheduling: asyncio.Task[None]) -> None:
        _log.warning("scheduling ends; bindings in progress are finished or undone")
        await self._scheduler.stop(self._last_writes_seconds)
        if scheduling.done():
            scheduling.result()

    async def stop_scheduling_and_flush(self, flush: Callable[[], Awaitable[None]]) -> None:
        """Stop scheduling and `flush` pending writes while the lease is still held."""
        self._is_ending = True
        self._is_finished = await self._scheduler.stop()
        await flush()

    async def release_lease(self) -> None:
        """Release the lease after `stop_scheduling_and_flush` and the cancellation of `run`.

        If the scheduler did not end in time, the server may still be processing a call. In that
        case the lease is not released, but expires.
        """
        if self._is_finished:
            await self._elector.release()
