"""Migrate policy texts from a former version of the language to the current one.

There is one step from each version to the next. A step works on lexemes, not on a tree, because the
grammar of a former version no longer exists. It returns the ranges of text to replace, so layout
and comments are kept. The result is verified before it is returned.
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
    """The migration from one version to the next.

    Attributes:
        to_version: the version after the step.
        edits: returns the edits of a text in the version before; they must not overlap and must
            keep comments.
    """

    to_version: int
    edits: Callable[[scanner.LexemeScan], Iterable[diagnostics.TextEdit]]


STEPS: tuple[MigrationStep, ...] = ()
"""One step for each version after the first, in order; there is only one version so far."""


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationResult:
    """A text of the current version, or the reason why there is none.

    Attributes:
        text: None if the text has errors or the verification of the result failed.
        diagnostics: the errors.
        problem: a defect of a step, or "".
    """

    text: str | None
    diagnostics: tuple[diagnostics.Diagnostic, ...] = ()
    problem: str = ""


def migrate_policy_text(
    text: source.SourceText, steps: Sequence[MigrationStep] = STEPS
) -> MigrationResult:
    """Return the text in the current version, with its `version` statement added or updated."""
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
    """Return the result if it parses and has all comments, else its errors or its problem."""
    if _list_comment_texts(migrated) != _list_comment_texts(text):
        return MigrationResult(None, problem="the migrated text would lose or reorder comments")
    if current == versions.CURRENT:
        parsed = parser.parse_policy_text(migrated)
        if parsed.diagnostics:
            # Without a step in between, the original text has the same errors. Its diagnostics have
            # the right places.
            found = parser.parse_policy_text(text).diagnostics
            return MigrationResult(None, found or parsed.diagnostics)
        if any(isinstance(item, syntax.Version) for item in parsed.file.items[1:]):
            return MigrationResult(None, problem="`version` must come first, and only once")
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
    """Return the offset for the `version` statement: after a header comment, else 0.

    A header comment starts the text and is followed by a blank line. Any other comment belongs to
    the item that follows it.
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
    """Return the text with the edits; the last one is applied first, so that offsets stay valid."""
    content = text.text
    for edit in sorted(edits, key=lambda each: each.span.start, reverse=True):
        content = content[: edit.span.start] + edit.replacement + content[edit.span.end :]
    return source.SourceText(text.name, content)
