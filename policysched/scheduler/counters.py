"""What the loop did so far, as plain numbers; the exposition reads them."""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter


class AttemptResult(enum.StrEnum):
    """How an attempt ended: the `result` of `scheduler_schedule_attempts_total`."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


@dataclasses.dataclass(slots=True)
class SchedulingCounters:
    """Totals since the start.

    Attributes:
        attempts: by (profile, result).
        undone: assumed pods that were given up before or at their binding, by profile.
        victims: pods that were evicted, or turned away on their way, by the preemptor's profile.
        failed_evictions: victims that could not be evicted.
        gone: pods that were deleted, or bound by others, by the time their attempt failed.
    """

    attempts: Counter[tuple[str, AttemptResult]] = dataclasses.field(default_factory=Counter)
    undone: Counter[str] = dataclasses.field(default_factory=Counter)
    victims: Counter[str] = dataclasses.field(default_factory=Counter)
    failed_evictions: int = 0
    gone: int = 0
