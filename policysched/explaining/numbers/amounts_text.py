"""Amounts written out so that reading them back gives the same amount."""

from __future__ import annotations

import math

from policysched import amounts, units

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DIGITS = 9


def exact(value: float, unit: units.Unit) -> str:
    """Return a value in the scale of a query (a ratio 0..1, whole cores) with its unit."""
    if unit.is_dimensionless:
        return f"{_short(100 * value)}%" if unit.is_ratio else _short(value)
    if unit == units.BYTES:
        place = _place(value)
        return _short(value / 1024**place) + _BINARY[place]
    if unit == units.SECONDS:
        return f"{_short(value)}s"
    named = amounts.text(1.0, unit)  # such as `1/s`, `1 number/s`
    return f"{_short(value)} {units.CORES}" if unit == units.CORES else _short(value) + named[1:]


def canonical(value: float, unit: units.Unit) -> str:
    """Return a value in the scale of checked policies: the same but for cores, as thousandths."""
    return f"{_short(value)}m" if unit == units.CORES else exact(value, unit)


def scale(value: float, unit: units.Unit) -> float:
    """Return what the number that is written stands for, once."""
    if unit.is_dimensionless:
        return 0.01 if unit.is_ratio else 1.0
    return float(1024 ** _place(value)) if unit == units.BYTES else 1.0


def step(value: float, unit: units.Unit) -> float:
    """Return the unit of the third digit of a value as it is written."""
    written = abs(value) / scale(value, unit)
    place = math.floor(math.log10(written)) if written else 0
    return float(10.0 ** (place - 2)) * scale(value, unit)


def _place(value: float) -> int:
    place = 0
    while abs(value) >= 1024 and place < len(_BINARY) - 1:  # noqa: PLR2004 - binary prefixes
        value /= 1024
        place += 1
    return place


def _short(value: float) -> str:
    return f"{value:.{_DIGITS}g}"
