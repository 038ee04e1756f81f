"""Policy texts and places in them: SourceText, Span."""

from __future__ import annotations

import bisect
import dataclasses
import functools


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
        """Return `file:line:column`, the form that editors and terminals can open."""
        return f"{self.file}:{self.line}:{self.column}"


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """The place of a text within a larger file, such as one key of a ConfigMap manifest.

    Attributes:
        file: path of the file.
        line: 1-based line of the text's first line.
        indent: characters before each line of the text. None if lines of the text are not lines of
            the file (a folded or quoted scalar); then the text cannot be edited line by line.
        runs: used if `indent` is None: where each run of characters that is contiguous in the file
            begins, as (offset in the text, 1-based line, 1-based column), ascending from offset 0.
            () if only `line` is known.
        is_aliased: whether a YAML alias repeats the text, so that an edit also changes another
            value.
    """

    file: str
    line: int
    indent: int | None
    runs: tuple[tuple[int, int, int], ...] = ()
    is_aliased: bool = False


@dataclasses.dataclass(frozen=True)
class SourceText:
    r"""One policy text: a `.policy` file, or one key of a ConfigMap.

    Attributes:
        name: the name in diagnostics, usually the path as the user wrote it.
        text: the whole content, as read; line ends are `\n` or `\r\n`.
        origin: the file that contains the text; None for a text that is a file of its own.
    """

    name: str
    text: str
    origin: Origin | None = dataclasses.field(default=None, compare=False)

    @property
    def key(self) -> str:
        """The last part of the name, by which `import "…"` in other texts refers to this text."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def is_editable(self) -> bool:
        """Whether the text can be edited in its file, line by line."""
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
        """Return the file, line and column of `offset`, in the containing file if there is one."""
        line, column = self.position(offset)
        if self.origin is None:
            return self.name, line, column
        if self.origin.indent is None:
            return self.origin.file, *self._locate_in_runs(self.origin, offset)
        return self.origin.file, self.origin.line + line - 1, column + self.origin.indent

    def _locate_in_runs(self, origin: Origin, offset: int) -> tuple[int, int]:
        if not origin.runs:
            return origin.line, 1
        index = bisect.bisect_right(origin.runs, offset, key=lambda run: run[0]) - 1
        begin, line, column = origin.runs[index]
        return line, column + offset - begin

    def span(self, start: int, end: int) -> Span:
        """Return the Span from `start` up to `end` (exclusive)."""
        line, column = self.position(start)
        return Span(self.name, start, max(start, end), line, column)

    def line_start(self, number: int) -> int:
        """Return the offset at which the 1-based line `number` begins."""
        return self._line_starts[number - 1]

    def fitted(self, new: str) -> str:
        """Return `new` as it will be read back from the file of this text.

        In a manifest, the block scalar (`|-`, `|+`) determines the final line ends. They are
        therefore kept as they are in this text.
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
