"""Retries of failed writes with growing delays; repeated equal failures are logged once."""

from __future__ import annotations

import logging
import random

from policysched import backoff

_log = logging.getLogger(__name__)

_BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
"""Short enough to notice a granted permission or a recovered server soon."""


class WriteRetries:
    """The failures of one kind of write."""

    def __init__(self, what: str, rng: random.Random) -> None:
        """Use `what` as the name of the written object in logs."""
        self._what = what
        self._rng = rng
        self._failures = 0
        self._complaint = ""

    def record_failure(self, error: Exception) -> float:
        """Return the delay of the next attempt in seconds."""
        self._failures += 1
        if str(error) != self._complaint:
            self._complaint = str(error)
            _log.warning("%s cannot be written, retrying: %s", self._what, error)
        return _BACKOFF.compute_wait_seconds(self._failures, self._rng)

    def record_success(self) -> None:
        """Record a successful write."""
        if self._failures:
            _log.info("%s was written after retries", self._what)
        self._failures, self._complaint = 0, ""
