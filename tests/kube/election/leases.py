"""A Lease as the API server keeps it, and a network that loses and delays what it carries."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from policysched.kube import errors
from policysched.kube.election import lease
from policysched.kube.http import client


class Server:
    """The one copy of the lease that counts."""

    def __init__(self) -> None:
        """Start without a lease."""
        self.stored: lease.StoredLease | None = None
        self._versions = itertools.count(1)

    def read(self) -> lease.StoredLease | None:
        """Return the newest state."""
        return self.stored

    def write(
        self, over: lease.StoredLease | None, record: lease.LeaderElectionRecord
    ) -> lease.StoredLease:
        """Create or replace; a conflict where the lease is not what the writer has seen."""
        if _version(over) != _version(self.stored):
            raise errors.ConflictError(409, "Conflict", "the lease has changed")
        self.stored = lease.StoredLease(record, {"version": next(self._versions)})
        return self.stored


class Line:
    """One candidate's way to the server (`leader_election.ResourceLock`).

    Attributes:
        loses_requests, loses_answers: what does not arrive; its sender waits in vain.
        error: what the server answers to everything, None for what is true.
        seconds: how long an answer takes.
        timeout_seconds: how long one waits in vain.
        writes: how many the server has carried out.
    """

    namespaced_name = "test/lease"

    def __init__(self, server: Server, sleep: client.Sleep) -> None:
        """Lead to `server`, in no time."""
        self.loses_requests = False
        self.loses_answers = False
        self.error: errors.KubeError | None = None
        self.seconds = 0.0
        self.timeout_seconds = 5.0
        self.writes = 0
        self._server = server
        self._sleep = sleep

    async def read(self) -> lease.StoredLease | None:
        """Return the newest state, if it gets through."""
        await self._go_there()
        found = self._server.read()
        await self._come_back()
        return found

    async def create(self, record: lease.LeaderElectionRecord) -> lease.StoredLease:
        """Create the lease, if it gets through."""
        return await self._write(None, record)

    async def replace(
        self, stored: lease.StoredLease, record: lease.LeaderElectionRecord
    ) -> lease.StoredLease:
        """Replace the lease, if it gets through."""
        return await self._write(stored, record)

    async def _write(
        self, over: lease.StoredLease | None, record: lease.LeaderElectionRecord
    ) -> lease.StoredLease:
        await self._go_there()
        written = self._server.write(over, record)
        self.writes += 1
        await self._come_back()
        return written

    async def _go_there(self) -> None:
        if self.loses_requests:
            await self._wait_in_vain()
        if self.error is not None:
            raise self.error
        await self._sleep(self.seconds / 2)

    async def _come_back(self) -> None:
        await self._sleep(self.seconds / 2)
        if self.loses_answers:
            await self._wait_in_vain()

    async def _wait_in_vain(self) -> None:
        await self._sleep(self.timeout_seconds)
        raise errors.TransportError("no answer in time", may_have_arrived=True)


def _version(stored: lease.StoredLease | None) -> Any:
    return None if stored is None else stored.content["version"]


async def no_sleep(_: float) -> None:
    """Let others run, without waiting."""
    await asyncio.sleep(0)
