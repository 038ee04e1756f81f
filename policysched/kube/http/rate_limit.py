"""A limit of our own on requests: a bucket of tokens that fills steadily.

As client-go's flow control (`util/flowcontrol/throttle.go`), for API servers without priority and
fairness, or shared ones whose operator asks for it.
"""

from __future__ import annotations

from policysched import clock as clocks


class TokenBucket:
    """Tokens are given out in the order in which they are asked for."""

    def __init__(self, per_second: float, burst: int, clock: clocks.Clock) -> None:
        """Start full.

        Args:
            per_second: how many tokens come in each second.
            burst: how many are kept.
            clock: the time that fills it.
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
