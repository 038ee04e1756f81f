"""Make fixes that replace one word, and titles of fixes.

A fix of `check` or `lint` is safe only if the replaced text has exactly one meaning and the new
text expresses it. Any other fix is a suggestion, which editors offer by its title and only
`--unsafe-fixes` applies.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping

from policysched import spelling
from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.words import syntax_words

_MAX_SHOWN = 60
"""Maximum length of a text in a title, because menus in editors are narrow."""
_JOINED = re.compile(r"[\w./%-]{2}|[=<>!&|]{2}")
"""Two characters that would merge into one word or sign without a blank between them."""


def make_replacement_fix(span: source.Span, text: str) -> diagnostics.Fix:
    """Return an unsafe fix that replaces the text under `span` with one of several candidates."""
    return diagnostics.Fix((diagnostics.TextEdit(span, text),), safe=False)


def make_respelling_fix(
    span: source.Span, word: str, meant: str, allowed: Collection[str]
) -> diagnostics.Fix:
    """Return the fix that replaces `word` with `meant`; safe if the misspelling is unambiguous.

    Args:
        span: range of the word in the text.
        word: the word in the text.
        meant: the most similar allowed word.
        allowed: the words that are valid at this place. Any other similar keyword, valid or not,
            makes the fix unsafe.
    """
    is_safe = spelling.is_unambiguous_misspelling(
        word, meant, {*allowed, *syntax_words.ALL_KEYWORDS}
    )
    return diagnostics.Fix((diagnostics.TextEdit(span, meant),), safe=is_safe)


def pad_fix_with_blanks(
    fix: diagnostics.Fix, texts: Mapping[str, source.SourceText]
) -> diagnostics.Fix:
    """Return the fix with the blanks that separate its words from adjacent words."""
    edits = tuple(
        dataclasses.replace(
            edit,
            replacement=pad_replacement_with_blanks(
                texts[edit.span.file].text, edit.span.start, edit.span.end, edit.replacement
            ),
        )
        for edit in fix.edits
    )
    return dataclasses.replace(fix, edits=edits)


def pad_replacement_with_blanks(text: str, start: int, end: int, replacement: str) -> str:
    """Add the blanks without which a replacement would merge two words or signs.

    Args:
        text: the whole text.
        start: offset of the replaced range, which can begin inside a word.
        end: offset after the replaced range.
        replacement: the new text, "" to remove the range.
    """
    was_apart = not _JOINED.fullmatch(text[max(start - 1, 0) : start + 1])
    if not replacement:
        is_within = not was_apart or _JOINED.fullmatch(text[max(end - 1, 0) : end + 1])
        joins = _JOINED.fullmatch(text[max(start - 1, 0) : start] + text[end : end + 1])
        return " " if joins and not is_within else ""
    if was_apart and _JOINED.fullmatch(text[max(start - 1, 0) : start] + replacement[0]):
        replacement = " " + replacement
    if _JOINED.fullmatch(text[max(end - 1, 0) : end + 1]):
        return replacement
    is_joined = _JOINED.fullmatch(replacement[-1] + text[end : end + 1])
    return replacement + " " if is_joined else replacement


def make_fix_title(fix: diagnostics.Fix, texts: Mapping[str, source.SourceText]) -> str:
    """Return the title of a fix as an action, such as "Replace `Inn` with `In`"."""
    if fix.title:
        return fix.title
    start = min(edit.span.start for edit in fix.edits)
    end = max(edit.span.end for edit in fix.edits)
    written = texts[fix.edits[0].span.file].text
    old, new = written[start:end], ""
    for edit in sorted(fix.edits, key=lambda each: (each.span.start, each.span.end)):
        new += written[start : edit.span.start] + edit.replacement
        start = edit.span.end
    if not old.strip():
        return f"Insert {_quote_for_title(new)}"
    return (
        f"Replace {_quote_for_title(old)} with {_quote_for_title(new)}"
        if new.strip()
        else f"Remove {_quote_for_title(old)}"
    )


def _quote_for_title(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line}`" if len(line) <= _MAX_SHOWN else f"`{line[: _MAX_SHOWN - 1]}…`"
