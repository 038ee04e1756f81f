"""Decodes an answer to a range query as one instant answer for each timestamp.

All rules for instant answers therefore also apply to older samples.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import msgspec
import numpy as np

from policysched.promapi import answers, failures, sample_matrix

MAX_POINTS = 11_000
"""Maximum number of times in one range query in Prometheus (web/api/v1/api.go, queryRange)."""
MAX_VALUES = 5_000_000
"""Limit for timestamps × series: 500 × 5,000 nodes, each with a series of measurement times."""
_SPARE_POINTS = 2
"""VictoriaMetrics moves both ends of a range to multiples of its step."""
_ROUNDING_SECONDS = 0.001


@dataclasses.dataclass(frozen=True, slots=True)
class RangeQueryTimes:
    """The times of a range query, in seconds since 1970 on the server's clock."""

    first_seconds: float
    last_seconds: float
    step_seconds: float

    @property
    def request_params(self) -> dict[str, str]:
        """The parameters `start`, `end` and `step` of the API."""
        return {
            "start": f"{self.first_seconds:.3f}",
            "end": f"{self.last_seconds:.3f}",
            "step": f"{self.step_seconds:.3f}",
        }

    @property
    def count(self) -> int:
        """Number of times from start to end, inclusive."""
        return 1 + round((self.last_seconds - self.first_seconds) / self.step_seconds)


def make_range_query_times(
    last_seconds: float, length_seconds: float, step_seconds: float
) -> RangeQueryTimes:
    """Return the times that cover the last `length_seconds`, rounded up to whole steps.

    If there are more times than the server accepts, only the newest ones are returned.
    """
    intervals = min(math.ceil(length_seconds / step_seconds), MAX_POINTS - 1)
    return RangeQueryTimes(last_seconds - intervals * step_seconds, last_seconds, step_seconds)


class _MatrixElement(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    histograms: list[tuple[float, msgspec.Raw]] = []


_points_decoder = msgspec.json.Decoder(_MatrixElement)


def decode_range_answer(
    body: bytes, content_type: str, steps: RangeQueryTimes
) -> sample_matrix.SampleMatrix:
    """Decode the body of an HTTP 200 answer to a range query; omit times without series.

    Samples after the requested times are dropped, because no sample is measured in the future.

    Raises:
        QueryError: the body is not an answer of the API, not a matrix of these times, or too large.
    """
    found, result = answers.require_result(body, content_type, "matrix")
    last_seconds = steps.last_seconds + _ROUNDING_SECONDS
    matrix = answers.decode_series(
        result, lambda raw: _decode_range_series(raw, last_seconds), "matrix"
    )
    at_seconds = np.unique(np.concatenate([np.zeros(0), *(each.times for each in matrix)]))
    depth, size = len(at_seconds), len(matrix)
    if depth > steps.count + _SPARE_POINTS:
        problem = f"the answer has {depth} timestamps, but {steps.count} were requested"
        raise failures.QueryError(failures.QueryIssue.MALFORMED, problem)
    if depth * size > MAX_VALUES:
        problem = f"the answer has {depth:,} timestamps for {size:,} series"
        raise failures.QueryError(failures.QueryIssue.TOO_LARGE, problem)
    is_there, is_number = np.zeros((2, depth, size), np.bool_)
    values = np.full((depth, size), np.nan)
    for place, each in enumerate(matrix):
        rows = np.searchsorted(at_seconds, each.times)
        is_there[rows, place] = True
        is_number[rows, place] = each.is_number
        values[rows, place] = each.values
    return sample_matrix.SampleMatrix(
        tuple(each.labels for each in matrix),
        tuple(answers.is_freshness_series(each.labels) for each in matrix),
        at_seconds,
        is_there,
        is_number,
        values,
        tuple(found.warnings or ()),
        tuple(found.infos or ()),
        found.is_partial,
    )


class _RangeSeries(NamedTuple):
    """One series at the k times at which it exists, as columns of a `SampleMatrix`."""

    labels: dict[str, str]
    times: sample_matrix.Floats
    values: sample_matrix.Floats
    is_number: sample_matrix.Bools


def _decode_range_series(raw: msgspec.Raw, last_seconds: float) -> _RangeSeries:
    points = _points_decoder.decode(raw)
    pairs = [(time, answers.parse_sample_value(text)) for time, text in points.values]
    pairs += [(time, None) for time, _ in points.histograms]
    times = np.array([time for time, _ in pairs], np.float64)
    is_number = np.array([value is not None for _, value in pairs], np.bool_)
    values = np.array([np.nan if value is None else value for _, value in pairs], np.float64)
    is_past = np.isfinite(times) & (times <= last_seconds)
    return _RangeSeries(points.metric, times[is_past], values[is_past], is_number[is_past])
