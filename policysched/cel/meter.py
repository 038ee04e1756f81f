"""Bound the work and the memory of one evaluation.

Authors of claims are not trusted: a short expression can build a list that doubles forty times.
One unit is about one step of the evaluator, one element of a list, or eight characters. The API
server accepts only expressions with an estimate below 1,000,000 of its own units, which are
coarser, so an expression from a cluster does not reach this limit. An evaluation up to the limit
takes some tenths of a second; the caller can look at the time meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from policysched.cel.failures import AbortedError
from policysched.cel.values import Map, Value

MAX_UNITS = 2_000_000
UNITS_PER_CHECK = 50_000
"""Some milliseconds of work between two calls of `CheckTime`."""
_CHARACTERS_PER_UNIT = 8

CheckTime: TypeAlias = Callable[[], None]
"""Raises an error of the caller if the time is over, and so ends an evaluation."""


def check_nothing() -> None:
    """Permit any time."""


class Meter:
    """The remaining units of one evaluation."""

    __slots__ = ("_check_time", "_left", "_left_later")

    def __init__(self, units: int = MAX_UNITS, check_time: CheckTime = check_nothing) -> None:
        self._check_time = check_time
        self._left = min(units, UNITS_PER_CHECK)
        self._left_later = units - self._left

    def charge(self, units: int) -> None:
        """Subtract units; check the time after every `UNITS_PER_CHECK`.

        Raises:
            AbortedError: there are not enough.
        """
        self._left -= units
        if self._left < 0:
            self._continue()

    def _continue(self) -> None:
        left = self._left + self._left_later
        if left < 0:
            raise AbortedError("operation cancelled: actual cost limit exceeded")
        self._check_time()
        self._left = min(left, UNITS_PER_CHECK)
        self._left_later = left - self._left

    def charge_text(self, characters: int) -> None:
        """Subtract the cost of reading or making a text of this length."""
        self.charge(1 + characters // _CHARACTERS_PER_UNIT)

    def charge_value(self, value: Value) -> None:
        """Subtract the cost of reading or making a value."""
        if type(value) in {str, bytes}:
            self.charge_text(len(value))
        elif type(value) in {list, Map}:
            self.charge(1 + len(value))
