"""Until when this process may write to the cluster: as long as nobody else can hold the lease.

A leader is not asked whether it still leads: its right to write ends by itself, by the local
monotonic clock, unless a renewal of the lease has moved the end.

    renewed                          +renewDeadline            +leaseDuration
    ├─ writes begin ─────────────────┤                         │
    │                                ├─ writes still end ──┤   ├─ another one may be elected

Times count from before the renewal was sent, so they are early, never late. What is asked too late
is refused before it is sent; what is sent in time carries a limit that ends in time, for us, for
the kernel that sends it again and again, and for the server that works on it.
"""

from __future__ import annotations

import math

from policysched import clock as clocks
from policysched.kube import errors


class WriteFence:
    """Closed at first; who has got or renewed the lease extends it.

    Attributes:
        last_writes_seconds: how long the last write may take.
    """

    def __init__(self, clock: clocks.Clock, last_writes_seconds: float) -> None:
        """Go by the monotonic time of `clock`."""
        self.last_writes_seconds = last_writes_seconds
        self._clock = clock
        self._begin_until_seconds = -math.inf

    def extend_until(self, begin_until_seconds: float) -> None:
        """Let writes begin before this time of the monotonic clock."""
        self._begin_until_seconds = begin_until_seconds

    def close(self) -> None:
        """Let no further write begin."""
        self._begin_until_seconds = -math.inf

    def compute_allowed_write_seconds(self) -> float:
        """Return how long a write that begins now may take.

        Raises:
            FencedError: it must not begin any more.
        """
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds >= self._begin_until_seconds:
            raise errors.FencedWriteError("nothing is written without the lease of the leader")
        return self._begin_until_seconds + self.last_writes_seconds - now_seconds
