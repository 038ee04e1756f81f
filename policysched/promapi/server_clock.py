"""Estimates the offset between a server's clock and ours from its answers."""

from __future__ import annotations

import math

_TOO_OLD_SECONDS = 1.0
"""Accepted error below the lower bound, from a slow first answer; it makes samples look older."""
_ROUNDING_SECONDS = 0.001


class ServerClock:
    """Converts times of a server to our clock.

    An answer bounds the offset: it was evaluated after its query was sent, and before the answer
    arrived. The first estimate is kept while it is within these bounds. A new estimate for each
    answer would make one scrape in two answers look like two scrapes, a few milliseconds apart.

    Attributes:
        behind_seconds: offset from a time of the server to our clock, in whole milliseconds; NaN
            before the first answer.
    """

    def __init__(self) -> None:
        """Start without an estimate."""
        self.behind_seconds = math.nan

    def update_from_answer(
        self, evaluated_at_seconds: float, sent_at_seconds: float, duration_seconds: float
    ) -> None:
        """Update the estimate from an answer.

        `evaluated_at_seconds` is a time on the server's clock, `sent_at_seconds` on ours.
        """
        least = sent_at_seconds - evaluated_at_seconds
        most = least + duration_seconds + _ROUNDING_SECONDS
        if not least - _TOO_OLD_SECONDS <= self.behind_seconds <= most:
            self.behind_seconds = _floor_to_milliseconds(least)


def _floor_to_milliseconds(seconds: float) -> float:
    milliseconds = seconds * 1000
    return math.floor(milliseconds) / 1000 if math.isfinite(milliseconds) else seconds
