"""Edits of whole lines that turn one text into another."""

from __future__ import annotations

import difflib

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics


def compute_text_edits(before: source.SourceText, after: str) -> list[diagnostics.TextEdit]:
    """Return non-overlapping edits of changed lines; a cursor in other lines stays in place."""
    old = before.text.split("\n")
    new = after.split("\n")
    starts = [before.line_start(number) for number in range(1, before.line_count + 1)]
    starts.append(len(before.text) + 1)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    found = []
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag != "equal":
            found.append(
                _make_line_edit(before, (starts[first], starts[last]), new[new_first:new_last])
            )
    return found


def _make_line_edit(
    before: source.SourceText, lines: tuple[int, int], new: list[str]
) -> diagnostics.TextEdit:
    """Return the edit that replaces some lines; the last line of a text has no line ending."""
    start, end = lines
    replacement = "".join(f"{line}\n" for line in new)
    if end > len(before.text):
        end = len(before.text)
        replacement = replacement.removesuffix("\n")
        if start > end:
            start, replacement = end, f"\n{replacement}"
        elif not new and start > 0:
            start -= 1
    return diagnostics.TextEdit(before.span(start, end), replacement)
