"""Format numbers with their units for messages: `83%`, `1.5Gi`, `90M/s`."""

from __future__ import annotations

import math
from collections.abc import Callable

from policysched import units

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_TIME_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_MANY = 100.0
"""Values of at least this are formatted without decimals."""


def format_amount(value: float, unit: units.Unit) -> str:
    """Return a value in the scale of a query (a ratio 0..1, whole cores) as text.

    The text has three significant digits, or all integer digits if there are more.
    """
    if unit.is_dimensionless:
        return (
            f"{_format_three_digits(100 * value)}%"
            if unit.is_ratio
            else _format_three_digits(value)
        )
    if unit == units.BYTES:
        return _format_with_scale_suffix(value, _BINARY, 1024)
    if unit == units.BYTES_PER_SECOND:
        return _format_with_scale_suffix(value, _DECIMAL, 1000) + "/s"
    if unit == units.SECONDS:
        return f"{_format_three_digits(value)}s"
    if unit == units.PER_SECOND:
        return f"{_format_three_digits(value)}/s"
    digits = _format_three_digits(value)
    return "1 core" if (digits, unit) == ("1", units.CORES) else f"{digits} {unit}"


def format_policy_amount(value: float, unit: units.Unit) -> str:
    """Return a value in the notation of policies: six significant digits, cores as a plain number.

    This applies to bytes, cores, numbers and ratios. Other units are formatted by `format_amount`.
    """
    if unit == units.BYTES:
        return _format_with_scale_suffix(value, _BINARY, 1024, _format_six_digits)
    if unit == units.CORES or (unit.is_dimensionless and not unit.is_ratio):
        return _format_six_digits(value)
    return f"{_format_six_digits(100 * value)}%" if unit.is_ratio else format_amount(value, unit)


def format_duration(seconds: float) -> str:
    """Return a duration in the notation of policies: `1h30m`, `10m5s`, `0.5s`."""
    whole = math.floor(seconds)
    rest = seconds - whole
    parts = []
    for size, letter in _TIME_UNITS:
        count, whole = divmod(whole, size)
        if count or (size == 1 and rest):
            parts.append(f"{count + rest:g}{letter}" if size == 1 and rest else f"{count}{letter}")
    return "".join(parts) or "0s"


def format_age(seconds: float) -> str:
    """Return an age in its two largest units: `21s`, `4m10s`, `3h`, `2d`."""
    whole = max(0, round(seconds))
    parts = []
    for size, letter in _TIME_UNITS:
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts[:2]) or "0s"


def _format_three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _MANY else f"{value:.3g}"


def _format_six_digits(value: float) -> str:
    return f"{value:.6g}"


def _format_with_scale_suffix(
    value: float,
    suffixes: tuple[str, ...],
    step: int,
    digits: Callable[[float], str] = _format_three_digits,
) -> str:
    """Divide the value by `step` while a larger suffix exists, and append that suffix."""
    place = 0
    while abs(value) >= step and place < len(suffixes) - 1:
        value /= step
        place += 1
    return digits(value) + suffixes[place]


def format_quantity(resource: str, amount: int) -> str:
    """Return milli-CPU, bytes or a count as a Kubernetes quantity, without rounding."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if units.find_resource_unit(resource) != units.BYTES:
        return str(amount)
    place = 0
    while amount and amount % 1024 == 0 and place < len(_BINARY) - 1:
        amount //= 1024
        place += 1
    return f"{amount}{_BINARY[place]}"
