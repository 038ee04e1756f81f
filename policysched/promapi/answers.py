"""What a server answers to an instant query, or why that is no answer.

https://prometheus.io/docs/prometheus/latest/querying/api/ has the form. Thanos and Mimir tell of
stores that they could not ask by `warnings`, VictoriaMetrics by `isPartial`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import msgspec

from policysched.promapi import failures, freshness

_Cause = failures.Cause
_MAX_QUOTED_CHARACTERS = 300
_REDIRECTS = range(300, 400)
_UNAUTHORIZED = (401, 403)
_OVERLOADED = (429, 503)
_TIMED_OUT = ("timeout", "canceled")
_FIRST_SERVER_ERROR = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """One series of the query.

    Attributes:
        labels: all of them.
        value: may be NaN or infinite; None for a native histogram or nonsense.
        at_seconds: the time that the answer gives it: when the query was evaluated.
    """

    labels: Mapping[str, str]
    value: float | None
    at_seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """An instant vector.

    Attributes:
        series: those of the query itself.
        measured: those of its freshness: when samples were measured, on the server's clock.
        evaluated_at_seconds: when, on the server's clock; None for an empty vector.
        warnings: what the server warns of.
        infos: what it remarks.
        is_partial: it says itself that it could not ask everywhere.
    """

    series: tuple[Series, ...]
    measured: tuple[Series, ...]
    evaluated_at_seconds: float | None
    warnings: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    is_partial: bool = False


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class Body(msgspec.Struct, rename="camel"):
    """What every answer is wrapped in; `result` is still text, since its form depends on its type.

    Attributes:
        data: None unless `status` is `success`.
    """

    status: str
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None
    is_partial: bool = False


class _Vector(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None


_body_decoder = msgspec.json.Decoder(Body)
_vector_decoder = msgspec.json.Decoder(list[_Vector])


def decode(body: bytes, content_type: str) -> Answer:
    """Return the answer in the body of HTTP 200.

    Raises:
        QueryError: it is none, or no instant vector.
    """
    found, result = require_result(body, content_type, "vector")
    try:
        vectors = _vector_decoder.decode(result)
    except (msgspec.DecodeError, RecursionError) as error:
        problem = f"the answer is no instant vector: {error}"
        raise failures.QueryError(_Cause.MALFORMED, problem) from error
    all_series = [Series(each.metric, *_sample(each.value)) for each in vectors]
    times = [each.at_seconds for each in all_series]
    return assemble(found, all_series, max(times, default=None))


def require_result(body: bytes, content_type: str, result_type: str) -> tuple[Body, msgspec.Raw]:
    """Return an answer whose result is of this type, and the text of that result.

    Raises:
        QueryError: it is none.
    """
    found = _parse(body)
    if found is None:
        kind = content_type.partition(";")[0].strip()[:_MAX_QUOTED_CHARACTERS]
        said = f"the answer is `{kind}`" if kind and "json" not in kind else "the answer is cut off"
        problem = f"{said} or not of Prometheus' API; is the address right?"
        raise failures.QueryError(_Cause.MALFORMED, problem)
    if found.status != "success":
        raise failures.QueryError(_cause(found), _said(found))
    if found.data is None:
        raise failures.QueryError(_Cause.MALFORMED, "the answer has no data")
    if found.data.result_type != result_type:
        kind = found.data.result_type[:_MAX_QUOTED_CHARACTERS]
        problem = f"the query gives a {kind}, and a metric needs one value a node (a {result_type})"
        raise failures.QueryError(_Cause.WRONG_TYPE, problem)
    return found, found.data.result


def assemble(
    body: Body, all_series: Sequence[Series], evaluated_at_seconds: float | None
) -> Answer:
    """Return the answer for one moment, with what the server remarks."""
    return Answer(
        series=tuple(each for each in all_series if not _is_freshness(each)),
        measured=tuple(filter(_is_freshness, all_series)),
        evaluated_at_seconds=evaluated_at_seconds,
        warnings=tuple(body.warnings or ()),
        infos=tuple(body.infos or ()),
        is_partial=body.is_partial,
    )


def _is_freshness(series: Series) -> bool:
    return series.labels.get(freshness.MARK) == freshness.MEASURED_AT


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> failures.QueryError:
    """Return what an HTTP status other than 200 means."""
    wait = _retry_after_seconds(headers.get("Retry-After", ""))
    found = _parse(body)
    said = _said(found) if found is not None else ""
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
        text += ", not of Prometheus' API; are address, path prefix and method right?"
    return failures.QueryError(cause, text, retry_after_seconds=wait)


def _parse(body: bytes) -> Body | None:
    try:
        return _body_decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def _cause(body: Body) -> failures.Cause:
    if body.status != "error":
        return _Cause.MALFORMED
    if body.error_type in _TIMED_OUT:
        return _Cause.TIMEOUT
    return _Cause.SERVER_ERROR if body.error_type == "internal" else _Cause.REFUSED


def _said(body: Body) -> str:
    text = ": ".join(part for part in (body.error_type, body.error) if part)
    return text[:_MAX_QUOTED_CHARACTERS] or f"status `{body.status[:_MAX_QUOTED_CHARACTERS]}`"


def number(text: str) -> float | None:
    """Return the value of a sample; None for nonsense."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _sample(pair: tuple[float, str] | None) -> tuple[float | None, float]:
    """Return value and time; infinite times are none."""
    if pair is None:
        return None, -math.inf
    at_seconds, text = pair
    value = number(text)
    return (value, at_seconds) if math.isfinite(at_seconds) else (None, -math.inf)


def _retry_after_seconds(text: str) -> float | None:
    """Return the seconds of a Retry-After header; dates are not used by any such server."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
