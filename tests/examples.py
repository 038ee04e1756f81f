"""How many examples a property test draws: most in `make fuzz`, fewest in `make quick`."""

from __future__ import annotations

from typing import Final

import hypothesis

_USUAL: Final = 100
"""What Hypothesis draws unless it is told otherwise; a profile's number is a percentage of it."""


def scale(count: int) -> int:
    """Return how many examples the profile makes of `count`, at least one."""
    return max(1, count * hypothesis.settings().max_examples // _USUAL)
