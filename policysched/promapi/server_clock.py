"""How a server's clock stands to ours, as well as its answers tell."""

from __future__ import annotations

import math

_TOO_OLD_SECONDS = 1.0
"""How much older than need be samples may be made by a first answer that was slow."""
_ROUNDING_SECONDS = 0.001


class ServerClock:
    """Turns times of a server into ours.

    An answer bounds the difference: it was evaluated after it was asked for, and before it came.
    The difference that was found first stays while it is within these bounds: were it found anew
    with each answer, one scrape that is seen twice would seem two, some milliseconds apart.

    Attributes:
        behind_seconds: what to add to a time of the server, whole milliseconds.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.behind_seconds = math.nan

    def update_from_answer(
        self, evaluated_at_seconds: float, sent_at_seconds: float, duration_seconds: float
    ) -> None:
        """Take in when a query was evaluated, by the server, and when it was asked, by us."""
        least = sent_at_seconds - evaluated_at_seconds
        most = least + duration_seconds + _ROUNDING_SECONDS
        if not least - _TOO_OLD_SECONDS <= self.behind_seconds <= most:
            self.behind_seconds = _floor_to_milliseconds(least)


def _floor_to_milliseconds(seconds: float) -> float:
    milliseconds = seconds * 1000
    return math.floor(milliseconds) / 1000 if math.isfinite(milliseconds) else seconds
