"""Estimates the offset between a server's clock and the local clock from the server's answers."""

from __future__ import annotations

import math

_TOO_OLD_SECONDS = 1.0
"""Seconds by which a kept estimate can be below the lower bound; samples then look older."""
_ROUNDING_SECONDS = 0.001


class ServerClock:
    """Estimates the offset that converts times of a server to the local clock.

    Each answer bounds the offset: the query was evaluated after it was sent and before its answer
    arrived. The first estimate is kept while it is within these bounds. With a new estimate for
    each answer, one scrape in two answers would look like two scrapes a few milliseconds apart.

    Attributes:
        behind_seconds: number to add to a time of the server to get the local time, in whole
            milliseconds; NaN before the first answer.
    """

    def __init__(self) -> None:
        """Start without an estimate."""
        self.behind_seconds = math.nan

    def update_from_answer(
        self, evaluated_at_seconds: float, sent_at_seconds: float, duration_seconds: float
    ) -> None:
        """Update the estimate from an answer.

        `evaluated_at_seconds` is on the server's clock, `sent_at_seconds` on the local clock.
        """
        least = sent_at_seconds - evaluated_at_seconds
        most = least + duration_seconds + _ROUNDING_SECONDS
        if not least - _TOO_OLD_SECONDS <= self.behind_seconds <= most:
            self.behind_seconds = _floor_to_milliseconds(least)


def _floor_to_milliseconds(seconds: float) -> float:
    milliseconds = seconds * 1000
    return math.floor(milliseconds) / 1000 if math.isfinite(milliseconds) else seconds
