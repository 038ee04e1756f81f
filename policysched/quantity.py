"""Parse Kubernetes quantities ("500m", "1Gi"), and write them as Kubernetes does.

Source: apimachinery `pkg/api/resource` (`ParseQuantity`, `Quantity.Value`, `Quantity.MilliValue`,
`Quantity.CanonicalizeBytes`). Numbers are exact in billionths; Value and MilliValue round up, away
from zero, and clamp to int64.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction

from policysched import int64

_SUFFIX_FACTORS: dict[str, Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?",
    re.ASCII,
)
_MAX_TEXT_LENGTH = 1024
_SHOWN_LENGTH = 64
_NANO = 10**9
_DECIMAL_SUFFIXES = {
    -9: "n",
    -6: "u",
    -3: "m",
    0: "",
    3: "k",
    6: "M",
    9: "G",
    12: "T",
    15: "P",
    18: "E",
}
_BINARY_STEP = 1024
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class QuantityError(ValueError):
    """A text that is not a Kubernetes quantity."""


@functools.lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Fraction:
    """Return the value of a quantity such as `500m`, `1.5Gi` or `2e3`.

    As in Kubernetes, it has whole billionths, and fits into an int64 if the suffix is binary.

    Raises:
        QuantityError: the text is not a quantity.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _MAX_TEXT_LENGTH else None
    if match is None:
        msg = f"`{text[:_SHOWN_LENGTH]}` is not a quantity such as `500m`, `2` or `1Gi`"
        raise QuantityError(msg)
    number = Fraction(match["number"])
    if match["exponent"] is not None:
        return _round_to_billionths(number * Fraction(10) ** int(match["exponent"]))
    suffix = match["suffix"] or ""
    number = _round_to_billionths(number * _SUFFIX_FACTORS[suffix])
    if suffix.endswith("i"):
        return max(Fraction(-int64.MAX), min(number, Fraction(int64.MAX)))
    return number


def _round_to_billionths(number: Fraction) -> Fraction:
    """Return the number, rounded away from zero."""
    if _NANO % number.denominator == 0:
        return number
    billionths = -(-abs(number.numerator) * _NANO // number.denominator)
    return Fraction(billionths if number > 0 else -billionths, _NANO)


def parse_whole_units(text: str | float) -> int:
    """Return the quantity in whole units (bytes, devices), rounded away from zero, as an int64."""
    return _parse_rounded(str(text), 1)


def parse_milli_units(text: str | float) -> int:
    """Return the quantity in thousandths (milli-CPU), rounded away from zero, as an int64."""
    return _parse_rounded(str(text), 1000)


@functools.lru_cache(maxsize=65536)
def _parse_rounded(text: str, factor: int) -> int:
    """Return the product of a quantity and `factor`, rounded away from zero, as an int64."""
    number = parse_quantity(text) * factor
    away_from_zero = -(-number.numerator // number.denominator)
    if number < 0:
        away_from_zero = number.numerator // number.denominator
    return max(int64.MIN, min(int64.MAX, away_from_zero))


@functools.lru_cache(maxsize=65536)
def normalize_quantity(text: str) -> str:
    """Return a quantity as Kubernetes writes it: `1Gi` for `1024Mi`, `1500m` for `1.5`.

    Raises:
        QuantityError: the text is not a quantity.
    """
    number = parse_quantity(text)
    if text.endswith("i"):
        return format_binary(number)
    return _format_decimal(number, has_exponent=text[-1].isdigit() and "e" in text.lower())


def format_binary(number: Fraction | int) -> str:
    """Return a quantity with a binary suffix; small and broken numbers get a decimal one."""
    if number.denominator != 1 or -_BINARY_STEP < number < _BINARY_STEP:
        return _format_decimal(number, has_exponent=False)
    whole, power = int(number), 0
    while whole % _BINARY_STEP == 0 and power < len(_BINARY_SUFFIXES) - 1:
        whole, power = whole // _BINARY_STEP, power + 1
    return f"{whole}{_BINARY_SUFFIXES[power]}"


def _format_decimal(number: Fraction | int, *, has_exponent: bool) -> str:
    """Return a whole number with the largest suffix, or exponent that three divides."""
    whole, exponent = int(number * _NANO), -9
    while whole and whole % 1000 == 0 and (has_exponent or exponent < max(_DECIMAL_SUFFIXES)):
        whole, exponent = whole // 1000, exponent + 3
    if not whole:
        return "0"
    if has_exponent:
        return f"{whole}e{exponent}"
    return f"{whole}{_DECIMAL_SUFFIXES[exponent]}"
