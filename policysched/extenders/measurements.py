"""Measure the calls to extenders."""

from __future__ import annotations

from policysched import clock as clocks
from policysched import histogram
from policysched.extenders import calls

_BOUNDS = histogram.make_exponential_buckets(0.001, 2, 14)

SUCCESS = "success"
ERROR = "error"


class MeasuredCaller:
    """Measures the duration and the result of each call to one extender."""

    def __init__(
        self,
        name: str,
        caller: calls.ExtenderCaller,
        measured: histogram.LabelledHistograms,
        clock: clocks.Clock,
    ) -> None:
        """Observe calls of `caller` in `measured`, with `name` as the extender."""
        self._name = name
        self._caller = caller
        self._measured = measured
        self._clock = clock

    async def post(self, verb: str, body: bytes) -> bytes:
        """Send a request; see `calls.ExtenderCaller`.

        Raises:
            ExtenderError: the call failed.
        """
        began_seconds = self._clock.monotonic_seconds()
        result = ERROR
        try:
            answer = await self._caller.post(verb, body)
            result = SUCCESS
        finally:
            seconds = self._clock.monotonic_seconds() - began_seconds
            self._measured.observe(seconds, self._name, verb, result)
        return answer


def make_call_histograms() -> histogram.LabelledHistograms:
    """Return histograms of the duration of calls, in seconds."""
    return histogram.LabelledHistograms(("extender", "verb", "result"), _BOUNDS)
