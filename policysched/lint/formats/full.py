"""Findings for people: with the line, a caret below it, and the edit to make."""

from __future__ import annotations

from policysched.lang import rendering
from policysched.lint import linter
from policysched.lint.formats import places


def render(report: linter.Report) -> str:
    """Return all findings, a blank line between any two."""
    shown = []
    for finding in report.findings:
        place = places.of(finding.span, report.texts)
        first, _, rest = rendering.render(finding, report.texts).partition("\n")
        _, _, rest = rest.partition("\n")
        where = f"  --> {place.file}:{place.line}:{place.column}"
        shown.append("\n".join(part for part in (first, where, rest) if part))
    return "\n\n".join(shown)
