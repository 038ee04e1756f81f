"""`int(x)`, `string(x)` and the like. Source: cel-go `common/types`."""

from __future__ import annotations

import math
import re
from typing import Final

from policysched import int64
from policysched.cel.failures import EvaluationError
from policysched.cel.functions.operators import check_int, check_uint
from policysched.cel.overloads import Register, define
from policysched.cel.static_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DYN,
    INT,
    STRING,
    UINT,
    A,
    Type,
    type_of,
)
from policysched.cel.values import MAX_UINT, TypeValue, Uint, Value, get_type_name

CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
"""Functions that convert a constant while the expression is compiled."""

_BOOL_TEXTS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_DIGITS = "[0-9](?:_?[0-9])*"
_DECIMAL = re.compile(
    rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
)
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+")
_SPECIAL = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_UNSIGNED = re.compile(r"0*[0-9]{1,20}")
_MIN_PLAIN_EXPONENT, _MAX_PLAIN_EXPONENT = -4, 6
"""Below 1e-4, and from 1e6 on, Go writes a double with an exponent."""

for _type in (BOOL, BYTES, DOUBLE, INT, STRING, UINT):
    define(_type.name, (_type,), _type)(lambda value: value)


def _define_conversion(source: Type, target: Type) -> Register:
    return define(target.name, (source,), target)


def _fail(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


@define("type", (A,), type_of(A), names_types=False)
def get_type(value: Value) -> TypeValue:
    """Return the type of a value."""
    return TypeValue(get_type_name(value))


@define("dyn", (A,), DYN, names_types=False)
def hide_type(value: Value) -> Value:
    """Return the value, whose type the checker no longer knows."""
    return value


@_define_conversion(STRING, BOOL)
def parse_bool(text: str) -> bool:
    """Return the truth value of a text that Go's strconv.ParseBool reads."""
    if text not in _BOOL_TEXTS:
        raise _fail("string", "bool")
    return _BOOL_TEXTS[text]


@_define_conversion(STRING, BYTES)
def encode(text: str) -> bytes:
    """Return the UTF-8 bytes of a text."""
    return text.encode("utf-8", "surrogatepass")


@_define_conversion(INT, DOUBLE)
@_define_conversion(UINT, DOUBLE)
def convert_to_double(number: int) -> float:
    """Return the nearest double."""
    return float(number)


@_define_conversion(STRING, DOUBLE)
def parse_double(text: str) -> float:
    """Return the number of a text that Go's strconv.ParseFloat reads."""
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            raise _fail("string", "double") from None
    if not (_DECIMAL.fullmatch(text) or _SPECIAL.fullmatch(text)):
        raise _fail("string", "double")
    number = float(text)
    if math.isinf(number) and _DECIMAL.fullmatch(text):
        raise _fail("string", "double")
    return number


@_define_conversion(DOUBLE, INT)
def truncate_to_int(number: float) -> int:
    """Return the whole part."""
    # The largest double below 2**63 is 2**63 - 1024; cel-go excludes both ends.
    if not -(2.0**63) < number < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(number)


@_define_conversion(STRING, INT)
def parse_int(text: str) -> int:
    """Return the number of a text in decimal digits."""
    number = int64.parse_int64(text)
    if number is None:
        raise _fail("string", "int")
    return number


@_define_conversion(UINT, INT)
def convert_uint(number: Uint) -> int:
    """Return the number as a signed one."""
    return check_int(int(number))


@_define_conversion(DOUBLE, UINT)
def truncate_to_uint(number: float) -> Uint:
    """Return the whole part."""
    if not 0 <= number < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(number))


@_define_conversion(INT, UINT)
def convert_int(number: int) -> Uint:
    """Return the number as an unsigned one."""
    return check_uint(number)


@_define_conversion(STRING, UINT)
def parse_uint(text: str) -> Uint:
    """Return the number of a text in decimal digits without a sign."""
    if _UNSIGNED.fullmatch(text) is None or int(text) > MAX_UINT:
        raise _fail("string", "uint")
    return Uint(int(text))


@_define_conversion(BOOL, STRING)
def format_bool(value: bool) -> str:  # noqa: FBT001 - CEL has no keyword arguments
    """Return `true` or `false`."""
    return "true" if value else "false"


@_define_conversion(BYTES, STRING)
def decode(data: bytes) -> str:
    """Return the text of UTF-8 bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


@_define_conversion(INT, STRING)
@_define_conversion(UINT, STRING)
def format_int(number: int) -> str:
    """Return the decimal digits."""
    return str(int(number))


@_define_conversion(DOUBLE, STRING)
def format_double(number: float) -> str:
    """Return the shortest text of a double, as Go's strconv.FormatFloat with `g` and -1."""
    if math.isnan(number) or math.isinf(number):
        return "NaN" if math.isnan(number) else ("+Inf" if number > 0 else "-Inf")
    mantissa, _, exponent = repr(number).partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0"
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """Return the number 0.digits * 10**point as Go writes it."""
    if not _MIN_PLAIN_EXPONENT < point <= _MAX_PLAIN_EXPONENT:
        rest = f".{digits[1:]}" if digits[1:] else ""
        return f"{digits[0]}{rest}e{point - 1:+03d}"
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"
