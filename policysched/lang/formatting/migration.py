"""Policy texts of a former version of the language, rewritten to the current one.

There is one step from each version to the next. It works on words and signs, not on a tree: the
grammar of a former version is gone by the time that somebody migrates. It says which stretches of
text to replace, so that layout and comments stay as they are; what it gives is proven before it is
returned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import parser, scanner, versions
from policysched.lang.syntax import syntax


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationStep:
    """From one version to the next.

    Attributes:
        to_version: the version that comes of it.
        edits: returns what to replace in a text of the version before; edits do not overlap and
            keep comments.
    """

    to_version: int
    edits: Callable[[scanner.LexemeScan], Iterable[diagnostics.TextEdit]]


STEPS: tuple[MigrationStep, ...] = ()
"""One for each version after the first, in order; there is only one version so far."""


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationResult:
    """A text of the current version, or why there is none.

    Attributes:
        text: None if the text has errors or the result could not be proven.
        diagnostics: the errors.
        problem: a defect of a step, or "".
    """

    text: str | None
    diagnostics: tuple[diagnostics.Diagnostic, ...] = ()
    problem: str = ""


def migrate_policy_text(
    text: source.SourceText, steps: Sequence[MigrationStep] = STEPS
) -> MigrationResult:
    """Return a text in the current version, which it then says; unchanged if it does already."""
    current = versions.FIRST + len(steps)
    scan = scanner.LexemeScan(text)
    newer = versions.diagnose_newer_version(scan, current)
    if newer is not None:
        return MigrationResult(None, (newer,))
    number = versions.find_declared_version(scan)
    if number is not None and versions.parse_language_version(number.text) < versions.FIRST:
        span = text.span(number.start, number.end)
        return MigrationResult(
            None, (versions.diagnose_unknown_version(number.text, span, current),)
        )
    was = versions.FIRST if number is None else versions.parse_language_version(number.text)
    migrated = _set_text_version(text, current)
    for step in steps:
        if step.to_version > was:
            migrated = _apply_edits(migrated, step.edits(scanner.LexemeScan(migrated)))
    return _verify_migration(text, migrated, current)


def _verify_migration(
    text: source.SourceText, migrated: source.SourceText, current: int
) -> MigrationResult:
    """Return the result if it can be read and has all comments."""
    if _list_comment_texts(migrated) != _list_comment_texts(text):
        return MigrationResult(None, problem="the migrated text would lose or reorder comments")
    if current == versions.CURRENT:
        parsed = parser.parse_policy_text(migrated)
        if parsed.diagnostics:
            # Without a step in between they are those of the text as it was.
            found = parser.parse_policy_text(text).diagnostics
            return MigrationResult(None, found or parsed.diagnostics)
        if any(isinstance(item, syntax.Version) for item in parsed.file.items[1:]):
            return MigrationResult(None, problem="`version` stands before everything else, once")
    return MigrationResult(migrated.text)


def _list_comment_texts(text: source.SourceText) -> list[str]:
    return [comment.text for comment in scanner.LexemeScan(text).comments]


def _set_text_version(text: source.SourceText, current: int) -> source.SourceText:
    number = versions.find_declared_version(scanner.LexemeScan(text))
    if number is not None:
        edit = diagnostics.TextEdit(text.span(number.start, number.end), str(current))
        return _apply_edits(text, [edit])
    at = _find_end_of_header(text.text)
    line_end = "\r\n" if "\r\n" in text.text else "\n"
    blank = line_end if text.text[at:].strip() else ""
    statement = f"version {current}{line_end}{blank}"
    return source.SourceText(text.name, text.text[:at] + statement + text.text[at:])


def _find_end_of_header(text: str) -> int:
    """Return where the first statement goes: behind a comment that is about the whole text.

    Such a one starts the text and is followed by a blank line; any other belongs to what follows.
    """
    end = 0
    lines = text.splitlines(keepends=True)
    for line in lines:
        if not line.startswith("#"):
            is_header = end > 0 and not line.strip()
            return end + len(line) if is_header else 0
        end += len(line)
    return 0


def _apply_edits(
    text: source.SourceText, edits: Iterable[diagnostics.TextEdit]
) -> source.SourceText:
    """Return a text with edits, the last one first, so that the places of the others hold."""
    content = text.text
    for edit in sorted(edits, key=lambda each: each.span.start, reverse=True):
        content = content[: edit.span.start] + edit.replacement + content[edit.span.end :]
    return source.SourceText(text.name, content)
