"""Positions in a text as the Language Server Protocol defines them.

A position is a line and a number of code units in an encoding, which is UTF-16 unless client and
server agree on a different encoding. A line ends only with a line feed, a carriage return, or both.
"""

from __future__ import annotations

import bisect
import enum
import itertools
import re
from collections.abc import Callable, Mapping

_LINE_END = re.compile(r"\r\n|\r|\n")
_BEYOND_16_BITS = "\uffff"


class PositionEncoding(enum.StrEnum):
    """The unit in which the characters of a line are counted, under its name in the protocol."""

    UTF_8 = "utf-8"
    UTF_16 = "utf-16"
    UTF_32 = "utf-32"


_UNITS: Mapping[PositionEncoding, Callable[[str], int]] = {
    PositionEncoding.UTF_8: lambda char: len(char.encode("utf-8", "surrogatepass")),
    PositionEncoding.UTF_16: lambda char: 2 if char > _BEYOND_16_BITS else 1,
    PositionEncoding.UTF_32: lambda _: 1,
}
"""Encoding -> the number of code units of a character."""


class LineIndex:
    """Converts between offsets and positions in a text.

    Args:
        text: the whole text.
        encoding: the encoding in whose code units columns are counted.
    """

    def __init__(self, text: str, encoding: PositionEncoding = PositionEncoding.UTF_16) -> None:
        self.text = text
        self.encoding = encoding
        ends = [(match.start(), match.end()) for match in _LINE_END.finditer(text)]
        self._starts = [0, *(end for _, end in ends)]
        self._ends = [*(start for start, _ in ends), len(text)]

    @property
    def line_count(self) -> int:
        """The number of lines, including the empty line after a final line ending."""
        return len(self._starts)

    def get_line_bounds(self, line: int) -> tuple[int, int]:
        """Return the start and end offset of a 0-based line, without its line ending."""
        return self._starts[line], self._ends[line]

    def find_position(self, offset: int) -> tuple[int, int]:
        """Return the 0-based line and code unit of an offset.

        An offset inside a line ending counts as the end of that line.
        """
        line = bisect.bisect_right(self._starts, offset) - 1
        start, end = self.get_line_bounds(line)
        return line, self._count_code_units(self.text[start : min(offset, end)])

    def find_offset(self, line: int, unit: int) -> int:
        """Return the offset of a position, limited to the end of its line and of the text.

        A position inside a character is moved to the start of the character.
        """
        if line >= self.line_count:
            return len(self.text)
        start, end = self.get_line_bounds(max(line, 0))
        content = self.text[start:end]
        if content.isascii() or self.encoding is PositionEncoding.UTF_32:
            return min(start + max(unit, 0), end)
        units = itertools.accumulate(map(_UNITS[self.encoding], content))
        return start + sum(1 for _ in itertools.takewhile(lambda each: each <= unit, units))

    def _count_code_units(self, content: str) -> int:
        if content.isascii() or self.encoding is PositionEncoding.UTF_32:
            return len(content)
        return sum(map(_UNITS[self.encoding], content))
