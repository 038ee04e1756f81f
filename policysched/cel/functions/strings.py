"""Functions of strings: the standard ones, and version 2 of cel-go's string library."""

from __future__ import annotations

from policysched.cel.failures import EvaluationError
from policysched.cel.meter import Meter
from policysched.cel.overloads import define, define_method
from policysched.cel.static_types import BOOL, INT, STRING, list_of
from policysched.cel.values import Value

_SPACES = (
    "".join(
        chr(each)
        for each in (
            *range(9, 14),
            0x20,
            0x85,
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x2028,
            0x2029,
        )
    )
    + "\u202f\u205f\u3000"
)
"""What Go's unicode.IsSpace accepts; str.strip takes four separators more."""
_UPPER = {ord(lower): ord(lower.upper()) for lower in map(chr, range(ord("a"), ord("z") + 1))}
_LOWER = {upper: lower for lower, upper in _UPPER.items()}
_ESCAPED = str.maketrans(
    {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
    | {"\\": "\\\\", '"': '\\"'}
)

define_method("contains", (STRING, STRING), BOOL, names_types=False)(str.__contains__)
define_method("startsWith", (STRING, STRING), BOOL, names_types=False)(str.startswith)
define_method("endsWith", (STRING, STRING), BOOL, names_types=False)(str.endswith)


def _fail_index(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


@define_method("charAt", (STRING, INT), STRING)
def get_character(text: str, index: int) -> str:
    """Return the character at an index; nothing behind the last one."""
    if not 0 <= index <= len(text):
        raise _fail_index(index)
    return text[index : index + 1]


@define_method("indexOf", (STRING, STRING), INT)
def find_first(text: str, part: str) -> int:
    """Return the first index of a part, or -1."""
    return text.find(part)


@define_method("indexOf", (STRING, STRING, INT), INT)
def find_first_from(text: str, part: str, offset: int) -> int:
    """Return the first index of a part from an offset on, or -1."""
    if not part:
        return offset
    if offset < 0:
        raise _fail_index(offset)
    return text.find(part, offset) if offset < len(text) else -1


@define_method("lastIndexOf", (STRING, STRING), INT)
def find_last(text: str, part: str) -> int:
    """Return the last index of a part, or -1."""
    return text.rfind(part)


@define_method("lastIndexOf", (STRING, STRING, INT), INT)
def find_last_from(text: str, part: str, offset: int) -> int:
    """Return the last index of a part that is not behind an offset, or -1."""
    if not part:
        return offset
    if offset < 0:
        raise _fail_index(offset)
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


@define_method("lowerAscii", (STRING,), STRING)
def lower_ascii(text: str) -> str:
    """Return the text with lower case letters a to z."""
    return text.translate(_LOWER)


@define_method("upperAscii", (STRING,), STRING)
def upper_ascii(text: str) -> str:
    """Return the text with upper case letters A to Z."""
    return text.translate(_UPPER)


@define_method("replace", (STRING, STRING, STRING), STRING, is_metered=True)
def replace_all(meter: Meter, text: str, old: str, new: str) -> str:
    """Return the text with another part in each place."""
    return replace_some(meter, text, old, new, -1)


@define_method("replace", (STRING, STRING, STRING, INT), STRING, is_metered=True)
def replace_some(meter: Meter, text: str, old: str, new: str, count: int) -> str:
    """Return the text with another part in the first `count` places; in all if negative."""
    places = text.count(old) if count < 0 else min(text.count(old), count)
    meter.charge_text(len(text) + places * len(new))
    return text.replace(old, new, places)


@define_method("split", (STRING, STRING), list_of(STRING), is_metered=True)
def split(meter: Meter, text: str, separator: str) -> list[str]:
    """Return the parts between separators; the characters if there is none."""
    return split_some(meter, text, separator, -1)


@define_method("split", (STRING, STRING, INT), list_of(STRING), is_metered=True)
def split_some(meter: Meter, text: str, separator: str, count: int) -> list[str]:
    """Return at most `count` parts, the last with the rest; all if negative."""
    meter.charge(1 + len(text))
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


@define_method("join", (list_of(STRING),), STRING, is_metered=True)
def join(meter: Meter, parts: list[Value]) -> str:
    """Return the parts, one after the other."""
    return join_with(meter, parts, "")


@define_method("join", (list_of(STRING), STRING), STRING, is_metered=True)
def join_with(meter: Meter, parts: list[Value], separator: str) -> str:
    """Return the parts with a separator between them.

    Raises:
        EvaluationError: a part is no string.
    """
    meter.charge(1 + len(parts))
    if any(type(part) is not str for part in parts):
        raise EvaluationError("join: invalid input")
    meter.charge_text(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


@define_method("substring", (STRING, INT), STRING)
def cut_from(text: str, start: int) -> str:
    """Return the text from an index on."""
    if not 0 <= start <= len(text):
        raise _fail_index(start)
    return text[start:]


@define_method("substring", (STRING, INT, INT), STRING)
def cut_between(text: str, start: int, end: int) -> str:
    """Return the text between two indices."""
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _fail_index(index)
    return text[start:end]


@define_method("trim", (STRING,), STRING)
def trim(text: str) -> str:
    """Return the text without spaces at its ends."""
    return text.strip(_SPACES)


@define("strings.quote", (STRING,), STRING)
def quote(text: str) -> str:
    """Return the text as a string literal of CEL."""
    return f'"{text.translate(_ESCAPED)}"'
