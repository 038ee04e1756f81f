"""Renames a symbol in all texts, or gives the reason for a refusal."""

from __future__ import annotations

import dataclasses

from policysched.lang import source
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.language_server.project import programs
from policysched.language_server.words import names
from policysched.lint import fixing

_RENAMED = ("let", "param", "metric", "policy", "rule")


@dataclasses.dataclass(frozen=True, slots=True)
class RenameRefusal:
    """The reason why a symbol cannot be renamed."""

    reason: str


def find_rename_target(
    program: programs.PolicyProgram, text: str, offset: int
) -> names.NameOccurrence | None:
    """Return the name at an offset if it can be renamed."""
    found = program.name_index.find_name_at(text, offset)
    if found is None or found.symbol.kind not in _RENAMED:
        return None
    return found if program.name_index.find_definition(found.symbol) is not None else None


def rename_symbol(
    program: programs.PolicyProgram, text: str, offset: int, new: str
) -> list[diagnostics.TextEdit] | RenameRefusal:
    """Return the edits to all texts, or the reason for a refusal.

    A rename is refused if it would increase the number of errors. It is also refused if parts of
    the texts have syntax errors, because these parts may use the name.
    """
    found = find_rename_target(program, text, offset)
    if found is None:
        return RenameRefusal("there is no name to change here")
    problem = names.find_name_problem(found.symbol, new)
    if problem:
        return RenameRefusal(problem)
    if any(result.damaged for result in program.check_result.parsed):
        return RenameRefusal(
            "some statements cannot be parsed and may contain the name; correct them first"
        )
    edits = [
        diagnostics.TextEdit(each.span, new)
        for each in program.name_index.find_occurrences(found.symbol)
    ]
    return _find_new_error(program, edits) or edits


def _find_new_error(
    program: programs.PolicyProgram, edits: list[diagnostics.TextEdit]
) -> RenameRefusal | None:
    """Return a refusal with the first error if the renamed texts have more errors than before."""
    renamed = [
        source.SourceText(
            text.name,
            fixing.apply_text_edits(
                text.text, (each for each in edits if each.span.file == text.name)
            ),
        )
        for text in program.texts
    ]
    after = checker.check(renamed, plugins=program.known.plugins)
    before = len(_list_errors(program.check_result.diagnostics))
    errors = _list_errors(after.diagnostics)
    return RenameRefusal(errors[0].message) if len(errors) > before else None


def _list_errors(found: tuple[diagnostics.Diagnostic, ...]) -> list[diagnostics.Diagnostic]:
    return [each for each in found if each.severity is diagnostics.Severity.ERROR]
