"""Terms of a leader: scheduling goes on from the election to the loss of the lease.

Standing by is all the rest: watches keep the cache and the queue as they are for the leader, and
nothing is decided or written. A term begins with a new list of all pods, for the watch may not yet
have shown what the former leader bound last. It ends, when the lease is lost, with the undoing of
all that is not bound by then; after that this process stands by again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

_log = logging.getLogger("policysched")

Refresh = Callable[[], Awaitable[None]]


class LeaderElector(Protocol):
    """Who says when this process leads; see `kube.election.leader_election.LeaseElector`."""

    @property
    def is_leading(self) -> bool:
        """Whether this process leads now."""
        ...

    def overdue_seconds(self) -> float:
        """Return how long ago this process should have noticed that it does not lead any more."""
        ...

    async def acquire(self) -> None:
        """Return once this process leads."""
        ...

    async def renew(self) -> None:
        """Return once it does not lead any more."""
        ...

    async def release(self) -> None:
        """Let the next one lead at once."""
        ...


class StoppableLoop(Protocol):
    """What runs in a term; see `scheduler.scheduler.Scheduler`."""

    async def run(self) -> None:
        """Schedule until `stop` is called; after that it may be run again."""
        ...

    async def stop(self, grace_seconds: float = 5.0) -> bool:
        """End `run`; return whether everything that was begun has ended."""
        ...


class NeverLeader:
    """The elector of a process that never leads, as in a dry run."""

    is_leading = False

    def overdue_seconds(self) -> float:
        """Nothing can be lost."""
        return 0.0

    async def acquire(self) -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    async def renew(self) -> None:
        """There is nothing to renew."""

    async def release(self) -> None:
        """Nothing was held."""


class AlwaysLeader:
    """The elector of a process that leads without asking anybody."""

    is_leading = True

    def overdue_seconds(self) -> float:
        """Nothing can be lost."""
        return 0.0

    async def acquire(self) -> None:
        """Lead at once."""

    async def renew(self) -> None:
        """Lead for ever."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Nothing was held."""


class LeadershipRunner:
    """The terms of one process, one after the other."""

    def __init__(
        self,
        elector: LeaderElector,
        scheduler: StoppableLoop,
        *,
        refresh: Refresh | None = None,
        last_writes_seconds: float = 5.0,
    ) -> None:
        """Schedule whenever this process leads.

        Args:
            elector: says when that is.
            scheduler: runs and stops with each term.
            refresh: brings all pods, or bindings, up to date before a term.
            last_writes_seconds: how long writes of a leader that has lost the lease may take.
        """
        self._elector = elector
        self._scheduler = scheduler
        self._refresh = refresh
        self._last_writes_seconds = last_writes_seconds
        self._is_ending = False
        self._is_finished = False

    async def run(self) -> None:
        """Stand by and lead, in turns, until `end` is called or it is cancelled."""
        while not self._is_ending:
            await self._elector.acquire()
            await self._lead_one_term()

    async def _lead_one_term(self) -> None:
        """Schedule until the lease is lost; hold it while the process ends."""
        renewing = asyncio.create_task(self._elector.renew())
        scheduling = asyncio.create_task(self._run_loop())
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

    async def _run_loop(self) -> None:
        if self._refresh is not None:
            await self._refresh()
        if not self._is_ending:
            await self._scheduler.run()

    async def _stop_scheduling(self, scheduling: asyncio.Task[None]) -> None:
        _log.warning("scheduling ends; what is being bound is finished or undone")
        await self._scheduler.stop(self._last_writes_seconds)
        if scheduling.done():
            scheduling.result()

    async def end_scheduling(self, flush: Callable[[], Awaitable[None]]) -> None:
        """Schedule no more, and `flush` what was decided; the lease is held meanwhile."""
        self._is_ending = True
        self._is_finished = await self._scheduler.stop()
        await flush()

    async def release_lease(self) -> None:
        """Release the lease, when `run` has been cancelled after `end`.

        Where a call may still be under way in the server the lease is left to run out.
        """
        if self._is_finished:
            await self._elector.release()
