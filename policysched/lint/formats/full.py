"""Findings with their source lines, in the form of errors from `policysched check`."""

from __future__ import annotations

from policysched.lang.diagnostics import rendering
from policysched.lint import linter


def render(report: linter.LintResult) -> str:
    """Return all findings, separated by blank lines."""
    return "\n\n".join(
        rendering.render_diagnostic(finding, report.texts) for finding in report.findings
    )
