"""Bound the work and the memory of one evaluation.

Authors of claims are not trusted: a short expression can build a list that doubles forty times.
One unit is about one step of the evaluator, one element of a list, or eight characters. The API
server accepts only expressions with an estimate below 1,000,000 of its own units, which are
coarser, so an expression from a cluster does not reach this limit.
"""

from __future__ import annotations

from policysched.cel.failures import AbortedError
from policysched.cel.values import Map, Value

MAX_UNITS = 2_000_000
_CHARACTERS_PER_UNIT = 8


class Meter:
    """The remaining units of one evaluation."""

    __slots__ = ("_left",)

    def __init__(self, units: int = MAX_UNITS) -> None:
        self._left = units

    def charge(self, units: int) -> None:
        """Subtract units.

        Raises:
            AbortedError: there are not enough.
        """
        self._left -= units
        if self._left < 0:
            raise AbortedError("operation cancelled: actual cost limit exceeded")

    def charge_text(self, characters: int) -> None:
        """Subtract the cost of reading or making a text of this length."""
        self.charge(1 + characters // _CHARACTERS_PER_UNIT)

    def charge_value(self, value: Value) -> None:
        """Subtract the cost of reading or making a value."""
        if type(value) in {str, bytes}:
            self.charge_text(len(value))
        elif type(value) in {list, Map}:
            self.charge(1 + len(value))
