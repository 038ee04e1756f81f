"""When a source that answers no query is asked again: one decision for all of its metrics."""

from __future__ import annotations

import random

from policysched import backoff
from policysched import clock as clocks

BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
MAX_RETRY_AFTER_SECONDS = BACKOFF.max_seconds
"""A server, or a proxy, that asks for a longer pause is asked again nevertheless."""
FAILURES_TO_BE_DOWN = 3
"""Fewer in a row are a hiccup, of which nobody is told: about three seconds."""


def limit_pause_seconds(retry_after_seconds: float | None) -> float:
    """Return how long a server that asks for this pause is left alone."""
    return min(retry_after_seconds or 0.0, MAX_RETRY_AFTER_SECONDS)


class CircuitBreaker:
    """Counts failures in a row; each makes the next pause longer, a success ends it.

    Attributes:
        failures: in a row, 0 while all is well.
    """

    def __init__(self, clock: clocks.Clock, rng: random.Random) -> None:
        """Start closed: everything may be asked."""
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
        """Return how long nothing may be asked."""
        if not self.failures:
            return 0.0
        return max(0.0, self._open_until_seconds - self._clock.monotonic_seconds())

    def note_failure(self, started_at_seconds: float, retry_after_seconds: float | None) -> None:
        """Note that a query failed which began at this (monotonic) time.

        Of queries that were under way together one counts.
        """
        if self.failures and started_at_seconds < self._failed_at_seconds:
            return
        self.failures += 1
        wait = BACKOFF.compute_wait_seconds(self.failures, self._rng)
        wait = max(wait, limit_pause_seconds(retry_after_seconds))
        self._failed_at_seconds = self._clock.monotonic_seconds()
        self._open_until_seconds = self._failed_at_seconds + wait

    def note_success(self) -> None:
        """Note that the source answered."""
        self.failures = 0
