"""Format a policy text canonically: one layout, all comments kept, the same meaning.

Each statement begins on its own line, indented by two spaces inside a block. Continuation lines
have six more spaces. A comment on its own line stays before the element that follows it, a comment
at the end of a line stays there, and a comment inside a statement moves before the statement. One
or more blank lines become one.

The formatter verifies every changed text before it returns it: the text must parse to an equal tree
with the same comments, and formatting it again must change nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.formatting import layout
from policysched.lang.parsing import parser
from policysched.lang.syntax import syntax

_BLOCKS = (syntax.Policy, syntax.Profile, syntax.Metric)


@dataclasses.dataclass(frozen=True, slots=True)
class FormatResult:
    """The canonical text, or the reason why formatting failed.

    Attributes:
        text: None if the text has syntax errors or the verification failed.
        diagnostics: the syntax errors.
        problem: the message about a defect in the formatter, or "".
    """

    text: str | None
    diagnostics: tuple[diagnostics.Diagnostic, ...] = ()
    problem: str = ""


def format_text(text: source.SourceText) -> FormatResult:
    """Parse and format a policy text."""
    return format_parsed(parser.parse_policy_text(text))


def format_parsed(parsed: parser.ParseResult) -> FormatResult:
    """Format a policy text that has already been parsed."""
    if parsed.diagnostics:
        return FormatResult(None, parsed.diagnostics)
    formatted = _PolicyFormatter(parsed).run()
    if formatted == parsed.text.text:
        return FormatResult(formatted)  # unchanged: nothing to verify
    again = parser.parse_policy_text(source.SourceText(parsed.text.name, formatted))
    if again.diagnostics or again.file != parsed.file:
        return FormatResult(None, problem="the formatted text would have a different meaning")
    if _list_comments(again.file) != _list_comments(parsed.file):
        return FormatResult(None, problem="the formatted text would lose or reorder comments")
    if _PolicyFormatter(again).run() != formatted:
        return FormatResult(None, problem="formatting the text twice would give different results")
    return FormatResult(formatted)


def _list_comments(file: syntax.SyntaxTree) -> list[str]:
    return [comment.text.rstrip() for comment in file.comments]


@dataclasses.dataclass(frozen=True, slots=True)
class _FormattedItemOrStatement:
    """An item or statement to print.

    Attributes:
        start: offset of the first character.
        end: offset after the last character.
        lines: the formatted lines without the indentation of the block; empty for a block.
        block: set for a policy or profile, whose statements are printed separately.
        is_spacious: whether blank lines separate the item from its neighbours.
    """

    start: int
    end: int
    lines: tuple[str, ...]
    block: syntax.Policy | syntax.Profile | None = None
    is_spacious: bool = False


class _PolicyFormatter:
    """Formats one parsed text."""

    def __init__(self, parsed: parser.ParseResult) -> None:
        self.text = parsed.text.text
        self.file = parsed.file
        self.comments = list(parsed.file.comments)
        self.lines: list[str] = []

    def run(self) -> str:
        pieces = [self._format_item_lines(item) for item in self.file.items]
        self._print_with_comments(pieces, len(self.text), indent="")
        return "".join(f"{line}\n" for line in self.lines)

    # ------------------------------------------------------------------------ sequences

    def _print_with_comments(
        self, pieces: Sequence[_FormattedItemOrStatement], end: int, indent: str
    ) -> None:
        """Print items or statements and the comments around them, up to the offset `end`."""
        is_first = True
        was_spacious = False
        for piece in pieces:
            leading = self._pop_comments_before(piece.start)
            inner = [] if piece.block is not None else self._pop_comments_before(piece.end)
            wants_blank = (piece.is_spacious or was_spacious) and not is_first
            position = leading[0].span.start if leading else piece.start
            self._add_or_keep_blank_line(position, is_first=is_first, wanted=wants_blank)
            self._add_comment_lines(leading, piece.start, indent)
            self.lines += [indent + _format_comment(comment) for comment in inner]
            if piece.block is not None:
                self._add_block(piece.block)
            else:
                self.lines += [indent + line if line else line for line in piece.lines]
            self._add_trailing_comment(piece.end)
            is_first, was_spacious = False, piece.is_spacious
        rest = self._pop_comments_before(end)
        if rest:
            self._add_or_keep_blank_line(rest[0].span.start, is_first=is_first, wanted=False)
            self._add_comment_lines(rest, end, indent)

    def _add_block(self, block: syntax.Policy | syntax.Profile) -> None:
        """Print `policy name {`, its statements and `}`."""
        keyword = block.keyword if isinstance(block, syntax.Policy) else "profile"
        self.lines.append(f"{keyword} {layout.value(block.name)} {{")
        opening = self.text.index("{", block.name.span.end)
        for comment in self._pop_comments_before(opening):
            self.lines.insert(-1, _format_comment(comment))
        self._add_trailing_comment(opening + 1)
        pieces = [self._format_statement_lines(node) for node in block.statements]
        self._print_with_comments(pieces, block.span.end - 1, indent=layout.INDENT)
        self.lines.append("}")

    def _format_item_lines(self, item: syntax.Item) -> _FormattedItemOrStatement:
        start, end = item.span.start, item.span.end
        if isinstance(item, (syntax.Policy, syntax.Profile)):
            return _FormattedItemOrStatement(start, end, (), block=item, is_spacious=True)
        lines = tuple(layout.format_item(item))
        return _FormattedItemOrStatement(start, end, lines, is_spacious=isinstance(item, _BLOCKS))

    def _format_statement_lines(
        self, node: syntax.Statement | syntax.ProfileStatement
    ) -> _FormattedItemOrStatement:
        lines = tuple(layout.format_statement(node))
        return _FormattedItemOrStatement(node.span.start, node.span.end, lines)

    # ------------------------------------------------------------------------ comments, blanks

    def _pop_comments_before(self, end: int) -> list[syntax.Comment]:
        """Remove and return the comments that start before the offset `end`."""
        taken = []
        while self.comments and self.comments[0].span.start < end:
            taken.append(self.comments.pop(0))
        return taken

    def _add_comment_lines(self, comments: Iterable[syntax.Comment], end: int, indent: str) -> None:
        """Print comments on their own lines, with the blank lines between and after them."""
        previous = -1
        for comment in comments:
            if previous >= 0 and self._has_blank_line(previous, comment.span.start):
                self.lines.append("")
            self.lines.append(indent + _format_comment(comment))
            previous = comment.span.end
        if previous >= 0 and end < len(self.text) and self._has_blank_line(previous, end):
            self.lines.append("")

    def _add_trailing_comment(self, offset: int) -> None:
        """If a comment follows `offset` on the same line, append it to the last printed line."""
        if not self.comments:
            return
        comment = self.comments[0]
        between = self.text[offset : comment.span.start]
        if comment.span.start >= offset and not between.strip(" \t\r"):
            self.lines[-1] += f"  {_format_comment(comment)}"
            self.comments.pop(0)

    def _add_or_keep_blank_line(self, start: int, *, is_first: bool, wanted: bool) -> None:
        """Print a blank line before `start` if it is wanted or the text has one."""
        if is_first:
            return
        before = self.text[:start].rstrip(" \t\r")
        if wanted or (before.endswith("\n") and before[:-1].rstrip(" \t\r").endswith("\n")):
            self.lines.append("")

    def _has_blank_line(self, start: int, end: int) -> bool:
        between = self.text[start:end].replace("\r", "").replace(" ", "").replace("\t", "")
        return between.startswith("\n\n")


def _format_comment(comment: syntax.Comment) -> str:
    return comment.text.rstrip()
