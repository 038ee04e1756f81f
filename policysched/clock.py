"""Clocks that callers pass in, so that tests and simulations can control the time of day."""

from __future__ import annotations

import datetime
import time
from typing import Protocol

CORRECTION_SECONDS = 1.0
"""Smaller changes to the wall clock are routine corrections; larger ones are jumps."""


_YEARS = range(1970, 9999)
"""The years within which calculations with days and time zones stay valid datetimes."""

_END_SECONDS = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC).timestamp()


def parse_time(text: str) -> datetime.datetime | None:
    """Return an ISO time, in UTC if it has no offset; None if invalid or not in `_YEARS`."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.year not in _YEARS:
        return None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def find_utc_time(seconds: float) -> datetime.datetime | None:
    """Return the time of seconds since 1970; None, for never, if a datetime cannot represent it."""
    if seconds >= _END_SECONDS:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


class Clock(Protocol):
    """The source of time for all components."""

    def monotonic_seconds(self) -> float:
        """Return seconds on a clock that never goes back; only differences are meaningful."""
        ...

    def now(self) -> datetime.datetime:
        """Return the wall-clock time, in UTC and with a time zone."""
        ...


class SystemClock:
    """The clocks of the operating system."""

    monotonic_seconds = staticmethod(time.monotonic)  # called a dozen times per pod

    def now(self) -> datetime.datetime:
        """Return the wall-clock time in UTC."""
        return datetime.datetime.now(datetime.UTC)  # noqa: TID251 - the only permitted call


class ClockJumpDetector:
    """Detects jumps of the wall clock by comparing it with the monotonic clock.

    A sleep of the machine looks like a jump forward, because the monotonic clock stops during
    sleep. A jump back always means that the wall clock was set.
    """

    def __init__(self, clock: Clock) -> None:
        """Record the current difference between the wall clock and the monotonic clock."""
        self._clock = clock
        self._ahead_seconds = self._compute_wall_clock_offset_seconds()

    def measure_jump_seconds(self, now_seconds: float | None = None) -> float:
        """Return how far the wall clock jumped since the last call; 0.0 for a routine correction.

        `now_seconds` is the wall-clock time in seconds since 1970, if the caller already has it.
        """
        if now_seconds is None:
            ahead_seconds = self._compute_wall_clock_offset_seconds()
        else:
            ahead_seconds = now_seconds - self._clock.monotonic_seconds()
        jump_seconds = ahead_seconds - self._ahead_seconds
        if abs(jump_seconds) < CORRECTION_SECONDS:
            return 0.0
        self._ahead_seconds = ahead_seconds
        return jump_seconds

    def _compute_wall_clock_offset_seconds(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic_seconds()


class ManualClock:
    """A clock that moves only when a caller advances it: for tests, simulation and `--now`."""

    def __init__(self, now: datetime.datetime) -> None:
        """Start at `now`, which must have a time zone."""
        if now.tzinfo is None:
            msg = "ManualClock needs a time with a time zone"
            raise ValueError(msg)
        self._now = now
        self._monotonic_seconds = 0.0

    def monotonic_seconds(self) -> float:
        """Return the sum of all seconds passed to `advance`."""
        return self._monotonic_seconds

    def now(self) -> datetime.datetime:
        """Return the current manual time."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move both clocks forward by `seconds` (not negative)."""
        if seconds < 0:
            msg = "a ManualClock does not go back"
            raise ValueError(msg)
        self._monotonic_seconds += seconds
        self._now += datetime.timedelta(seconds=seconds)

    def jump_wall_clock(self, seconds: float) -> None:
        """Set the wall clock forward, or back if `seconds` is negative."""
        self._now += datetime.timedelta(seconds=seconds)
