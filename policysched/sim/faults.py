"""Failures of a simulated cluster, planned or random."""

from __future__ import annotations

import dataclasses
import random


@dataclasses.dataclass(slots=True)
class BindFaults:
    """Faults of bindings; by default, all bindings succeed immediately.

    Attributes:
        fail_next: number of upcoming bindings that are rejected with an internal error.
        fail_share: probability 0..1 that any other binding is rejected.
        delay_seconds: duration of a binding.
        lose_answer_share: probability 0..1 that a binding is made but its answer is lost, so that
            the scheduler considers it failed.
    """

    fail_next: int = 0
    fail_share: float = 0.0
    delay_seconds: float = 0.0
    lose_answer_share: float = 0.0

    def refuses_next_binding(self, rng: random.Random) -> bool:
        """Return whether the current binding is rejected, and count it."""
        if self.fail_next > 0:
            self.fail_next -= 1
            return True
        return rng.random() < self.fail_share

    def loses_next_answer(self, rng: random.Random) -> bool:
        """Return whether the answer to the binding just made is lost."""
        return rng.random() < self.lose_answer_share


@dataclasses.dataclass(slots=True)
class EvictionFaults:
    """Faults of evictions; by default, all evictions succeed immediately.

    Attributes:
        fail_next: number of upcoming evictions that fail.
        fail_share: probability 0..1 that any other eviction fails.
        delay_seconds: duration of an eviction.
    """

    fail_next: int = 0
    fail_share: float = 0.0
    delay_seconds: float = 0.0

    def fails_next_eviction(self, rng: random.Random) -> bool:
        """Return whether the current eviction fails, and count it."""
        if self.fail_next > 0:
            self.fail_next -= 1
            return True
        return rng.random() < self.fail_share
