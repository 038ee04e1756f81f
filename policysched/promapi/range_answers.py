"""What a server answers to a range query: one answer for each moment, as instant queries give it.

So everything that is said of instant answers holds for the older ones as well.
"""

from __future__ import annotations

import collections
import dataclasses
import math

import msgspec

from policysched.promapi import answers, failures

MAX_POINTS = 11_000
"""Prometheus refuses to answer for more (web/api/v1/api.go, queryRange)."""
_SPARE_POINTS = 2
"""VictoriaMetrics moves both ends of a range to multiples of its step."""
_ROUNDING_SECONDS = 0.001


@dataclasses.dataclass(frozen=True, slots=True)
class Steps:
    """The moments of a range query, in seconds since 1970 on the server's clock."""

    first_seconds: float
    last_seconds: float
    step_seconds: float

    @property
    def params(self) -> dict[str, str]:
        """As the API takes them."""
        return {
            "start": f"{self.first_seconds:.3f}",
            "end": f"{self.last_seconds:.3f}",
            "step": f"{self.step_seconds:.3f}",
        }

    @property
    def count(self) -> int:
        """How many there are."""
        return 1 + round((self.last_seconds - self.first_seconds) / self.step_seconds)


def steps_until(last_seconds: float, length_seconds: float, step_seconds: float) -> Steps:
    """Return the moments of the last `length_seconds`; the newest, where there are too many."""
    intervals = min(math.ceil(length_seconds / step_seconds), MAX_POINTS - 1)
    return Steps(last_seconds - intervals * step_seconds, last_seconds, step_seconds)


class _Points(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    histograms: list[tuple[float, msgspec.Raw]] = []


_matrix_decoder = msgspec.json.Decoder(list[_Points])


def decode(body: bytes, content_type: str, steps: Steps) -> tuple[answers.Answer, ...]:
    """Return the answers in the body of HTTP 200, oldest first; moments without series have none.

    What lies after the moments that were asked for is left out: nothing is measured in the future.

    Raises:
        QueryError: it is none, or no matrix of these moments.
    """
    found, result = answers.require_result(body, content_type, "matrix")
    try:
        matrix = _matrix_decoder.decode(result)
    except (msgspec.DecodeError, RecursionError) as error:
        problem = f"the answer is no matrix: {error}"
        raise failures.QueryError(failures.Cause.MALFORMED, problem) from error
    by_time = _by_time(matrix, steps.last_seconds + _ROUNDING_SECONDS)
    if len(by_time) > steps.count + _SPARE_POINTS:
        problem = f"the answer has {len(by_time)} moments, and {steps.count} were asked for"
        raise failures.QueryError(failures.Cause.MALFORMED, problem)
    return tuple(answers.assemble(found, by_time[time], time) for time in sorted(by_time))


def _by_time(matrix: list[_Points], last_seconds: float) -> dict[float, list[answers.Series]]:
    """Return moment → series that have a value then, None for a native histogram or nonsense."""
    found: dict[float, list[answers.Series]] = collections.defaultdict(list)
    for each in matrix:
        values = [(time, answers.number(text)) for time, text in each.values]
        for time, value in (*values, *((time, None) for time, _ in each.histograms)):
            if -math.inf < time <= last_seconds:
                found[time].append(answers.Series(each.metric, value, time))
    return found
