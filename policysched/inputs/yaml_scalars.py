"""Locates the characters of a scalar's value in a YAML text.

This module decodes folding and escapes a second time, and records the position of each character.
If the result differs from the YAML parser's value, the module returns no positions rather than
wrong ones.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Run: TypeAlias = tuple[int, int]
"""(offset in the value, index in the YAML text) at which a run of identical characters starts."""

_FOLD = r"(?P<fold>[ \t]*\r?\n(?:[ \t]*\r?\n)*[ \t]*)"
_REST = r"(?P<space>[ \t]+)|(?P<as_is>[^\\\r\n \t']+|.)"
_TOKENS = {
    '"': re.compile(
        r"(?P<joined>\\\r?\n[ \t]*(?:\r?\n[ \t]*)*)"
        r"|(?P<escape>\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.))"
        rf"|{_FOLD}|{_REST}",
        re.DOTALL,
    ),
    "'": re.compile(rf"(?P<quote>'')|{_FOLD}|{_REST}", re.DOTALL),
    "": re.compile(rf"{_FOLD}|{_REST}", re.DOTALL),
}
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}
"""Escaped character → its value (YAML 1.2, section 5.7); any other character represents itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class YamlScalar:
    """A scalar in a YAML text.

    Attributes:
        start: the index of the first character: an anchor, a quote, `|`, `>`, or the start of the
            value.
        end: the index after the last character.
        style: `|`, `>`, a quote, or "" for a plain scalar.
    """

    start: int
    end: int
    style: str


def locate_value_characters(text: str, scalar: YamlScalar, value: str) -> tuple[Run, ...]:
    """Return the positions of the characters of `value` in `text`, or () if they are unknown."""
    if scalar.style in ("|", ">"):
        found = list(_find_block_runs(text, scalar, value))
        rest = value[found[-1][0] :].partition("\n")[2] if found else value
        if not found or rest.strip(" \n"):
            return ()
        before = [] if found[0][0] == 0 else [(0, text.index("\n", scalar.start) + 1)]
        return (*before, *found)
    pieces = list(_split_scalar_pieces(text, scalar))
    if "".join(decoded for _, decoded in pieces) != value:
        return ()
    return tuple(_merge_pieces_into_runs(pieces))


def _find_block_runs(text: str, scalar: YamlScalar, value: str) -> Iterator[Run]:
    """Yield the beginning of each line of a block, until a line differs from the value."""
    offset = 0
    index = text.find("\n", scalar.start) + 1
    while 0 < index < scalar.end:
        end = text.find("\n", index)
        end = len(text) if end < 0 else end
        content = text[index:end].rstrip("\r").lstrip(" ")
        if content:
            while value.startswith((" ", "\n"), offset):
                offset += 1
            if not value.startswith(content, offset):
                return
            yield offset, text.index(content[0], index)
            offset += len(content)
        index = end + 1


def _split_scalar_pieces(text: str, scalar: YamlScalar) -> Iterator[tuple[int, str]]:
    """Yield the index and the decoded text of each token of a quoted or plain scalar."""
    properties = _PROPERTIES.match(text, scalar.start)
    start, end = properties.end() if properties else scalar.start, scalar.end
    if scalar.style:
        start, end = start + 1, end - 1
    for match in _TOKENS[scalar.style].finditer(text, start, end):
        yield match.start(), _decode_scalar_token(match.lastgroup or "", match[0])
    yield end, ""


def _decode_scalar_token(kind: str, token: str) -> str:
    """Return the characters that a token of a scalar represents."""
    match kind:
        case "quote":
            return "'"
        case "fold":
            return "\n" * (token.count("\n") - 1) or " "
        case "joined":
            return "\n" * (token.count("\n") - 1)
        case "escape":
            return _unescape_sequence(token[1:])
        case _:
            return token


def _unescape_sequence(name: str) -> str:
    if len(name) > 1:
        number = int(name[1:], 16)
        return chr(number) if number <= 0x10FFFF else ""  # noqa: PLR2004 - the last code point
    return _ESCAPES.get(name, name)


def _merge_pieces_into_runs(pieces: Sequence[tuple[int, str]]) -> Iterator[Run]:
    """Yield a run wherever the difference between the index in the text and the offset changes."""
    offset = 0
    distance: int | None = None
    for index, decoded in pieces:
        if index - offset != distance:
            distance = index - offset
            yield offset, index
        offset += len(decoded)
