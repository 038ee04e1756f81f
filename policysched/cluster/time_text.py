"""Times as the API server writes them."""

from __future__ import annotations

import datetime


def seconds(text: str) -> float:
    """Return an RFC 3339 time in seconds since 1970; -inf for a text that is none."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return float("-inf")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
