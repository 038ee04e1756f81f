"""Exponential backoff with jitter, for clients that retry after failures."""

from __future__ import annotations

import dataclasses
import random

_GROWTH = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Backoff:
    """Computes waits that double with each failure; jitter keeps clients from retrying together.

    The n-th wait is uniformly distributed in (c/2, c], where c = min(first_seconds * 2**(n-1),
    max_seconds).
    """

    first_seconds: float
    max_seconds: float

    def compute_wait_seconds(self, failures: int, rng: random.Random) -> float:
        """Return the wait after this number of consecutive failures (1 or more)."""
        doublings = min(failures - 1, 62)  # exceeds every cap, and 2**62 still fits a float
        ceiling = min(self.first_seconds * _GROWTH**doublings, self.max_seconds)
        return ceiling * (1.0 - rng.random() / 2)
