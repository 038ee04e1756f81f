"""Decodes the answers of a server to instant queries, and classifies errors.

https://prometheus.io/docs/prometheus/latest/querying/api/ defines the format. If a store
does not answer, Thanos and Mimir add to `warnings`, and VictoriaMetrics sets `isPartial`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from policysched.cluster.objects import wire
from policysched.promapi import failures
from policysched.promql import freshness

_Cause = failures.QueryIssue
_MAX_QUOTED_CHARACTERS = 300
_REDIRECTS = range(300, 400)
_UNAUTHORIZED = (401, 403)
_OVERLOADED = (429, 503)
_TIMED_OUT = ("timeout", "canceled")
_FIRST_SERVER_ERROR = 500
_SeriesT = TypeVar("_SeriesT")


@dataclasses.dataclass(frozen=True, slots=True)
class InstantVectorSample:
    """One series of an instant vector, with its value.

    Attributes:
        labels: all labels of the series.
        value: can be NaN or infinite; None for a native histogram or an invalid value.
        at_seconds: evaluation time from the answer, in seconds since 1970 on the server's clock.
    """

    labels: Mapping[str, str]
    value: float | None
    at_seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class InstantVector:
    """A decoded answer to an instant query, with measurement times separated from values.

    Attributes:
        series: the series of the metric's own query.
        measured: the series that `promql.freshness` has added: measurement times on the server's
            clock.
        evaluated_at_seconds: evaluation time on the server's clock; None for an empty vector.
        warnings: messages of level warning that the server attached to the answer.
        infos: messages of level info that the server attached to the answer.
        is_partial: whether the server reports that some stores did not answer.
    """

    series: tuple[InstantVectorSample, ...]
    measured: tuple[InstantVectorSample, ...]
    evaluated_at_seconds: float | None
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    is_partial: bool = False


class _ResponseData(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class ApiResponseBody(msgspec.Struct, rename="camel"):
    """The envelope of every answer; `result` stays encoded, because its type determines its format.

    Attributes:
        data: None unless `status` is `success`.
    """

    status: str
    data: _ResponseData | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None
    is_partial: bool = False


class _VectorElement(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None


_body_decoder = msgspec.json.Decoder(ApiResponseBody)
_series_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_vector_decoder = msgspec.json.Decoder(_VectorElement)

MAX_SERIES = 100_000
"""Two per node for 50,000 nodes, ten times as many nodes as Kubernetes supports."""


def decode_instant_vector(body: bytes, content_type: str) -> InstantVector:
    """Decode the body of an HTTP 200 answer to an instant query.

    Raises:
        QueryError: the body is not an answer of the API, or not an instant vector.
    """
    found, result = require_result(body, content_type, "vector")
    vectors = decode_series(result, _vector_decoder.decode, "instant vector")
    all_series = [InstantVectorSample(each.metric, *_parse_sample(each.value)) for each in vectors]
    times = [each.at_seconds for each in all_series]
    return InstantVector(
        series=tuple(each for each in all_series if not is_freshness_series(each.labels)),
        measured=tuple(each for each in all_series if is_freshness_series(each.labels)),
        evaluated_at_seconds=max(times, default=None),
        warnings=tuple(found.warnings or ()),
        infos=tuple(found.infos or ()),
        is_partial=found.is_partial,
    )


def require_result(
    body: bytes, content_type: str, result_type: str
) -> tuple[ApiResponseBody, msgspec.Raw]:
    """Return an answer whose result has this type, and the undecoded JSON of that result.

    Raises:
        QueryError: the body is not an answer of the API, is an error, or has another type.
    """
    found = _parse_response_body(body)
    if found is None:
        kind = content_type.partition(";")[0].strip()[:_MAX_QUOTED_CHARACTERS]
        said = f"the answer is `{kind}`" if kind and "json" not in kind else "the answer is cut off"
        problem = f"{said}, or is not an answer of Prometheus' API; check the address"
        raise failures.QueryError(_Cause.MALFORMED, problem)
    if found.status != "success":
        raise failures.QueryError(_classify_error_response(found), _get_error_text(found))
    if found.data is None:
        raise failures.QueryError(_Cause.MALFORMED, "the answer has no data")
    if found.data.result_type != result_type:
        kind = found.data.result_type[:_MAX_QUOTED_CHARACTERS]
        problem = (
            f"the query returns a {kind}, but a metric needs one value for each node (a "
            f"{result_type})"
        )
        raise failures.QueryError(_Cause.WRONG_TYPE, problem)
    return found, found.data.result


def decode_series(
    result: msgspec.Raw, read: Callable[[msgspec.Raw], _SeriesT], kind: str
) -> list[_SeriesT]:
    """Decode each series of a result with `read`.

    Series are decoded one by one, so that other threads can run between them, and each decoded
    series is freed before the garbage collector scans it.

    Raises:
        QueryError: there are too many series, or the result is not a `kind`.
    """
    try:
        each_series = _series_decoder.decode(result)
        if len(each_series) > MAX_SERIES:
            problem = f"the answer has {len(each_series):,} series, more than {MAX_SERIES:,}"
            raise failures.QueryError(_Cause.TOO_LARGE, problem)
        return [read(one) for one in each_series]
    except wire.UNREADABLE as error:
        problem = f"the answer is not a valid {kind}: {error}"
        raise failures.QueryError(_Cause.MALFORMED, problem) from error


def is_freshness_series(labels: Mapping[str, str]) -> bool:
    """Return whether the values of a series are measurement times of another series."""
    return labels.get(freshness.MARK) == freshness.MEASURED_AT


def make_http_status_error(
    status: int, headers: Mapping[str, str], body: bytes
) -> failures.QueryError:
    """Classify an HTTP status other than 200 as an error of the query or of the server."""
    wait = _parse_retry_after_seconds(headers.get("Retry-After", ""))
    found = _parse_response_body(body)
    said = _get_error_text(found) if found is not None else ""
    text = f"HTTP {status}" + (f": {said}" if said else "")
    if status in _REDIRECTS:
        cause = _Cause.MALFORMED
        text += ", a redirect, which is not followed; configure the final address"
    elif status in _UNAUTHORIZED:
        cause = _Cause.CREDENTIAL
        text += ", the credential is missing or refused"
    elif found is not None and found.error_type in _TIMED_OUT:
        cause = _Cause.TIMEOUT
    elif status in _OVERLOADED:
        cause = _Cause.OVERLOADED
    elif status >= _FIRST_SERVER_ERROR:
        cause = _Cause.SERVER_ERROR
    elif found is not None:
        cause = _Cause.REFUSED
    else:
        cause = _Cause.MALFORMED
        text += ", not from Prometheus' API; check address, path prefix and method"
    return failures.QueryError(cause, text, retry_after_seconds=wait)


def _parse_response_body(body: bytes) -> ApiResponseBody | None:
    try:
        return _body_decoder.decode(body)
    except wire.UNREADABLE:
        return None


def _classify_error_response(body: ApiResponseBody) -> failures.QueryIssue:
    if body.status != "error":
        return _Cause.MALFORMED
    if body.error_type in _TIMED_OUT:
        return _Cause.TIMEOUT
    return _Cause.SERVER_ERROR if body.error_type == "internal" else _Cause.REFUSED


def _get_error_text(body: ApiResponseBody) -> str:
    text = ": ".join(part for part in (body.error_type, body.error) if part)
    return text[:_MAX_QUOTED_CHARACTERS] or f"status `{body.status[:_MAX_QUOTED_CHARACTERS]}`"


def parse_sample_value(text: str) -> float | None:
    """Parse a sample value as the API writes numbers; return None if it is invalid."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _parse_sample(pair: tuple[float, str] | None) -> tuple[float | None, float]:
    """Return the value and the time in seconds; a sample with an infinite time has no value."""
    if pair is None:
        return None, -math.inf
    at_seconds, text = pair
    value = parse_sample_value(text)
    return (value, at_seconds) if math.isfinite(at_seconds) else (None, -math.inf)


def _parse_retry_after_seconds(text: str) -> float | None:
    """Return the seconds of Retry-After; None for a date, which these servers never send."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
