"""Report control and bidirectional characters in comments, strings and queries."""

from __future__ import annotations

from collections.abc import Iterator

from policysched import control_characters
from policysched.lang import source, text_limits
from policysched.lang.checking import diagnostic_collector
from policysched.lang.diagnostics import diagnostics
from policysched.lang.parsing import scanner
from policysched.lang.words import characters

_HOLDERS = {"comment": "comment", "string": "string", "promql": "query"}
"""Kind of lexeme -> its name in messages."""


def check_suspect_characters(
    text: source.SourceText, found: diagnostic_collector.DiagnosticCollector
) -> None:
    """Report control characters as errors and bidirectional ones as warnings, at most one per line.

    Outside comments, strings and queries, the parser refuses both.
    """
    lines: set[int] = set()
    for start, holder in _locate_suspect_characters(text):
        line, _ = text.position(start)
        if line in lines or len(lines) >= text_limits.MAX_DIAGNOSTICS:
            continue
        lines.add(line)
        char = text.text[start]
        report = (
            _diagnose_control_character
            if control_characters.is_control_character(char)
            else _diagnose_bidirectional
        )
        found.add_diagnostic(report(char, holder, text.span(start, start + 1)))


def _locate_suspect_characters(text: source.SourceText) -> Iterator[tuple[int, str]]:
    """Yield the offset of each suspect character and the kind of the lexeme that contains it."""
    unseen = control_characters.UNSEEN
    if unseen.search(text.text) is None:
        return
    scan = scanner.LexemeScan(text)
    for lexeme in (*scan.lexemes, *scan.comments):
        if lexeme.kind in _HOLDERS:
            for match in unseen.finditer(text.text, lexeme.start, lexeme.end):
                yield match.start(), _HOLDERS[lexeme.kind]


def _diagnose_control_character(
    char: str, holder: str, span: source.Span
) -> diagnostics.Diagnostic:
    """Return the error for a control character, with a fix that removes it."""
    return diagnostics.Diagnostic(
        "PS003",
        f"the {holder} contains the control character {characters.describe_character(char)}",
        span,
        notes=("terminals interpret this character",),
        help="remove it",
        fix=_make_removal_fix(char, span),
    )


def _diagnose_bidirectional(char: str, holder: str, span: source.Span) -> diagnostics.Diagnostic:
    """Return the warning for a bidirectional character, with a fix that removes it."""
    name = characters.describe_character(char)
    return diagnostics.Diagnostic(
        "PS807",
        f"the {holder} contains the bidirectional control character {name}",
        span,
        notes=("editors may show the text after it in a different order",),
        help="remove it",
        fix=_make_removal_fix(char, span),
        severity=diagnostics.Severity.WARNING,
    )


def _make_removal_fix(char: str, span: source.Span) -> diagnostics.Fix:
    title = f"Remove {characters.describe_character(char)}"
    return diagnostics.Fix((diagnostics.TextEdit(span, ""),), safe=False, title=title)
