"""When the extension points of one attempt began and ended: for metrics, records and traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from policysched.framework import status

Seconds: TypeAlias = Callable[[], float]
"""Reads a monotonic clock."""


def no_time() -> float:
    """Return 0: nobody measures."""
    return 0.0


class PointTime(NamedTuple):
    """One run of an extension point; times are seconds of the monotonic clock."""

    point: str
    code: status.Code
    started_seconds: float
    ended_seconds: float


class PointTimes:
    """A stopwatch that goes with a pod through its attempt.

    Attributes:
        laps: what was measured, in order: the fields of `PointTime`, which cost to be named.
    """

    __slots__ = ("_lap_seconds", "_seconds", "laps")

    def __init__(self, seconds: Seconds = no_time) -> None:
        """Begin now, by a monotonic clock."""
        self._seconds = seconds
        self._lap_seconds = seconds()
        self.laps: list[tuple[str, status.Code, float, float]] = []

    @property
    def taken(self) -> list[PointTime]:
        """What was measured, in order."""
        return [PointTime(*lap) for lap in self.laps]

    def begin(self) -> None:
        """Let the next point begin now instead of at the end of the one before."""
        self._lap_seconds = self._seconds()

    def end(self, point: str, code: status.Code = status.Code.SUCCESS) -> None:
        """Note that a point has ended, and how; the next one begins."""
        now_seconds = self._seconds()
        self.laps.append((point, code, self._lap_seconds, now_seconds))
        self._lap_seconds = now_seconds
