"""The circuit breaker of a source: it decides for all metrics of the source when to retry."""

from __future__ import annotations

import random

from policysched import backoff
from policysched import clock as clocks

BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
MAX_RETRY_AFTER_SECONDS = BACKOFF.max_seconds
"""Upper limit of the pauses that a server or proxy requests."""
FAILURES_TO_BE_DOWN = 3
"""Fewer consecutive failures, within about three seconds, are not reported as an outage."""


def limit_pause_seconds(retry_after_seconds: float | None) -> float:
    """Return the pause after an answer with this Retry-After."""
    return min(retry_after_seconds or 0.0, MAX_RETRY_AFTER_SECONDS)


class CircuitBreaker:
    """Counts consecutive failures; each failure makes the next pause longer, a success ends it.

    Attributes:
        failures: number of consecutive failures; 0 after a success.
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

    def get_wait_seconds(self) -> float:
        """Return the remaining seconds during which no query may be sent."""
        if not self.failures:
            return 0.0
        return max(0.0, self._open_until_seconds - self._clock.monotonic_seconds())

    def note_failure(self, started_at_seconds: float, retry_after_seconds: float | None) -> None:
        """Record the failure of a query that began at this time (monotonic clock).

        Failures of queries that were in flight at the same time count once.
        """
        if self.failures and started_at_seconds < self._failed_at_seconds:
            return
        self.failures += 1
        wait = BACKOFF.compute_wait_seconds(self.failures, self._rng)
        wait = max(wait, limit_pause_seconds(retry_after_seconds))
        self._failed_at_seconds = self._clock.monotonic_seconds()
        self._open_until_seconds = self._failed_at_seconds + wait

    def note_success(self) -> None:
        """Record a success."""
        self.failures = 0
