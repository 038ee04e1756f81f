"""Formats amounts so that parsing the text yields the same amount, up to nine digits."""

from __future__ import annotations

import math

from policysched import amounts, units

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DIGITS = 9
_MINUTE_SECONDS = 60.0


def format_exact_amount(value: float, unit: units.Unit) -> str:
    """Format a value of a query (a ratio in 0..1, whole cores) with its unit."""
    if unit.is_dimensionless:
        return (
            f"{_format_significant_digits(100 * value)}%"
            if unit.is_ratio
            else _format_significant_digits(value)
        )
    if unit == units.BYTES:
        place = _get_binary_prefix_index(value)
        return _format_significant_digits(value / 1024**place) + _BINARY[place]
    if unit == units.SECONDS:
        if value >= _MINUTE_SECONDS and float(value).is_integer():
            return amounts.format_duration(value)
        return f"{_format_significant_digits(value)}s"
    named = amounts.format_amount(1.0, unit)  # such as `1/s`, `1 number/s`
    return (
        f"{_format_significant_digits(value)} {units.CORES}"
        if unit == units.CORES
        else _format_significant_digits(value) + named[1:]
    )


def format_canonical_value(value: float, unit: units.Unit) -> str:
    """Format a value in canonical units; unlike in queries, CPU is in milli-CPU."""
    return (
        f"{_format_significant_digits(value)}m"
        if unit == units.CORES
        else format_exact_amount(value, unit)
    )


def get_written_unit_scale(value: float, unit: units.Unit) -> float:
    """Return the value of 1 in the written unit, such as 1024 for `Ki`."""
    if unit.is_dimensionless:
        return 0.01 if unit.is_ratio else 1.0
    return float(1024 ** _get_binary_prefix_index(value)) if unit == units.BYTES else 1.0


def get_third_digit_step(value: float, unit: units.Unit) -> float:
    """Return the value of one unit in the third written digit of a value."""
    written = abs(value) / get_written_unit_scale(value, unit)
    place = math.floor(math.log10(written)) if written else 0
    return float(10.0 ** (place - 2)) * get_written_unit_scale(value, unit)


def _get_binary_prefix_index(value: float) -> int:
    place = 0
    while abs(value) >= 1024 and place < len(_BINARY) - 1:  # noqa: PLR2004 - binary prefixes
        value /= 1024
        place += 1
    return place


def _format_significant_digits(value: float) -> str:
    return f"{value:.{_DIGITS}g}"
