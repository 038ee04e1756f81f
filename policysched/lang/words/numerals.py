"""Parse number literals such as `0.7`, `80%`, `500m`, `4Gi`, `1h30m`, and convert their units.

A literal alone has no unit: `5m` is five minutes or five thousandths.
`NumberLiteral.convert_to_unit` converts a literal to the unit that the context requires.
`NumberLiteral.get_unambiguous_value` uses the only unit that the literal can have. Arithmetic is
exact (fractions) up to the final float64.
"""

from __future__ import annotations

import dataclasses
import fractions
import re

from policysched import units

_NUMERAL = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(%|[A-Za-z][A-Za-z0-9.]*)?\Z")
_EXPONENT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?[eE][0-9]{1,2}\Z")
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[smhdwy])")
_DURATION = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhdwy]))+\Z")

_SECONDS: dict[str, fractions.Fraction] = {
    "ms": fractions.Fraction(1, 1000),
    "s": fractions.Fraction(1),
    "m": fractions.Fraction(60),
    "h": fractions.Fraction(3600),
    "d": fractions.Fraction(86_400),
    "w": fractions.Fraction(7 * 86_400),
    "y": fractions.Fraction(365 * 86_400),
}
"""Duration suffixes of Prometheus (prometheus/common model.ParseDuration)."""

_SMALL: dict[str, fractions.Fraction] = {
    "n": fractions.Fraction(1, 10**9),
    "u": fractions.Fraction(1, 10**6),
    "m": fractions.Fraction(1, 1000),
}
_LARGE: dict[str, fractions.Fraction] = {
    name: fractions.Fraction(1000**power) for power, name in enumerate("kMGTPE", start=1)
}
_BINARY: dict[str, fractions.Fraction] = {
    f"{name}i": fractions.Fraction(1024**power) for power, name in enumerate("KMGTPE", start=1)
}
"""Suffixes of Kubernetes quantities (apimachinery pkg/api/resource/suffix.go)."""

SUFFIXES: tuple[str, ...] = ("%", *_SECONDS, *_SMALL, *_LARGE, *_BINARY)
OTHER_SPELLINGS: dict[str, str] = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
    **dict.fromkeys(("K", "KB", "kB", "kb"), "k"),
    **{f"{name.lower()}b": name for name in "MGTP"},
    **dict.fromkeys(("f", "F", "L", "l"), ""),
    **{f"{name}{byte}": name for name in "MGTP" for byte in ("B", "b")},
    **{f"{name}i{byte}": f"{name}i" for name in "KMGTP" for byte in ("B", "b")},
    **{f"{name.lower()}i": f"{name}i" for name in "KMGTP"},
}
"""Suffix in other tools -> suffix in this language."""

MAX_DIGITS = 30
_MIN_DIGITS_OF_MI = 3
_MIN_DIGITS_OF_BYTES = 7
_OTHER_NUMBERS = (
    (re.compile(r"-?[0-9.]+[eE][0-9]*"), "exponents are whole numbers from 0 to 99, as in `1e3`"),
    (re.compile(r"-?0[xXbBoO][0-9a-fA-F]+"), "numbers are decimal, as in `16` or `0.7`"),
    (re.compile(r"-?[0-9.]+%?"), f"a number has at most {MAX_DIGITS} digits"),
)
"""Pattern of a number in other languages, with the rule of this language for the message."""
BINARY_HELP = "suffixes such as Ki, Mi and Gi are for bytes; write the number out or use k, M, G"


@dataclasses.dataclass(frozen=True, slots=True)
class NumberLiteral:
    """A number literal with all possible interpretations.

    Attributes:
        plain: the number, if it has no suffix, or None.
        share: the number as 0..1, if its suffix is `%`, or None.
        seconds: the number as a duration, or None.
        quantity: the number as a Kubernetes quantity, or None.
        is_binary: whether the quantity has a suffix such as Gi, which is valid only for bytes.
        is_part: whether the quantity has a suffix such as m, which is not valid for bytes.
    """

    plain: fractions.Fraction | None = None
    share: fractions.Fraction | None = None
    seconds: fractions.Fraction | None = None
    quantity: fractions.Fraction | None = None
    is_binary: bool = False
    is_part: bool = False

    @property
    def _has_bytes_suffix(self) -> bool:
        """Whether the quantity has a suffix that is valid for bytes."""
        return self.quantity is not None and not self.is_part

    @property
    def is_ambiguous(self) -> bool:
        """Whether the literal can be a duration or a quantity, depending on the context."""
        return self.seconds is not None and self.quantity is not None

    def has_suffix_of_other_unit(self, unit: units.Unit) -> bool:
        """Return whether the quantity has a suffix that is invalid for cores or bytes."""
        if unit == units.CORES:
            return self._has_bytes_suffix and not self.is_binary
        return unit in (units.BYTES, units.BYTES_PER_SECOND) and self.is_part

    def get_unambiguous_value(self) -> tuple[float, units.Unit] | None:
        """Return the canonical number in the only possible unit; None if there are several."""
        if self.is_ambiguous:
            return None
        if self.share is not None:
            return float(self.share), units.RATIO
        if self.seconds is not None:
            return float(self.seconds), units.SECONDS
        if self.quantity is not None:
            return float(self.quantity), units.BYTES if self.is_binary else units.NUMBER
        return float(self.plain or 0), units.NUMBER

    def convert_to_unit(self, unit: units.Unit) -> float | None:
        """Return the canonical number of the literal in `unit`, or None if the unit is impossible.

        A plain number other than 0 is not a valid number of bytes or seconds (`4Gi` and `5s` are).
        A plain number outside -1..1 is valid for a computed ratio, but not for a declared one.
        """
        if unit.is_dimensionless:
            return self._read_as_dimensionless(unit)
        if unit == units.SECONDS:
            value = self.seconds if self.seconds is not None else self._read_as_bare_zero()
        elif unit == units.CORES:
            value = self._read_as_cores()
        elif unit in (units.BYTES, units.BYTES_PER_SECOND):
            value = self.quantity if self._has_bytes_suffix else self._read_as_bare_zero()
        elif unit == units.PER_SECOND:
            value = self.plain if self.plain is not None else self._read_as_decimal_quantity()
        else:
            value = self._read_as_bare_zero()
        return None if value is None else float(value)

    def _read_as_dimensionless(self, unit: units.Unit) -> float | None:
        if self.share is not None:
            return float(self.share)
        if self.plain is not None:
            is_bounded = unit.is_ratio and not unit.may_exceed_one
            return None if is_bounded and abs(self.plain) > 1 else float(self.plain)
        decimal = self._read_as_decimal_quantity()
        return None if unit.is_ratio or decimal is None else float(decimal)

    def _read_as_cores(self) -> fractions.Fraction | None:
        part = self.quantity if self.is_part else None
        value = self.plain if self.plain is not None else part
        return None if value is None else value * int(units.CORES_SCALE)

    def _read_as_decimal_quantity(self) -> fractions.Fraction | None:
        """Return the quantity unless its suffix is valid only for bytes."""
        return None if self.is_binary else self.quantity

    def _read_as_bare_zero(self) -> fractions.Fraction | None:
        return self.plain if self.plain == 0 else None


def parse_numeral(text: str) -> NumberLiteral | None:
    """Parse a numeral; return None if its suffix is unknown or it is too long."""
    if _EXPONENT.match(text):
        return NumberLiteral(plain=fractions.Fraction(text))
    match = _NUMERAL.match(text)
    if match is None or len(match.group(1)) > MAX_DIGITS:
        return None
    number, suffix = fractions.Fraction(match.group(1)), match.group(2) or ""
    if not suffix:
        return NumberLiteral(plain=number)
    if suffix == "%":
        return NumberLiteral(share=number / 100)
    seconds = _parse_duration(text)
    scale = _SMALL.get(suffix) or _LARGE.get(suffix) or _BINARY.get(suffix)
    if seconds is None and scale is None:
        return None
    quantity = None if scale is None else number * scale
    return NumberLiteral(
        seconds=seconds,
        quantity=quantity,
        is_binary=suffix in _BINARY,
        is_part=suffix in _SMALL,
    )


def has_binary_suffix(text: str) -> bool:
    """Return whether a text is a number with a binary suffix, such as `4Gi`."""
    literal = parse_numeral(text)
    return literal is not None and literal.is_binary


def _parse_duration(text: str) -> fractions.Fraction | None:
    if not _DURATION.match(text):
        return None
    parts = _DURATION_PART.findall(text)
    total = sum(
        (fractions.Fraction(number) * _SECONDS[suffix] for number, suffix in parts),
        fractions.Fraction(0),
    )
    return -total if text.startswith("-") else total


def suggest_bytes_spelling(digits: str) -> str:
    """Recommend how to write a number of bytes with a suffix; return "" if no suffix fits.

    A number with up to two digits probably means Gi, a number with up to six digits Mi or Gi.
    Longer numbers are converted exactly.
    """
    if not digits.isdecimal() or len(digits) < _MIN_DIGITS_OF_MI:
        return f"write `{digits}Gi`"
    if len(digits) < _MIN_DIGITS_OF_BYTES:
        return f"write `{digits}Mi` or `{digits}Gi`"
    if len(digits) > MAX_DIGITS:
        return ""
    number = int(digits)
    fitting = [
        f"{number // int(scale)}{suffix}"
        for scales in (_BINARY, _LARGE)
        for suffix, scale in scales.items()
        if number % int(scale) == 0
    ]
    return f"write `{min(fitting, key=len)}`" if fitting else ""


def get_numeral_suffix(text: str) -> str:
    """Return the text after the digits of a number, for a message about an unknown suffix."""
    return text.lstrip("-0123456789.")


def describe_refused_number(text: str) -> str:
    """Return the rule that a refused number breaks; "" if only the suffix is unknown."""
    matching = (advice for pattern, advice in _OTHER_NUMBERS if pattern.fullmatch(text))
    return next(matching, "")
