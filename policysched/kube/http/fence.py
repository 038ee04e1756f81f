"""Permit writes only while no other process can hold the lease.

The permission to write expires by the local monotonic clock unless a renewal of the lease extends
it; no check with the API server is needed.

    renewed                          +renewDeadline            +leaseDuration
    ├─ writes begin ─────────────────┤                         │
    │                                ├─ writes still end ──┤   ├─ another process may lead

Times are measured from before the renewal was sent, so the permission ends early rather than late.
A write that begins too late is not sent. A write that begins in time has a time limit in the
client, in the kernel (retransmissions) and in the server (`timeout` of the request).
"""

from __future__ import annotations

import math

from policysched import clock as clocks
from policysched.kube import errors


class WriteFence:
    """The deadline for the start of writes; no write is permitted until the lease is acquired.

    Attributes:
        last_writes_seconds: how long a write that began before the deadline may continue after it.
    """

    def __init__(self, clock: clocks.Clock, last_writes_seconds: float) -> None:
        """Use the monotonic time of `clock`."""
        self.last_writes_seconds = last_writes_seconds
        self._clock = clock
        self._begin_until_seconds = -math.inf

    def permit_writes_until(self, begin_until_seconds: float) -> None:
        """Permit writes that begin before this time of the monotonic clock."""
        self._begin_until_seconds = begin_until_seconds

    def close(self) -> None:
        """Permit no more writes."""
        self._begin_until_seconds = -math.inf

    def compute_allowed_write_seconds(self) -> float:
        """Return the time limit, in seconds, of a write that begins now.

        Raises:
            FencedWriteError: no write may begin now.
        """
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds >= self._begin_until_seconds:
            raise errors.FencedWriteError("writes need the leader's lease")
        return self._begin_until_seconds + self.last_writes_seconds - now_seconds
