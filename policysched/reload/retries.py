"""Delay retries of failed writes with backoff, and log repeated identical failures only once."""

from __future__ import annotations

import logging
import random

from policysched import backoff

_log = logging.getLogger(__name__)

_BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
"""Short delays, so that a granted permission or a recovered server is noticed soon."""


class WriteRetries:
    """The successive failures of one kind of write."""

    def __init__(self, what: str, rng: random.Random) -> None:
        """Name the written object `what` in logs."""
        self._what = what
        self._rng = rng
        self._failures = 0
        self._complaint = ""

    def record_failure(self, error: Exception) -> float:
        """Record a failure; return the seconds until the next attempt."""
        self._failures += 1
        if str(error) != self._complaint:
            self._complaint = str(error)
            _log.warning("%s cannot be written, retrying: %s", self._what, error)
        return _BACKOFF.compute_wait_seconds(self._failures, self._rng)

    def record_success(self) -> None:
        """Record a successful write, which resets the delay."""
        if self._failures:
            _log.info("%s was written after retries", self._what)
        self._failures, self._complaint = 0, ""
