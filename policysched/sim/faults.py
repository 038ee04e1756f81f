"""What goes wrong in a simulated cluster, by plan or by chance."""

from __future__ import annotations

import dataclasses
import random


@dataclasses.dataclass(slots=True)
class BindFaults:
    """How the API server treats bindings; the defaults let all of them succeed at once.

    Attributes:
        fail_next: so many of the next bindings are refused with an internal error.
        fail_share: chance 0..1 that any other binding is refused.
        delay_seconds: how long a binding takes.
        lose_answer_share: chance 0..1 that a binding is made but its answer is lost, so that the
            scheduler takes it for failed.
    """

    fail_next: int = 0
    fail_share: float = 0.0
    delay_seconds: float = 0.0
    lose_answer_share: float = 0.0

    def refuses_next_binding(self, rng: random.Random) -> bool:
        """Return whether the binding that arrives now is refused, and count it."""
        if self.fail_next > 0:
            self.fail_next -= 1
            return True
        return rng.random() < self.fail_share

    def loses_next_answer(self, rng: random.Random) -> bool:
        """Return whether the answer to the binding that was just made is lost."""
        return rng.random() < self.lose_answer_share


@dataclasses.dataclass(slots=True)
class EvictionFaults:
    """How the API server treats evictions; the defaults let all of them succeed at once.

    Attributes:
        fail_next: so many of the next evictions fail.
        fail_share: chance 0..1 that any other eviction fails.
        delay_seconds: how long an eviction takes.
    """

    fail_next: int = 0
    fail_share: float = 0.0
    delay_seconds: float = 0.0

    def fails_next_eviction(self, rng: random.Random) -> bool:
        """Return whether the eviction that arrives now fails, and count it."""
        if self.fail_next > 0:
            self.fail_next -= 1
            return True
        return rng.random() < self.fail_share
