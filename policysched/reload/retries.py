"""Delay retries of failed requests with backoff, and log repeated identical failures only once."""

from __future__ import annotations

import logging
import random

from policysched import backoff

_log = logging.getLogger(__name__)

_BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
"""Short delays, so that a granted permission or a recovered server is noticed soon."""


class RequestRetries:
    """The successive failures of one kind of request."""

    def __init__(self, what: str, rng: random.Random, done: str = "written") -> None:
        """Log that the object `what` cannot be `done`, a participle."""
        self._what = what
        self._done = done
        self._rng = rng
        self._failures = 0
        self._complaint = ""

    def record_failure(self, error: Exception) -> float:
        """Record a failure; return the seconds until the next attempt."""
        self._failures += 1
        if str(error) != self._complaint:
            self._complaint = str(error)
            _log.warning("%s cannot be %s, retrying: %s", self._what, self._done, error)
        return _BACKOFF.compute_wait_seconds(self._failures, self._rng)

    def record_success(self) -> None:
        """Record a success, which resets the delay."""
        if self._failures:
            _log.info("%s was %s after retries", self._what, self._done)
        self._failures, self._complaint = 0, ""
