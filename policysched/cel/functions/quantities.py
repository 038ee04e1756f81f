"""Kubernetes quantities: exact numbers with a suffix.

Go keeps a quantity as an int64 with a decimal scale if it can, and as a decimal of any length if it
cannot. Only the former converts to an int. Source: `k8s.io/apimachinery/pkg/
api/resource/{quantity,amount}.go`, `k8s.io/apiserver/pkg/cel/{quantity,library/quantity}.go`.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Final

from policysched import int64
from policysched.cel.failures import EvaluationError, make_overload_error
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, DOUBLE, INT, QUANTITY, STRING
from policysched.cel.values import StrictValue, Value, register_type

_FORMAT = re.compile(
    r"(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)"
)
_DECIMAL_EXPONENTS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_EXPONENTS: Final = {
    "Ki": 10,
    "Mi": 20,
    "Gi": 30,
    "Ti": 40,
    "Pi": 50,
    "Ei": 60,
}
_EXPONENT = re.compile(r"[eE][+-]?[0-9]{1,3}")
_MAX_DIGITS, _MAX_BINARY_DIGITS, _SMALLEST_EXPONENT = 18, 14, -9
_MAX_LENGTH: Final = 4096
_WRONG_FORMAT: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class Quantity(StrictValue):
    """An exact number: `digits` times ten to the power of `exponent`.

    Attributes:
        digits: an integer of any size.
        exponent: a power of ten.
        is_long: whether Go keeps it as a decimal of any length.
        is_result: whether `add` or `sub` made it, because `==` refuses these on its right side.
    """

    __slots__ = ("digits", "exponent", "is_long", "is_result", "number")

    def __init__(
        self, digits: int, exponent: int, *, is_long: bool = False, is_result: bool = False
    ) -> None:
        self.digits = digits
        self.exponent = exponent
        self.is_long = is_long
        self.is_result = is_result
        self.number = _scale(digits, exponent)

    def equals(self, other: Value) -> bool:
        """Return whether the numbers are equal."""
        if type(other) is not Quantity or other.is_result:
            raise make_overload_error()
        return self.number == other.number


register_type(Quantity, QUANTITY.name, is_pointer=True)


def _scale(digits: int, exponent: int) -> int | Fraction:
    """Return the number, as an int if it is whole: comparing ints is faster."""
    number = Fraction(digits) * Fraction(10) ** exponent
    return number.numerator if number.denominator == 1 else number


@define("quantity", (STRING,), QUANTITY)
@functools.lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Quantity:
    """Return the quantity of a text such as `1.5Gi`.

    Raises:
        EvaluationError: it is not a quantity.
    """
    match = _FORMAT.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise EvaluationError(_WRONG_FORMAT)
    sign = -1 if match["sign"] == "-" else 1
    whole, fraction, suffix = match["whole"] or "0", match["fraction"] or "", match["suffix"]
    if suffix in _BINARY_EXPONENTS:
        return _make_binary(sign, whole, fraction, _BINARY_EXPONENTS[suffix])
    exponent = _DECIMAL_EXPONENTS.get(suffix)
    if exponent is None and _EXPONENT.fullmatch(suffix):
        exponent = int(suffix[1:])
    if exponent is None:
        raise EvaluationError("unable to parse quantity's suffix")
    exponent -= len(fraction)
    digits = sign * int(whole + fraction)
    is_short = len(whole) + len(fraction) <= _MAX_DIGITS and exponent >= _SMALLEST_EXPONENT
    return Quantity(digits, exponent) if is_short else _make_long(digits, exponent)


def _make_binary(sign: int, whole: str, fraction: str, power: int) -> Quantity:
    digits = sign * int(whole + fraction) << power
    if not fraction and len(whole) + power * 3 // 10 <= _MAX_BINARY_DIGITS:
        return Quantity(digits, 0)
    long = _make_long(digits, -len(fraction))
    if not -int64.MAX <= long.number <= int64.MAX:
        return Quantity(sign * int64.MAX, 0, is_long=True)
    return long


def _make_long(digits: int, exponent: int) -> Quantity:
    """Return the quantity in billionths, rounded away from zero."""
    if exponent < _SMALLEST_EXPONENT:
        divisor = 10 ** (_SMALLEST_EXPONENT - exponent)
        rounded = -(-abs(digits) // divisor)
        digits, exponent = rounded if digits >= 0 else -rounded, _SMALLEST_EXPONENT
    return Quantity(digits, exponent, is_long=True)


@define("isQuantity", (STRING,), BOOL)
def is_quantity(text: str) -> bool:
    """Return whether a text is a quantity."""
    try:
        parse_quantity(text)
    except EvaluationError:
        return False
    return True


@define("sign", (QUANTITY,), INT)
def get_sign(quantity: Quantity) -> int:
    """Return -1, 0 or 1."""
    return (quantity.digits > 0) - (quantity.digits < 0)


@define_method("isGreaterThan", (QUANTITY, QUANTITY), BOOL)
def is_greater(left: Quantity, right: Quantity) -> bool:
    """Return whether the left quantity is greater."""
    return left.number > right.number


@define_method("isLessThan", (QUANTITY, QUANTITY), BOOL)
def is_less(left: Quantity, right: Quantity) -> bool:
    """Return whether the left quantity is less."""
    return left.number < right.number


@define_method("compareTo", (QUANTITY, QUANTITY), INT)
def compare(left: Quantity, right: Quantity) -> int:
    """Return -1, 0 or 1."""
    return (left.number > right.number) - (left.number < right.number)


@define_method("asApproximateFloat", (QUANTITY,), DOUBLE)
def convert_to_float(quantity: Quantity) -> float:
    """Return the number as a double."""
    try:
        return float(quantity.digits) * float(f"1e{quantity.exponent}")
    except OverflowError:
        return float("inf") * get_sign(quantity)


@define_method("isInteger", (QUANTITY,), BOOL)
def is_integer(quantity: Quantity) -> bool:
    """Return whether `asInteger` has a result."""
    return (
        not quantity.is_long and quantity.exponent >= 0 and int64.fits_int64(int(quantity.number))
    )


@define_method("asInteger", (QUANTITY,), INT)
def convert_to_int(quantity: Quantity) -> int:
    """Return the number as an int."""
    if not is_integer(quantity):
        raise EvaluationError("cannot convert value to integer")
    return int(quantity.number)


@define_method("add", (QUANTITY, QUANTITY), QUANTITY)
def add(left: Quantity, right: Quantity) -> Quantity:
    """Return the sum."""
    if not left.is_long and not right.is_long and (not left.digits or not right.digits):
        other = left if not right.digits else right
        return Quantity(other.digits, other.exponent, is_result=True)
    exponent = min(left.exponent, right.exponent)
    left_digits = left.digits * 10 ** (left.exponent - exponent)
    right_digits = right.digits * 10 ** (right.exponent - exponent)
    digits = left_digits + right_digits
    is_short = all(map(int64.fits_int64, (left_digits, right_digits, digits)))
    is_long = left.is_long or right.is_long or not is_short
    return Quantity(digits, exponent, is_long=is_long, is_result=True)


@define_method("add", (QUANTITY, INT), QUANTITY)
def add_int(left: Quantity, right: int) -> Quantity:
    """Return the sum."""
    return add(left, Quantity(right, 0))


@define_method("sub", (QUANTITY, QUANTITY), QUANTITY)
def subtract(left: Quantity, right: Quantity) -> Quantity:
    """Return the difference."""
    if right.digits == int64.MIN and not right.is_long:
        # In Go the smallest int64 is its own negative, which shows if the sum fits.
        total = add(left, right)
        if not total.is_long:
            return total
    return add(left, Quantity(-right.digits, right.exponent, is_long=right.is_long))


@define_method("sub", (QUANTITY, INT), QUANTITY)
def subtract_int(left: Quantity, right: int) -> Quantity:
    """Return the difference."""
    return subtract(left, Quantity(right, 0))
