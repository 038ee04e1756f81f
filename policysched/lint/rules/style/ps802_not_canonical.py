"""PS802: a text that is not in canonical form."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang import source
from policysched.lang.diagnostics import diagnostics
from policysched.lang.formatting import formatter
from policysched.lint import rule, rule_input


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each text that formatting changes, with the fix that formats it."""
    for result in about.parsed:
        text = result.text
        formatted = formatter.format_parsed(result).text
        if formatted is None or text.fitted(formatted) == text.text:
            continue
        formatted = text.fitted(formatted)
        start, end, replacement = _find_differing_range(text.text, formatted)
        span = text.span(start, end)
        yield diagnostics.Diagnostic(
            "PS802",
            "this text is not in canonical form",
            _get_first_line(text, start, end),
            help="run `policysched lint --fix` or `policysched fmt --write`",
            fix=diagnostics.Fix(
                (diagnostics.TextEdit(span, replacement),), safe=True, title="Format this text"
            ),
        )


def _find_differing_range(old: str, new: str) -> tuple[int, int, str]:
    """Return the range of `old` that differs, and its replacement in `new`."""
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    back = 0
    while back < shorter - start and old[-1 - back] == new[-1 - back]:
        back += 1
    return start, len(old) - back, new[start : len(new) - back]


def _get_first_line(text: source.SourceText, start: int, end: int) -> source.Span:
    newline = text.text.find("\n", start, end)
    return text.span(start, end if newline < 0 else newline)


RULE = rule.LintRule("PS802", diagnostics.Severity.INFO, _find_violations)
