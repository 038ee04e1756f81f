"""The circuit breaker of a source: it schedules retries for all metrics of the source."""

from __future__ import annotations

import random

from policysched import backoff
from policysched import clock as clocks

BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
MAX_RETRY_AFTER_SECONDS = BACKOFF.max_seconds
"""Longest pause in seconds that is accepted from a server or proxy."""
FAILURES_TO_BE_DOWN = 3
"""Fewer consecutive failures, within about three seconds, are not reported as an outage."""


def limit_pause_seconds(retry_after_seconds: float | None) -> float:
    """Return the pause in seconds for a Retry-After value, limited to `MAX_RETRY_AFTER_SECONDS`."""
    return min(retry_after_seconds or 0.0, MAX_RETRY_AFTER_SECONDS)


class CircuitBreaker:
    """Lengthens the pause before the next query with each consecutive failure of a source.

    Attributes:
        failures: number of consecutive failures; a success resets it to 0.
    """

    def __init__(self, clock: clocks.Clock, rng: random.Random) -> None:
        """Start closed: all queries are allowed."""
        self.failures = 0
        self._clock = clock
        self._rng = rng
        self._failed_at_seconds = -1.0
        self._open_until_seconds = 0.0

    @property
    def is_down(self) -> bool:
        """Whether the source counts as down."""
        return self.failures >= FAILURES_TO_BE_DOWN

    def get_remaining_pause_seconds(self) -> float:
        """Return the remaining seconds of the pause; 0.0 if queries are allowed."""
        if not self.failures:
            return 0.0
        return max(0.0, self._open_until_seconds - self._clock.monotonic_seconds())

    def record_failure(self, started_at_seconds: float, retry_after_seconds: float | None) -> None:
        """Record the failure of a query that started at this time of the monotonic clock.

        Failures of queries that were in flight at the same time count as one failure.
        """
        if self.failures and started_at_seconds < self._failed_at_seconds:
            return
        self.failures += 1
        wait = BACKOFF.compute_wait_seconds(self.failures, self._rng)
        wait = max(wait, limit_pause_seconds(retry_after_seconds))
        self._failed_at_seconds = self._clock.monotonic_seconds()
        self._open_until_seconds = self._failed_at_seconds + wait

    def record_success(self) -> None:
        """End the pause by resetting the number of failures."""
        self.failures = 0
