"""Read the constants of an expression: numbers, strings, bytes."""

from __future__ import annotations

import math
import re

from policysched.cel.failures import CompilationError
from policysched.cel.values import MAX_UINT, Uint

_MAX_DIGITS = 400
"""Enough for every number of 64 bits, below the limit of `int`, and with room for zeros."""

_ESCAPE = re.compile(r"\\(?:[xX](..)|u(....)|U(........)|([0-3][0-7]{2})|(.))", re.DOTALL)
_CHARACTERS = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_MAX_CODE_POINT, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


def read_int(text: str) -> int:
    """Return the number without a check of its range: a sign can precede it."""
    if len(text) > _MAX_DIGITS:
        raise CompilationError("invalid int literal")
    return int(text, 16) if text.startswith("0x") else int(text)


def read_uint(text: str) -> Uint:
    """Return the number of a text such as `12u`.

    Raises:
        CompilationError: it does not fit into 64 bits.
    """
    number = read_int(text[:-1])
    if number > MAX_UINT:
        raise CompilationError("invalid uint literal")
    return Uint(number)


def read_double(text: str) -> float:
    """Return the number of a text such as `1.5e3`.

    Raises:
        CompilationError: it is larger than every double.
    """
    number = float(text)
    if math.isinf(number):
        raise CompilationError("invalid double literal")
    return number


def read_string(text: str) -> str:
    """Return the value of a quoted string.

    Raises:
        CompilationError: an escape names no character.
    """
    is_raw, body = _split_quotes(text)
    return body if is_raw else _ESCAPE.sub(lambda match: chr(_read_code_point(match)), body)


def read_bytes(text: str) -> bytes:
    r"""Return the value of `b"..."`, in which `\xff` and `\377` are bytes.

    Raises:
        CompilationError: an escape names no byte.
    """
    is_raw, body = _split_quotes(text[1:])
    if is_raw:
        return body.encode()
    parts: list[bytes] = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts += [body[end : match.start()].encode(), _read_escaped_byte(match)]
        end = match.end()
    return b"".join([*parts, body[end:].encode()])


def _split_quotes(text: str) -> tuple[bool, str]:
    is_raw = text[0] in "rR"
    quoted = text[1:] if is_raw else text
    width = 3 if quoted[:3] in {'"""', "'''"} and len(quoted) >= len('""""""') else 1
    # As in cel-go, every line end is a line feed.
    return is_raw, quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n")


def _read_code_point(match: re.Match[str]) -> int:
    two, four, eight, octal, character = match.groups()
    if character is not None:
        return _CHARACTERS.get(character, ord(character))
    if octal is not None:
        return int(octal, 8)
    number = int(two or four or eight, 16)
    if number > _MAX_CODE_POINT or number in _SURROGATES:
        raise CompilationError("invalid unicode code point")
    return number


def _read_escaped_byte(match: re.Match[str]) -> bytes:
    if match[2] is not None or match[3] is not None:
        raise CompilationError("unable to unescape string: a byte has no code point")
    return bytes([_read_code_point(match)])
