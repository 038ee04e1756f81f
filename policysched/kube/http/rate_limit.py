"""A client-side limit of requests: a token bucket.

It behaves like client-go's flow control (`util/flowcontrol/throttle.go`), for API servers without
priority and fairness, and for shared ones whose operator requires a limit.
"""

from __future__ import annotations

from policysched import clock as clocks


class TokenBucket:
    """Gives out tokens in the order of the requests for them."""

    def __init__(self, per_second: float, burst: int, clock: clocks.Clock) -> None:
        """Start with a full bucket.

        Args:
            per_second: how many tokens are added in a second.
            burst: capacity of the bucket.
            clock: measures the time since tokens were added.
        """
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at_seconds = clock.monotonic_seconds()

    def reserve_token(self) -> float:
        """Take a token; return after how many seconds it may be used."""
        now_seconds = self._clock.monotonic_seconds()
        came_in = (now_seconds - self._filled_at_seconds) * self._per_second
        self._filled_at_seconds = now_seconds
        self._tokens = min(self._burst, self._tokens + came_in) - 1.0
        return max(0.0, -self._tokens / self._per_second)
