"""Code actions: fixes of findings, all safe fixes at once, and comments that ignore findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics, fixes
from policysched.lang.syntax import syntax, syntax_expr
from policysched.language_server.project import programs
from policysched.language_server.texts import differences

Kind: TypeAlias = Literal["quickfix", "source.fixAll"]
_REASON = "say why"


@dataclasses.dataclass(frozen=True, slots=True)
class EditorAction:
    """Edits that an editor offers under one title.

    Attributes:
        finding: the finding that the edits resolve; None for edits to a whole text.
        is_preferred: LSP's `isPreferred`: the editor can choose this action for an auto-fix
            command.
    """

    title: str
    kind: Kind
    edits: tuple[diagnostics.TextEdit, ...]
    finding: diagnostics.Diagnostic | None = None
    is_preferred: bool = False


def list_code_actions(
    program: programs.PolicyProgram, text: str, start: int, end: int
) -> Iterator[EditorAction]:
    """Yield the actions for a range, without the action of `make_fix_all_actions`."""
    here = [
        each
        for each in program.lint_result.findings
        if each.span.file == text and each.span.start <= end and start <= each.span.end
    ]
    for finding in here:
        if finding.fix is not None:
            yield _make_fix_action(program, finding, finding.fix)
    for finding in here:
        if finding.code in diagnostics.LINT_CODES and finding.code != "PS803":
            yield _make_ignore_comment_action(program, finding)


def _make_fix_action(
    program: programs.PolicyProgram, finding: diagnostics.Diagnostic, fix: diagnostics.Fix
) -> EditorAction:
    title = fixes.make_fix_title(fix, program.check_result.texts)
    title += "" if fix.safe else f" (unsafe, {finding.code})"
    return EditorAction(title, "quickfix", fix.edits, finding, is_preferred=fix.safe)


def _make_ignore_comment_action(
    program: programs.PolicyProgram, finding: diagnostics.Diagnostic
) -> EditorAction:
    """Return the action that inserts an ignore comment before the statement of a finding.

    The comment is on its own line.
    """
    text = program.check_result.texts[finding.span.file]
    begin = _find_statement_start(program, finding.span)
    line, column = text.position(begin)
    line_start = text.line_start(line)
    blanks = text.text[line_start:begin]
    indent = blanks if not blanks.strip() else " " * (column - 1)
    comment = f"{indent}# policysched: ignore[{finding.code}] {_REASON}\n"
    edit = diagnostics.TextEdit(text.span(line_start, line_start), comment)
    return EditorAction(f"Ignore {finding.code} here, with a reason", "quickfix", (edit,), finding)


def _find_statement_start(program: programs.PolicyProgram, span: source.Span) -> int:
    """Return the start of the innermost item or statement that contains a span."""
    nodes: list[syntax_expr.SyntaxNode] = []
    for item in program.parsed[span.file].file.items:
        inner = item.statements if isinstance(item, syntax.Policy | syntax.Profile) else ()
        nodes += (item, *inner)
    around = [each.span.start for each in nodes if each.span.start <= span.start <= each.span.end]
    return around[-1] if around else program.check_result.texts[span.file].line_start(span.line)


def make_fix_all_actions(program: programs.PolicyProgram, text: str) -> Iterator[EditorAction]:
    """Yield one action with all safe fixes of a text, if there are any."""
    if not any(
        each.fix is not None and each.fix.safe and each.span.file == text
        for each in program.lint_result.findings
    ):
        return
    before = program.check_result.texts[text]
    edits = _compute_safe_fix_edits(program, before)
    if edits:
        yield EditorAction("Apply all safe fixes", "source.fixAll", tuple(edits))


def _compute_safe_fix_edits(
    program: programs.PolicyProgram, before: source.SourceText
) -> Sequence[diagnostics.TextEdit]:
    """Return the edits of all safe fixes in a text, except fixes that overlap an earlier fix."""
    if before.name in program.texts_with_fixes:
        return differences.compute_text_edits(before, program.texts_with_fixes[before.name])
    taken: list[diagnostics.TextEdit] = []  # a program with errors has only the fixes of `check`
    for finding in program.lint_result.findings:
        fix = finding.fix
        if fix is None or not fix.safe or any(each.span.file != before.name for each in fix.edits):
            continue
        if not any(_do_edits_touch(edit, other) for edit in fix.edits for other in taken):
            taken += fix.edits
    return taken


def _do_edits_touch(one: diagnostics.TextEdit, other: diagnostics.TextEdit) -> bool:
    return one.span.start <= other.span.end and other.span.start <= one.span.end
