"""Parse times in the format of the API server."""

from __future__ import annotations

import datetime


def parse_rfc3339(text: str) -> datetime.datetime | None:
    """Return an RFC 3339 time, or None if it is invalid; without an offset, it is in UTC."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def parse_rfc3339_seconds(text: str) -> float:
    """Return an RFC 3339 time in seconds since 1970; -inf if the text is invalid."""
    moment = parse_rfc3339(text)
    return float("-inf") if moment is None else moment.timestamp()


def format_rfc3339(moment: datetime.datetime) -> str:
    """Return a time as metav1.Time has it: RFC 3339 in UTC, in whole seconds."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_time_problem(text: str | None) -> str:
    """Describe the problem with an invalid time; return "" if it is valid or absent."""
    is_time = text is None or parse_rfc3339(text) is not None
    return "" if is_time else f"`{text}` is not a time such as `2026-01-31T12:00:00Z`"
