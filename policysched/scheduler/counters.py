"""Counters of the scheduling loop as plain numbers, which the exposition reads."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter


class AttemptResult(enum.StrEnum):
    """The result of an attempt: the `result` label of `scheduler_schedule_attempts_total`."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


@dataclasses.dataclass(slots=True)
class SchedulingCounters:
    """Totals since the start of the process.

    Attributes:
        attempts: by (profile, result).
        undone: assumed pods that were given up before or during their binding, by profile.
        victims: pods that were evicted, or sent back to the queue before binding, by the profile of
            the preemptor.
        failed_evictions: victims that could not be evicted.
        gone: pods that were deleted, or bound by another scheduler, before their attempt failed.
    """

    attempts: Counter[tuple[str, AttemptResult]] = dataclasses.field(default_factory=Counter)
    undone: Counter[str] = dataclasses.field(default_factory=Counter)
    victims: Counter[str] = dataclasses.field(default_factory=Counter)
    failed_evictions: int = 0
    gone: int = 0
