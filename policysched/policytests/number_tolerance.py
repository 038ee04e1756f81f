"""Numbers with a tolerance: `7150`, `7150 ± 50`, `40% +- 1%`."""

from __future__ import annotations

import dataclasses
import re

from policysched import units
from policysched.lang.words import numerals

_SIGN = re.compile(r"\s*(?:±|\+-|\+/-)\s*")
_ROUNDING = 0.005
"""Half a unit in the last digit of points, which are rounded to hundredths."""


@dataclasses.dataclass(frozen=True, slots=True)
class ExpectedNumber:
    """An expected number with a tolerance; a tolerance of 0 allows for rounding only.

    The allowed rounding error is 0.005, multiplied by the absolute value for values from -1 to 1
    other than 0.
    """

    value: float
    tolerance: float = 0.0

    def accepts_number(self, actual: float) -> bool:
        """Return whether `actual` is within the tolerance."""
        scale = min(1.0, abs(self.value)) if self.value else 1.0
        allowance = self.tolerance or _ROUNDING * scale
        return abs(actual - self.value) <= allowance + 1e-9 * max(1.0, abs(self.value))


def parse_expected_number(
    written: float | str, unit: units.Unit | None = None
) -> ExpectedNumber | None:
    """Return the expected number, or None if the text is not a number; `unit` permits suffixes."""
    if not isinstance(written, str):
        return ExpectedNumber(float(written))
    parts = [_parse_number(part, unit) for part in _SIGN.split(written.strip())]
    match parts:
        case [float(value)]:
            return ExpectedNumber(value)
        case [float(value), float(tolerance)] if tolerance >= 0:
            return ExpectedNumber(value, tolerance)
        case _:
            return None


def rewrite_expected_number(written: float | str, actual: float) -> str | float:
    """Return `actual` in the format of `written`, with the same tolerance."""
    sign = _SIGN.search(written) if isinstance(written, str) else None
    if sign is None:
        return shorten_number(actual)
    return f"{shorten_number(actual)}{sign[0]}{str(written)[sign.end() :].strip()}"


def shorten_number(value: float) -> int | float:
    """Return a number rounded to hundredths; below 1, to four significant digits."""
    rounded = round(value, 2) if abs(value) >= 1 else float(f"{value:.4g}")
    return int(rounded) if rounded == int(rounded) else rounded


def _parse_number(text: str, unit: units.Unit | None) -> float | None:
    """Return a number, converted to `unit` if it has a suffix; None if it is not valid."""
    negative = text.startswith("-")
    literal = numerals.parse_numeral(text.removeprefix("-"))
    if literal is None:
        return None
    if literal.plain is not None:
        value: float | None = float(literal.plain)
    else:
        value = literal.convert_to_unit(unit) if unit is not None else None
    return value if value is None or not negative else -value
