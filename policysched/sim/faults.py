"""Define planned and random failures of a simulated cluster."""

from __future__ import annotations

import dataclasses
import random


@dataclasses.dataclass(slots=True)
class BindFaults:
    """Faults of bindings; by default, every binding succeeds immediately.

    Attributes:
        fail_next: number of upcoming bindings that the server rejects.
        fail_share: probability (0 to 1) that any other binding is rejected.
        delay_seconds: delay of each binding.
        lose_answer_share: probability (0 to 1) that a binding succeeds but its answer is lost, so
            that the scheduler considers it failed.
    """

    fail_next: int = 0
    fail_share: float = 0.0
    delay_seconds: float = 0.0
    lose_answer_share: float = 0.0

    def refuses_next_binding(self, rng: random.Random) -> bool:
        """Return whether to reject the current binding; count down `fail_next`."""
        if self.fail_next > 0:
            self.fail_next -= 1
            return True
        return rng.random() < self.fail_share

    def loses_binding_answer(self, rng: random.Random) -> bool:
        """Return whether to lose the answer to the binding that was just made."""
        return rng.random() < self.lose_answer_share


@dataclasses.dataclass(slots=True)
class EvictionFaults:
    """Faults of evictions; by default, every eviction succeeds immediately.

    Attributes:
        fail_next: number of upcoming evictions that fail.
        fail_share: probability (0 to 1) that any other eviction fails.
        delay_seconds: delay of each eviction.
    """

    fail_next: int = 0
    fail_share: float = 0.0
    delay_seconds: float = 0.0

    def fails_next_eviction(self, rng: random.Random) -> bool:
        """Return whether the current eviction must fail; count down `fail_next`."""
        if self.fail_next > 0:
            self.fail_next -= 1
            return True
        return rng.random() < self.fail_share
