"""Recognise comments of other languages at the place of a syntax error."""

from __future__ import annotations

import re

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.parsing import scanner
from policysched.lang.parsing.syntax_errors import fault_place

_DIVISOR = r"[ \t]*[\d.]+[a-zA-Z]*[ \t]*(?:[<>=!+*/)-]|$)"
"""Matches the text after `//` if the sign means division, as in Python."""
_COMMENT = re.compile(rf"//(?!{_DIVISOR})|/\*|--(?!-)|;", re.MULTILINE)
_BLOCK_END = "*/"


def find_foreign_comment(place: fault_place.ErrorPosition) -> tuple[int, int] | None:
    """Return the start and end of a foreign comment that contains the error, or None.

    The comment can begin before the error on the same line, because its sign can be valid in an
    expression: `2 // x` begins as a division, and `2 -- x y` is a double minus up to `y`.
    """
    found, text = place.lexeme_at_error, place.scan.source
    if found is None:
        return None
    line_start = text.line_start(text.position(found.start)[0])
    for lexeme in place.scan.list_lexemes_between(max(line_start, place.chunk.start), found.end):
        sign = _COMMENT.match(text.text, lexeme.start) if lexeme.kind == "sign" else None
        if sign is not None and (sign[0] != ";" or place.scan.is_first_on_line(lexeme.start)):
            return lexeme.start, _find_comment_end(text.text, lexeme.start, sign[0])
    return None


def diagnose_comment_around_literal(
    scan: scanner.LexemeScan, literal: scanner.Lexeme
) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for `// say "hello`, where the quotation mark opens no string."""
    text = scan.source
    line_start = text.line_start(text.position(literal.start)[0])
    for lexeme in scan.list_lexemes_between(line_start, literal.start):
        if lexeme.kind == "sign" and text.text.startswith("//", lexeme.start):
            return _make_comment_diagnostic("//", text.span(lexeme.start, lexeme.start + 2))
    return None


def _find_comment_end(text: str, start: int, sign: str) -> int:
    closing = text.find(_BLOCK_END, start) if sign == "/*" else -1
    newline = text.find("\n", start)
    if closing >= 0:
        return closing + len(_BLOCK_END)
    return newline if newline >= 0 else len(text)


def diagnose_foreign_comment(place: fault_place.ErrorPosition) -> diagnostics.Diagnostic | None:
    """Return the diagnostic for `// comment` and similar comments."""
    stretch = find_foreign_comment(place)
    if stretch is None:
        return None
    text = place.scan.source
    start, end = stretch
    sign = _COMMENT.match(text.text, start)
    written = sign[0] if sign else ""
    behind = text.text[start + len(written) : end]
    if written == ";" and not behind.strip():
        return None
    span = text.span(start, start + len(written))
    return _make_comment_diagnostic(
        written, span, _make_comment_move_fix(text, start, end) if written == "/*" else None
    )


def _make_comment_diagnostic(
    written: str, span: source.Span, fix: diagnostics.Fix | None = None
) -> diagnostics.Diagnostic:
    """Return the diagnostic for a foreign comment that begins with `written`."""
    if written != "/*":
        fix = fixes.make_replacement_fix(span, "#")
    return diagnostics.Diagnostic(
        "PS003",
        f"`{written}` does not begin a comment",
        span,
        help="comments begin with `#` and end with the line",
        fix=fix,
    )


def _make_comment_move_fix(text: source.SourceText, start: int, end: int) -> diagnostics.Fix | None:
    """Return the fix that moves a comment between `/*` and `*/` to the end of its line."""
    written = text.text[start:end]
    if "\n" in written or not written.endswith(_BLOCK_END):
        return None
    line_end = _find_comment_end(text.text, end, "")
    comment = f"  # {written[2:-2].strip()}"
    return diagnostics.Fix(
        (
            diagnostics.TextEdit(text.span(start, end), ""),
            diagnostics.TextEdit(text.span(line_end, line_end), comment),
        ),
        safe=False,
    )
