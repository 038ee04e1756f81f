"""Count attempts and failures of the scheduling loop; the metrics read these numbers."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter


class AttemptResult(enum.StrEnum):
    """The result of an attempt; the label `result` of `scheduler_schedule_attempts_total`."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


@dataclasses.dataclass(slots=True)
class SchedulingCounters:
    """Totals since the start of the process.

    Attributes:
        attempts: number of attempts, keyed by (profile, result).
        undone: number of assumptions that were undone before or during binding, keyed by profile.
        victims: number of pods that were evicted, or returned to the queue before binding, keyed by
            the profile of the preemptor.
        failed_evictions: number of evictions that failed.
        gone: number of pods that were deleted, or bound by another scheduler, before their attempt
            failed.
    """

    attempts: Counter[tuple[str, AttemptResult]] = dataclasses.field(default_factory=Counter)
    undone: Counter[str] = dataclasses.field(default_factory=Counter)
    victims: Counter[str] = dataclasses.field(default_factory=Counter)
    failed_evictions: int = 0
    gone: int = 0
