"""Migrate policy texts from an earlier version of the language to the current version.

There is one step from each version to the next. A step works on lexemes, not on a tree, because the
grammar of an earlier version no longer exists. It returns the ranges to replace, so layout and
comments are kept. The result is verified before it is returned.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import former_words, parser, scanner, versions
from policysched.lang.syntax import syntax


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationStep:
    """The migration from a version to the next version.

    Attributes:
        to_version: the version that results from the step.
        edits: returns the edits for a text of the previous version; they must not overlap and must
            keep comments.
    """

    to_version: int
    edits: Callable[[scanner.LexemeScan], Iterable[diagnostics.TextEdit]]


def _replace_former_words(scan: scanner.LexemeScan) -> Iterable[diagnostics.TextEdit]:
    for former in former_words.find_namespace_labels(scan):
        yield from former.edits


STEPS: tuple[MigrationStep, ...] = (MigrationStep(2, _replace_former_words),)
"""One step for each version after the first, in order."""


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationResult:
    """A text of the current version, or the reason why the migration failed.

    Attributes:
        text: None if the text has errors or the verification failed.
        diagnostics: the errors.
        problem: the message about a defect in a step, or "".
    """

    text: str | None
    diagnostics: tuple[diagnostics.Diagnostic, ...] = ()
    problem: str = ""


def migrate_policy_text(
    text: source.SourceText, steps: Sequence[MigrationStep] = STEPS
) -> MigrationResult:
    """Migrate a text to the current version, and add or update its `version` statement."""
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
    """Check that the migrated text parses and has all comments; return a result either way."""
    if _list_comment_texts(migrated) != _list_comment_texts(text):
        return MigrationResult(None, problem="the migrated text would lose or reorder comments")
    if current == versions.CURRENT:
        parsed = parser.parse_policy_text(migrated)
        if parsed.diagnostics:
            # If no step was applied, the original text has the same errors, and only its
            # diagnostics have the right positions.
            found = parser.parse_policy_text(text).diagnostics
            return MigrationResult(None, found or parsed.diagnostics)
        if any(isinstance(item, syntax.Version) for item in parsed.file.items[1:]):
            return MigrationResult(None, problem="`version` must come first, and only once")
    return MigrationResult(migrated.text)


def _list_comment_texts(text: source.SourceText) -> list[str]:
    return [comment.text for comment in scanner.LexemeScan(text).comments]


def _set_text_version(text: source.SourceText, current: int) -> source.SourceText:
    """Update the number in the `version` statement, or add the statement."""
    number = versions.find_declared_version(scanner.LexemeScan(text))
    if number is not None:
        edit = diagnostics.TextEdit(text.span(number.start, number.end), str(current))
        return _apply_edits(text, [edit])
    at = _find_version_insertion_offset(text.text)
    line_end = "\r\n" if "\r\n" in text.text else "\n"
    blank = line_end if text.text[at:].strip() else ""
    statement = f"version {current}{line_end}{blank}"
    return source.SourceText(text.name, text.text[:at] + statement + text.text[at:])


def _find_version_insertion_offset(text: str) -> int:
    """Return the offset for a new `version` statement: after a header comment, or else 0.

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
    """Apply edits to a text, from last to first so that the offsets stay valid."""
    content = text.text
    for edit in sorted(edits, key=lambda each: each.span.start, reverse=True):
        content = content[: edit.span.start] + edit.replacement + content[edit.span.end :]
    return source.SourceText(text.name, content)
