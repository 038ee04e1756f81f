"""Represent policy texts, and ranges in them for diagnostics."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Mapping

STDIN_NAME = "<stdin>"
"""The name of what was read from standard input, which is no file."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of characters in one policy text.

    Attributes:
        file: name of the SourceText.
        start: offset of the first character, 0-based.
        end: offset after the last character; equal to `start` for a place between characters.
        line: 1-based line of `start`.
        column: 1-based column of `start`, counted in code points.
    """

    file: str
    start: int
    end: int
    line: int
    column: int

    def __str__(self) -> str:
        """Return `file:line:column`, which editors and terminals can open."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """The position of a text in a larger file, such as one key of a ConfigMap manifest.

    Attributes:
        file: path of the file.
        line: 1-based line in the file at which the text starts.
        indent: number of characters before each line of the text. None if the text's lines are not
            lines of the file (a folded or quoted scalar), so that the text cannot be edited line by
            line.
        runs: used if `indent` is None: the start of each run of characters that is contiguous in
            the file, as (offset in the text, 1-based line, 1-based column), ascending from offset
            0. () if only `line` is known.
        is_aliased: whether a YAML alias repeats the text, so that an edit also changes another
            value.
        config_map: the ConfigMap that has the text as a key, `namespace/name` or `name` as the
            manifest says; "" if it has no name.
        annotations: the annotations of this ConfigMap.
    """

    file: str
    line: int
    indent: int | None
    runs: tuple[tuple[int, int, int], ...] = ()
    is_aliased: bool = False
    config_map: str = ""
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class SourceText:
    r"""One policy text: a `.policy` file, or one key of a ConfigMap.

    Attributes:
        name: name in diagnostics, usually the path as the user wrote it.
        text: the whole unchanged content; line ends are `\n` or `\r\n`.
        origin: the position in the containing file; None if the text is a whole file.
    """

    name: str
    text: str
    origin: Origin | None = dataclasses.field(default=None, compare=False)

    @property
    def key(self) -> str:
        """The last part of the name, which `import "…"` in other texts uses."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def is_editable(self) -> bool:
        """Whether tools can edit the text line by line in its file."""
        origin = self.origin
        return origin is None or (origin.indent is not None and not origin.is_aliased)

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    @property
    def line_count(self) -> int:
        """Number of lines, including the one after a final line end."""
        return len(self._line_starts)

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of `offset`."""
        index = bisect.bisect_right(self._line_starts, offset) - 1
        return index + 1, offset - self._line_starts[index] + 1

    def place(self, offset: int) -> tuple[str, int, int]:
        """Return the file, line and column of `offset`, for the containing file if there is one."""
        line, column = self.position(offset)
        if self.origin is None:
            return self.name, line, column
        if self.origin.indent is None:
            return self.origin.file, *self._find_line_and_column(self.origin, offset)
        return self.origin.file, self.origin.line + line - 1, column + self.origin.indent

    def _find_line_and_column(self, origin: Origin, offset: int) -> tuple[int, int]:
        if not origin.runs:
            return origin.line, 1
        index = bisect.bisect_right(origin.runs, offset, key=lambda run: run[0]) - 1
        begin, line, column = origin.runs[index]
        return line, column + offset - begin

    def span(self, start: int, end: int) -> Span:
        """Return the Span from `start` to `end` (exclusive)."""
        line, column = self.position(start)
        return Span(self.name, start, max(start, end), line, column)

    def line_start(self, number: int) -> int:
        """Return the offset at which the 1-based line `number` begins."""
        return self._line_starts[number - 1]

    def fitted(self, new: str) -> str:
        """Return `new` with the final line ends that it will have in the file.

        In a manifest, the block scalar (`|-`, `|+`) determines the final line ends, so this text's
        final line ends are kept.
        """
        if self.origin is None:
            return new
        return new.rstrip("\n") + self.text[len(self.text.rstrip("\n")) :]

    def line(self, number: int) -> str:
        """Return the text of the 1-based line `number`, without its line end."""
        start = self._line_starts[number - 1]
        end = self._line_starts[number] if number < self.line_count else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def slice(self, span: Span) -> str:
        """Return the text that `span` covers."""
        return self.text[span.start : span.end]
