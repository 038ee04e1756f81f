"""Writes that fail are made again, ever less often; a failure that goes on is told once."""

from __future__ import annotations

import logging
import random

from policysched import backoff

_log = logging.getLogger(__name__)

_BACKOFF = backoff.Backoff(first_seconds=1.0, max_seconds=30.0)
"""So that a right that is granted later, or a server that comes back, is found soon."""


class WriteRetries:
    """The failures of one kind of writes."""

    def __init__(self, what: str, rng: random.Random) -> None:
        """Name `what` is written, as logs call it."""
        self._what = what
        self._rng = rng
        self._failures = 0
        self._complaint = ""

    def record_failure(self, error: Exception) -> float:
        """Return when to try again, in seconds."""
        self._failures += 1
        if str(error) != self._complaint:
            self._complaint = str(error)
            _log.warning("%s cannot be written, trying on: %s", self._what, error)
        return _BACKOFF.compute_wait_seconds(self._failures, self._rng)

    def record_success(self) -> None:
        """Note that a write has arrived."""
        if self._failures:
            _log.info("%s could be written in the end", self._what)
        self._failures, self._complaint = 0, ""
