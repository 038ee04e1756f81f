"""Limit requests on the client side with a token bucket.

It behaves like client-go's flow control (`util/flowcontrol/throttle.go`). It is for API servers
without priority and fairness, and for shared servers whose operator requires a limit.
"""

from __future__ import annotations

from policysched import clock as clocks


class TokenBucket:
    """Issues tokens at a limited rate, in the order of reservations."""

    def __init__(self, per_second: float, burst: int, clock: clocks.Clock) -> None:
        """Start with a full bucket.

        Args:
            per_second: number of tokens added per second.
            burst: capacity of the bucket, in tokens.
            clock: its monotonic time determines how many tokens to add.
        """
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at_seconds = clock.monotonic_seconds()

    def reserve_token(self) -> float:
        """Reserve a token; return the seconds to wait before it can be used."""
        now_seconds = self._clock.monotonic_seconds()
        came_in = (now_seconds - self._filled_at_seconds) * self._per_second
        self._filled_at_seconds = now_seconds
        self._tokens = min(self._burst, self._tokens + came_in) - 1.0
        return max(0.0, -self._tokens / self._per_second)
