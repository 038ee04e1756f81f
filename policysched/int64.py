"""64-bit integers, as Kubernetes uses them in fields and selectors."""

from __future__ import annotations

import re

MAX = 2**63 - 1
MIN = -(2**63)
_TEXT = re.compile(r"[+-]?0*[0-9]{1,19}")
"""At most 19 significant digits: longer numbers exceed 64 bits, and `int` rejects very long
numbers."""


def fits_int64(number: int) -> bool:
    """Return whether a signed 64-bit integer can hold the number."""
    return MIN <= number <= MAX


def wrap(number: int) -> int:
    """Return the number as a signed 64-bit integer holds it after an overflow, as in Go."""
    return (number - MIN) % 2**64 + MIN


def parse_int64(text: str) -> int | None:
    """Parse a text like Go's `strconv.ParseInt(s, 10, 64)`; return None if Go refuses it."""
    if _TEXT.fullmatch(text) is None:
        return None
    number = int(text.lstrip("+-0") or "0")
    signed = -number if text.startswith("-") else number
    return signed if fits_int64(signed) else None


def parse_unsigned_digits(text: str) -> int | None:
    """Parse ASCII digits without a sign as an int64; return None for any other text."""
    return parse_int64(text) if text.isdigit() else None
