"""Fixes that replace one word, and titles of fixes.

The rule of all fixes, of `check` as well as of `lint`: one is safe only if the text that it
replaces has exactly one reading, and the new text says that. Everything else is a suggestion:
editors offer it by name, and only `--unsafe-fixes` applies it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from policysched.lang import diagnostics, source, spelling, syntax_words

_MAX_SHOWN = 60
"""Longest text in a title: menus are narrow."""


def replacement(span: source.Span, text: str) -> diagnostics.Fix:
    """Return the suggestion to write a text there; it is one of several readings."""
    return diagnostics.Fix((diagnostics.Edit(span, text),), safe=False)


def respelt(span: source.Span, word: str, meant: str, allowed: Collection[str]) -> diagnostics.Fix:
    """Return the fix that writes `meant` for `word`; it is safe if the word can be nothing else.

    Args:
        span: place of the word.
        word: what is written there.
        meant: the nearest of the allowed words.
        allowed: what may stand there; keywords of other places count as well.
    """
    is_safe = spelling.has_one_reading(word, meant, {*allowed, *syntax_words.ALL_KEYWORDS})
    return diagnostics.Fix((diagnostics.Edit(span, meant),), safe=is_safe)


def title(fix: diagnostics.Fix, texts: Mapping[str, source.SourceText]) -> str:
    """Return the title of a fix, an action: "Replace `Inn` by `In`"."""
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
        return f"Insert {_shown(new)}"
    return f"Replace {_shown(old)} by {_shown(new)}" if new.strip() else f"Remove {_shown(old)}"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line}`" if len(line) <= _MAX_SHOWN else f"`{line[: _MAX_SHOWN - 1]}…`"
