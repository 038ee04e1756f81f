"""Measure the calls to extenders."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from policysched import clock as clocks
from policysched import histogram

_BOUNDS = histogram.make_exponential_buckets(0.001, 2, 14)
_T = TypeVar("_T")

SUCCESS = "success"
ERROR = "error"


class CallMeasurements:
    """Measures the duration and the result of calls, including the check of their answers.

    Attributes:
        durations: in seconds, by extender, verb and result.
    """

    def __init__(self, clock: clocks.Clock) -> None:
        """Start with nothing measured."""
        self.durations = histogram.LabelledHistograms(("extender", "verb", "result"), _BOUNDS)
        self._clock = clock

    async def measure(self, name: str, verb: str, call: Awaitable[_T]) -> _T:
        """Await a call to the extender `name`; an exception makes its result an error."""
        began_seconds = self._clock.monotonic_seconds()
        result = ERROR
        try:
            answer = await call
            result = SUCCESS
        finally:
            seconds = self._clock.monotonic_seconds() - began_seconds
            self.durations.observe(seconds, name, verb, result)
        return answer
