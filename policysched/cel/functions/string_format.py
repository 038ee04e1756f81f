"""`"%s".format([...])`. Source: cel-go `ext/formatting.go`."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Final

from policysched.cel.failures import EvaluationError
from policysched.cel.functions import conversions, times
from policysched.cel.meter import Meter
from policysched.cel.overloads import define_method
from policysched.cel.static_types import DYN, STRING, list_of
from policysched.cel.values import Map, TypeValue, Uint, Value, get_type_name

_CLAUSE = re.compile(r"%(?:%|(?:\.(?P<precision>[0-9]*))?(?P<verb>.)?)", re.DOTALL)
_VERBS: Final = frozenset("sdfebxXo")
_DEFAULT_PRECISION: Final = 6
_MAX_PRECISION: Final = 1000
_VALUE_UNITS: Final = 4
"""Cost of the text of a value, apart from its length."""
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """The placeholder of one argument, such as `%.2f`."""

    verb: str
    precision: int


def parse_clauses(text: str) -> list[str | Clause]:
    """Return the texts and clauses of a format.

    Raises:
        EvaluationError: a clause is unknown, or not complete.
    """
    parts: list[str | Clause] = []
    end = 0
    for match in _CLAUSE.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        parts.append("%" if match[0] == "%%" else _read_clause(match))
    return [*parts, text[end:]]


def _read_clause(match: re.Match[str]) -> Clause:
    verb, precision = match["verb"], match["precision"]
    if verb is None:
        raise EvaluationError("unexpected end of string")
    if verb not in _VERBS:
        raise EvaluationError(
            f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
        )
    if precision is None:
        return Clause(verb, _DEFAULT_PRECISION)
    if (
        not precision
        or len(precision) > len(str(_MAX_PRECISION))
        or int(precision) > _MAX_PRECISION
    ):
        raise EvaluationError("could not parse formatting clause: error while parsing precision")
    return Clause(verb, int(precision))


@define_method("format", (STRING, list_of(DYN)), STRING, is_metered=True)
def format_values(meter: Meter, text: str, arguments: list[Value]) -> str:
    """Return the text with an argument for each clause.

    Raises:
        EvaluationError: a clause is wrong, has no argument, or does not take it.
    """
    meter.charge_text(len(text))
    parts: list[str] = []
    index = 0
    for clause in parse_clauses(text):
        if isinstance(clause, str):
            parts.append(clause)
            continue
        if index >= len(arguments):
            raise EvaluationError(f"index {index} out of range")
        parts.append(_format_clause(meter, clause, arguments[index]))
        index += 1
    return "".join(parts)


def _format_clause(meter: Meter, clause: Clause, value: Value) -> str:
    if clause.verb == "s":
        return format_string(meter, value)
    if clause.verb == "d" and type(value) in {int, Uint}:
        return str(int(value))
    if clause.verb in "fe" and _is_decimal(value):
        number = float(value)
        return (
            _format_fixed(number, clause) if clause.verb == "f" else _format_power(number, clause)
        )
    if clause.verb in "xX" and type(value) in {int, Uint, str, bytes}:
        return _format_hexadecimal(meter, value, clause.verb)
    if clause.verb == "b" and type(value) in {int, Uint, bool}:
        return f"{int(value):b}"
    if clause.verb == "o" and type(value) in {int, Uint}:
        return f"{int(value):o}"
    raise EvaluationError(
        f"error during formatting: {_CLAUSE_NAMES[clause.verb]}, was given {get_type_name(value)}"
    )


_CLAUSE_NAMES: Final = {
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "x": "hex clause can only be used on integers, byte buffers, and strings",
    "X": "hex clause can only be used on integers, byte buffers, and strings",
    "b": "only integers and bools can be formatted as binary",
    "o": "octal clause can only be used on integers",
}


def _is_decimal(value: Value) -> bool:
    if type(value) is str:
        return value in {"NaN", "Infinity", "-Infinity"}
    return type(value) is float


def _format_fixed(number: float, clause: Clause) -> str:
    if math.isfinite(number):
        return f"{number:,.{clause.precision}f}"
    return "NaN" if math.isnan(number) else ("∞" if number > 0 else "-∞")


def _format_power(number: float, clause: Clause) -> str:
    if not math.isfinite(number):
        return _format_fixed(number, clause)
    mantissa, _, exponent = f"{number:.{clause.precision}e}".partition("e")
    power = exponent.lstrip("+").translate(_SUPERSCRIPTS)
    return f"{mantissa}\u202f×\u202f10{power}"


def _format_hexadecimal(meter: Meter, value: Value, verb: str) -> str:
    if type(value) in {str, bytes}:
        meter.charge_text(len(value))
        text = (value.encode() if type(value) is str else value).hex()
    else:
        text = f"{int(value):x}"
    return text.upper() if verb == "X" else text


def format_string(meter: Meter, value: Value) -> str:
    """Return what `%s` writes for a value.

    Raises:
        EvaluationError: values of this type have no text.
    """
    meter.charge(_VALUE_UNITS)
    meter.charge_value(value)
    match value:
        case None:
            return "null"
        case bool() | int() | float() | str() | bytes():
            return _format_plain(value)
        case TypeValue(name=name):
            return name
        case times.Duration():
            return times.format_duration(value)
        case times.Timestamp():
            return times.format_timestamp(value)
        case list():
            return f"[{', '.join(_format_member(meter, item) for item in value)}]"
        case Map():
            pairs = sorted(
                (_format_key(meter, key), _format_member(meter, item))
                for key, item in value.items()
            )
            return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"
        case _:
            raise EvaluationError(
                "error during formatting: string clause can only be used on strings, bools, bytes,"
                " ints, doubles, maps, lists, types, durations, and timestamps, was given"
                f" {get_type_name(value)}"
            )


def _format_key(meter: Meter, key: Value) -> str:
    if type(key) not in {bool, int, Uint, str}:
        raise EvaluationError(
            "error during formatting: no formatting function for map key of type"
            f" {get_type_name(key)}"
        )
    return _format_member(meter, key)


def _format_plain(value: Value) -> str:
    if type(value) is bool:
        return conversions.format_bool(value)
    if type(value) is float:
        return conversions.format_double(value)
    if type(value) is bytes:
        return conversions.decode(value)
    return str(value)


def _format_member(meter: Meter, value: Value) -> str:
    """Return what `%s` writes for an element of a list or a map."""
    if type(value) is str:
        meter.charge_text(len(value))
        return json.dumps(value, ensure_ascii=False)
    if type(value) is bytes:
        meter.charge_text(len(value))
        return f"b{json.dumps(conversions.decode(value), ensure_ascii=False)}"
    if type(value) is float and math.isfinite(value):
        return f"{value:.{_DEFAULT_PRECISION}f}"
    if type(value) is times.Timestamp:
        return f'timestamp("{times.format_timestamp(value)}")'
    if type(value) is times.Duration:
        return f'duration("{times.format_duration(value)}")'
    return format_string(meter, value)
