"""How long to wait before trying again."""

from __future__ import annotations

import dataclasses
import random

_GROWTH = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from failure to failure, spread so that many clients do not meet again.

    The n-th wait is drawn evenly from (c/2, c], c = min(first_seconds * 2**(n-1), max_seconds).
    """

    first_seconds: float
    max_seconds: float

    def compute_wait_seconds(self, failures: int, rng: random.Random) -> float:
        """Return the wait after this many failures in a row (1 or more)."""
        doublings = min(failures - 1, 62)  # beyond any cap, and still a float
        ceiling = min(self.first_seconds * _GROWTH**doublings, self.max_seconds)
        return ceiling * (1.0 - rng.random() / 2)
