"""Formats a text, or a range of it, canonically."""

from __future__ import annotations

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.formatting import formatter
from policysched.language_server.texts import differences


def make_formatting_edits(text: source.SourceText) -> list[diagnostics.TextEdit]:
    """Return the edits that `policysched fmt` would make; none for a text with syntax errors."""
    result = formatter.format_text(text)
    if result.text is None:
        return []
    return differences.compute_text_edits(text, result.text)


def make_range_formatting_edits(
    text: source.SourceText, start: int, end: int
) -> list[diagnostics.TextEdit]:
    """Return the formatting edits that touch a range of a text; they can extend beyond it."""
    return [
        each
        for each in make_formatting_edits(text)
        if each.span.start <= end and start <= each.span.end
    ]
