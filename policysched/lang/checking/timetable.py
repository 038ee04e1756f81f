"""Parse the texts of `during` and `expires`.

during "Mon-Fri 08:00-20:00 Europe/Berlin"
during "Mon,Wed 22:00-06:00, Sat 10:00-24:00"      without a zone: UTC
expires "2026-12-31"                                through the end of that day, UTC
expires "2026-12-31T18:00:00+01:00"
"""

from __future__ import annotations

import datetime
import re
import zoneinfo

from policysched.lang.checked import activation

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_NAMES = "|".join(_DAYS)
_DAY_RANGE = rf"(?:{_DAY_NAMES})(?:-(?:{_DAY_NAMES}))?"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00"
_WINDOW = re.compile(
    rf"(?:(?P<days>{_DAY_RANGE}(?:,{_DAY_RANGE})*) )?(?P<start>{_TIME})-(?P<end>{_TIME})"
)
_WRITTEN_DAY = re.compile(rf"(?i)(?<![/\w])({_DAY_NAMES})(?:[a-z]*day)?(?![/\w])")
_ZONE = re.compile(r" (?P<zone>[A-Za-z][A-Za-z0-9_+/-]*)\Z")
_NO_ZONES = frozenset({"localtime", "posixrules", "Factory"})
_OTHER_FORMS = ("posix/", "right/")
DURING_FORM = 'a text like "Mon-Fri 08:00-20:00 Europe/Berlin"'
EXPIRES_FORM = 'a date like "2026-12-31" or a time like "2026-12-31T18:00:00Z"'
UTC = "UTC"
_SECONDS_PER_DAY = 24 * 60 * 60


def parse_during(text: str) -> tuple[tuple[activation.TimeWindow, ...], str] | str:
    """Return the windows and the time zone, or a message if the text is invalid."""
    zone_match = _ZONE.search(text)
    zone = zone_match.group("zone") if zone_match else UTC
    body = text[: zone_match.start()] if zone_match else text
    problem = _find_zone_problem(zone)
    if problem:
        return problem
    windows = []
    for part in body.split(", "):
        match = _WINDOW.fullmatch(part)
        if match is None:
            return f"`{part}` is not a time window"
        window = _make_time_window(match)
        if window.start_minute == activation.MINUTES_PER_DAY:
            return f"`{part}` starts at the end of the day"
        windows.append(window)
    return tuple(windows), zone


def _find_zone_problem(name: str) -> str:
    """Return why `name` is not a time zone, or "" if it is one."""
    if name == UTC:
        return ""
    # The files of the database include names for the zone of the machine and folders with other
    # forms of the zones. Replicas on different machines would decide differently with them.
    if name in _NO_ZONES or name.startswith(_OTHER_FORMS):
        return f"`{name}` does not name the same time zone on every machine"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"there is no time zone `{name}`"
    return ""


def suggest_during(text: str) -> str:
    """Return the text with days as `Mon` for `mon` or `Monday`; "" if it is invalid even so."""
    written = _WRITTEN_DAY.sub(lambda match: match[1].title(), text)
    return "" if isinstance(parse_during(written), str) else written


def _make_time_window(match: re.Match[str]) -> activation.TimeWindow:
    """Build a window from a match; without days, it applies to every day."""
    days: set[int] = set()
    for each in (match.group("days") or "Mon-Sun").split(","):
        first, _, last = each.partition("-")
        start, end = _DAYS.index(first), _DAYS.index(last or first)
        days |= {day % 7 for day in range(start, end + 1 if end >= start else end + 8)}
    return activation.TimeWindow(
        frozenset(days),
        _parse_minute_of_day(match.group("start")),
        _parse_minute_of_day(match.group("end")) or 24 * 60,
    )


def _parse_minute_of_day(text: str) -> int:
    return int(text[:2]) * 60 + int(text[3:])


def suggest_expires_date(text: str) -> str:
    """Convert a date in another notation to the notation of `expires`; return "" if unknown."""
    match = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})|(\d{4})[/.](\d{1,2})[/.](\d{1,2})", text)
    if match is None:
        return ""
    groups = match.groups()
    year, month, day = groups[2::-1] if groups[0] else groups[3:]
    date = f"{year}-{month:>02}-{day:>02}"
    return date if parse_expires(date) is not None else ""


def parse_expires(text: str) -> float | None:
    """Parse a date, or a time with a zone, to seconds since the epoch; None for other texts."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            day = datetime.date.fromisoformat(text)
            start = datetime.datetime.combine(day, datetime.time(), datetime.UTC)
            return start.timestamp() + _SECONDS_PER_DAY
        time = datetime.datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    return None if time.tzinfo is None else time.timestamp()
