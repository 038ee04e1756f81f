"""A policy text in a document, and the mapping of offsets between them.

A `.policy` file is one policy that is the whole document. A manifest contains a policy for each key
of its ConfigMaps that is a literal block: each line of the policy is an indented line of the
document.
"""

from __future__ import annotations

import bisect
import dataclasses

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics


@dataclasses.dataclass(frozen=True, slots=True)
class DocumentEdit:
    """The replacement of a range of a document.

    Attributes:
        start: the offset of the first character.
        end: the offset after the last character.
    """

    start: int
    end: int
    replacement: str


@dataclasses.dataclass(frozen=True, slots=True)
class EmbeddedPolicy:
    """A policy text, and the positions of its lines in the document.

    Attributes:
        text: the policy text.
        begins: the document offset of each line, before its indentation.
        starts: the document offset of the first character of each line, after its indentation.
        end: the document offset after the last line.
        indent: the number of spaces before each line.
        line_end: the line ending of the document; the text always uses line feeds.
    """

    text: source.SourceText
    begins: tuple[int, ...]
    starts: tuple[int, ...]
    end: int
    indent: int = 0
    line_end: str = "\n"

    @classmethod
    def embed_whole_document(cls, text: source.SourceText) -> EmbeddedPolicy:
        """Return the embedding of a text that is the whole document."""
        return cls(text, (0,), (0,), len(text.text))

    def map_to_document(self, offset: int) -> int:
        """Return the document offset for an offset in the text."""
        if not self.indent:
            return offset
        line, column = self.text.position(offset)
        if line > len(self.starts):
            return self.end
        return min(self.starts[line - 1] + column - 1, self._get_line_end(line - 1))

    def map_to_text(self, offset: int) -> int | None:
        """Return the text offset for an offset in the document; None outside the policy."""
        if not self.begins[0] <= offset <= self.end:
            return None
        if not self.indent:
            return offset
        line = bisect.bisect_right(self.begins, offset) - 1
        column = max(offset - self.starts[line], 0)
        start = self.text.line_start(line + 1)
        return start + min(column, len(self.text.line(line + 1)))

    def convert_edit_to_document(self, edit: diagnostics.TextEdit) -> DocumentEdit:
        """Return an edit of the text as an edit of the document; new lines get the indentation."""
        start, end, new = edit.span.start, edit.span.end, edit.replacement
        if not self.indent:
            return DocumentEdit(start, end, new)
        is_at_end = self.text.text.endswith("\n") and end == len(self.text.text)
        if is_at_end and start == end:
            new = f"\n{new.removesuffix(chr(10))}" if new else new
        elif is_at_end:
            new = new.removesuffix("\n")
        blanks = " " * self.indent
        first, *others = new.split("\n")
        indented = [first, *(blanks + line if line else line for line in others)]
        if others and not others[-1]:  # the edit ends after the indentation of the next line
            indented[-1] = " " * (self.indent - self._count_missing_indent(end))
        missing = self._count_missing_indent(start) if first else 0
        return DocumentEdit(
            self.map_to_document(start),
            self.map_to_document(end),
            " " * missing + self.line_end.join(indented),
        )

    def _count_missing_indent(self, offset: int) -> int:
        """Return the number of spaces that the indentation of the line of an offset lacks."""
        line, _ = self.text.position(offset)
        if line > len(self.starts):
            return 0
        return self.indent - (self.starts[line - 1] - self.begins[line - 1])

    def _get_line_end(self, line: int) -> int:
        return self.starts[line] + len(self.text.line(line + 1))
