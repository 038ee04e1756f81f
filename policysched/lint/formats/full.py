"""Findings with the lines that they are about, as `policysched check` shows errors."""

from __future__ import annotations

from policysched.lang.diagnostics import rendering
from policysched.lint import linter


def render(report: linter.LintResult) -> str:
    """Return all findings, a blank line between any two."""
    return "\n\n".join(
        rendering.render_diagnostic(finding, report.texts) for finding in report.findings
    )
