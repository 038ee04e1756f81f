"""Durations in options, as policies write them."""

from __future__ import annotations

import argparse

_MAX_SECONDS = 10 * 366 * 86_400
"""Times before the year 1 cannot be written."""


def parse_duration(text: str) -> float:
    """Return a positive duration in seconds.

    Raises:
        ArgumentTypeError: the text is not a duration.
    """
    from policysched import units  # noqa: PLC0415 - most runs have no duration
    from policysched.lang.words import numerals  # noqa: PLC0415 - as above

    literal = numerals.parse_numeral(text)
    seconds = None if literal is None else literal.convert_to_unit(units.SECONDS)
    if seconds is None or seconds <= 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a duration such as 10m")
    if seconds > _MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"`{text}` is longer than ten years")
    return float(seconds)
