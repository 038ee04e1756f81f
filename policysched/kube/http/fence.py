"""The time limit of writes: this process may write only while no other can hold the lease.

A leader does not ask whether it still leads: its right to write ends by itself, by the local
monotonic clock, unless a renewal of the lease has moved the end.

    renewed                          +renewDeadline            +leaseDuration
    ├─ writes begin ─────────────────┤                         │
    │                                ├─ writes still end ──┤   ├─ another one may be elected

Times are measured from before the renewal was sent, so the right to write ends early rather than
late. A write that begins too late is not sent. A write that begins in time has a limit that ends in
time in the client, in the kernel (retransmissions) and in the server (`timeout` of the request).
"""

from __future__ import annotations

import math

from policysched import clock as clocks
from policysched.kube import errors


class WriteFence:
    """Closed at first; acquiring or renewing the lease extends it.

    Attributes:
        last_writes_seconds: how long writes may still take after no more may begin.
    """

    def __init__(self, clock: clocks.Clock, last_writes_seconds: float) -> None:
        """Measure time by the monotonic time of `clock`."""
        self.last_writes_seconds = last_writes_seconds
        self._clock = clock
        self._begin_until_seconds = -math.inf

    def extend_until(self, begin_until_seconds: float) -> None:
        """Permit writes that begin before this time of the monotonic clock."""
        self._begin_until_seconds = begin_until_seconds

    def close(self) -> None:
        """Permit no further write."""
        self._begin_until_seconds = -math.inf

    def compute_allowed_write_seconds(self) -> float:
        """Return how long a write that begins now may take, in seconds.

        Raises:
            FencedWriteError: it must not begin any more.
        """
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds >= self._begin_until_seconds:
            raise errors.FencedWriteError("no write without the lease of the leader")
        return self._begin_until_seconds + self.last_writes_seconds - now_seconds
