"""Kubernetes quantities as exact fractions, read by a parser of the tests' own."""

from __future__ import annotations

import fractions
import re

_SUFFIXES = {
    "n": fractions.Fraction(1, 10**9),
    "u": fractions.Fraction(1, 10**6),
    "m": fractions.Fraction(1, 1000),
    "": fractions.Fraction(1),
    **{letter: fractions.Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": fractions.Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d+\.?\d*|\.\d+))"
    r"((?P<suffix>[KMGTPE]i|[numkMGTPE]?)|[eE](?P<exponent>[+-]?\d+))"
)


def parse(text: str | int) -> fractions.Fraction:
    """Return the value in the base unit: cores, bytes or pieces.

    Raises:
        ValueError: the text is not a quantity.
    """
    found = _QUANTITY.fullmatch(str(text))
    if found is None:
        raise ValueError(f"`{text}` is not a quantity")
    number = fractions.Fraction(found["number"])
    if found["exponent"] is not None:
        return number * fractions.Fraction(10) ** int(found["exponent"])
    return number * _SUFFIXES[found["suffix"]]
