"""Durations and timestamps, in nanoseconds. Source: cel-go `common/types`."""

from __future__ import annotations

import dataclasses
import datetime
import re
import zoneinfo
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from policysched import int64
from policysched.cel.failures import EvaluationError
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, DURATION, INT, STRING, TIMESTAMP
from policysched.cel.values import register_type

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_DURATION = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)", re.ASCII)
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_OFFSET = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})")
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MIN_SECONDS, _MAX_SECONDS = -62135596800, 253402300799
"""The years 1 to 9999."""
_MAX_LENGTH: Final = 256
_MIN_INT32, _MAX_INT32 = -(2**31), 2**31 - 1


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time."""

    nanoseconds: int

    def __bool__(self) -> bool:
        """Return whether it is longer or shorter than nothing."""
        return self.nanoseconds != 0


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A point in time, since 1970 in UTC."""

    nanoseconds: int


register_type(Duration, DURATION.name, has_zero=True)
register_type(Timestamp, TIMESTAMP.name)


def check_duration(nanoseconds: int) -> Duration:
    """Return the duration, if its nanoseconds fit into 64 bits.

    Raises:
        EvaluationError: they do not.
    """
    if not int64.fits_int64(nanoseconds):
        raise EvaluationError("integer overflow")
    return Duration(nanoseconds)


def check_timestamp(nanoseconds: int) -> Timestamp:
    """Return the timestamp, if it is in the years 1 to 9999.

    Raises:
        EvaluationError: it is not.
    """
    if not _MIN_SECONDS <= nanoseconds // _SECOND <= _MAX_SECONDS:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds)


@define("duration", (STRING,), DURATION)
def parse_duration(text: str) -> Duration:
    """Return the duration of a text such as `1h30m`.

    Raises:
        EvaluationError: it is not valid.
    """
    match = _DURATION.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'")
    total = sum(
        int(Fraction(number.rstrip(".") or 0) * _UNITS[unit])
        for number, unit in _PART.findall(match[2])
    )
    return check_duration(-total if match[1] == "-" else total)


@define("timestamp", (STRING,), TIMESTAMP)
def parse_timestamp(text: str) -> Timestamp:
    """Return the timestamp of a text such as `2026-01-31T08:00:00Z`.

    Raises:
        EvaluationError: it is not valid.
    """
    failure = EvaluationError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    match = _TIMESTAMP.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise failure
    try:
        moment = datetime.datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00"))
    except ValueError:
        raise failure from None
    seconds = (moment - _EPOCH) // datetime.timedelta(seconds=1)
    return check_timestamp(seconds * _SECOND + int((match[2] or "0").ljust(9, "0")[:9]))


@define("@duration", (INT, INT), DURATION)
def make_duration_message(seconds: int, nanoseconds: int) -> Duration:
    """Return the duration of the fields of a message; one that is too long is shortened.

    Raises:
        EvaluationError: the nanoseconds do not fit into 32 bits.
    """
    _check_nanoseconds(nanoseconds)
    total = seconds * _SECOND
    if int64.fits_int64(total):
        total += nanoseconds
    return Duration(max(int64.MIN, min(total, int64.MAX)))


@define("@timestamp", (INT, INT), TIMESTAMP)
def make_timestamp_message(seconds: int, nanoseconds: int) -> Timestamp:
    """Return the timestamp of the fields of a message.

    Raises:
        EvaluationError: the nanoseconds do not fit into 32 bits, or it is in no year 1 to 9999.
    """
    _check_nanoseconds(nanoseconds)
    return check_timestamp(seconds * _SECOND + nanoseconds)


def _check_nanoseconds(nanoseconds: int) -> None:
    if not _MIN_INT32 <= nanoseconds <= _MAX_INT32:
        raise EvaluationError("field type conversion error: integer overflow")


@define("duration", (DURATION,), DURATION)
def keep_duration(value: Duration) -> Duration:
    """Return the duration."""
    return value


@define("duration", (INT,), DURATION)
def refuse_int(_number: int) -> Duration:
    """Fail, as cel-go does: the overload exists, but no conversion for it."""
    raise EvaluationError("type conversion error from 'int' to 'google.protobuf.Duration'")


@define("timestamp", (TIMESTAMP,), TIMESTAMP)
def keep_timestamp(value: Timestamp) -> Timestamp:
    """Return the timestamp."""
    return value


@define("timestamp", (INT,), TIMESTAMP)
def make_timestamp(seconds: int) -> Timestamp:
    """Return the timestamp of seconds since 1970."""
    return check_timestamp(seconds * _SECOND)


@define("int", (DURATION,), INT)
def get_nanoseconds(value: Duration) -> int:
    """Return the nanoseconds."""
    return value.nanoseconds


@define("int", (TIMESTAMP,), INT)
def get_seconds_since_epoch(value: Timestamp) -> int:
    """Return the seconds since 1970."""
    return value.nanoseconds // _SECOND


@define("string", (DURATION,), STRING)
def format_duration(value: Duration) -> str:
    """Return the duration in seconds."""
    sign = "-" if value.nanoseconds < 0 else ""
    seconds, rest = divmod(abs(value.nanoseconds), _SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{seconds}{fraction}s"


@define("string", (TIMESTAMP,), STRING)
def format_timestamp(value: Timestamp) -> str:
    """Return the timestamp as RFC 3339 writes it."""
    seconds, rest = divmod(value.nanoseconds, _SECOND)
    moment = _EPOCH + datetime.timedelta(seconds=seconds)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f"{fraction}Z"


@define("_+_", (DURATION, DURATION), DURATION, names_types=False)
def add_durations(left: Duration, right: Duration) -> Duration:
    """Return the sum."""
    return check_duration(left.nanoseconds + right.nanoseconds)


@define("_+_", (TIMESTAMP, DURATION), TIMESTAMP, names_types=False)
def add_duration(left: Timestamp, right: Duration) -> Timestamp:
    """Return the later timestamp."""
    return check_timestamp(left.nanoseconds + right.nanoseconds)


@define("_+_", (DURATION, TIMESTAMP), TIMESTAMP, names_types=False)
def add_timestamp(left: Duration, right: Timestamp) -> Timestamp:
    """Return the later timestamp."""
    return add_duration(right, left)


@define("_-_", (DURATION, DURATION), DURATION, names_types=False)
def subtract_durations(left: Duration, right: Duration) -> Duration:
    """Return the difference."""
    return check_duration(left.nanoseconds - right.nanoseconds)


@define("_-_", (TIMESTAMP, DURATION), TIMESTAMP, names_types=False)
def subtract_duration(left: Timestamp, right: Duration) -> Timestamp:
    """Return the earlier timestamp."""
    return check_timestamp(left.nanoseconds - right.nanoseconds)


@define("_-_", (TIMESTAMP, TIMESTAMP), DURATION, names_types=False)
def subtract_timestamps(left: Timestamp, right: Timestamp) -> Duration:
    """Return the time between two timestamps."""
    return check_duration(left.nanoseconds - right.nanoseconds)


for _type in (DURATION, TIMESTAMP):
    for _function, _compare in (
        ("_<_", lambda left, right: left < right),
        ("_<=_", lambda left, right: left <= right),
        ("_>_", lambda left, right: left > right),
        ("_>=_", lambda left, right: left >= right),
    ):
        define(_function, (_type, _type), BOOL, names_types=False)(_compare)


def _read_zone(text: str) -> datetime.tzinfo:
    match = _OFFSET.fullmatch(text)
    try:
        if match is None:
            return zoneinfo.ZoneInfo(text)
        offset = datetime.timedelta(hours=int(match[2]), minutes=int(match[3]))
        return datetime.timezone(-offset if match[1] == "-" else offset)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise EvaluationError(f"unknown time zone {text[:_MAX_LENGTH]}") from None


def _find_local(value: Timestamp, zone: datetime.tzinfo) -> datetime.datetime:
    microseconds = value.nanoseconds // 1000
    try:
        return (_EPOCH + datetime.timedelta(microseconds=microseconds)).astimezone(zone)
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None


_PARTS: Final[dict[str, Callable[[datetime.datetime], int]]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}


def _define_part(name: str, read: Callable[[datetime.datetime], int]) -> None:
    define_method(name, (TIMESTAMP,), INT)(lambda value: read(_find_local(value, datetime.UTC)))
    define_method(name, (TIMESTAMP, STRING), INT)(
        lambda value, zone: read(_find_local(value, _read_zone(zone)))
    )


for _name, _read in _PARTS.items():
    _define_part(_name, _read)


def _define_duration_part(name: str, nanoseconds: int, *, names_types: bool = True) -> None:
    define_method(name, (DURATION,), INT, names_types=names_types)(
        lambda value: int(Fraction(value.nanoseconds, nanoseconds))
    )


for _name, _nanoseconds in (
    ("getHours", _UNITS["h"]),
    ("getMinutes", _UNITS["m"]),
    ("getSeconds", _SECOND),
):
    _define_duration_part(_name, _nanoseconds)
_define_duration_part("getMilliseconds", _UNITS["ms"], names_types=False)
