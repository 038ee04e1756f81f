"""Workflow commands of GitHub Actions, which annotate the lines of a pull request.

Values are escaped as in actions/toolkit (packages/core/src/command.ts).
"""

from __future__ import annotations

from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter
from policysched.lint.formats import file_regions

_COMMANDS = {
    diagnostics.Severity.ERROR: "error",
    diagnostics.Severity.WARNING: "warning",
    diagnostics.Severity.INFO: "notice",
}


def render(report: linter.LintResult) -> str:
    """Return one command for each finding."""
    return "\n".join(_render_annotation_command(finding, report) for finding in report.findings)


def _render_annotation_command(finding: diagnostics.Diagnostic, report: linter.LintResult) -> str:
    """Return the command that annotates the location of a finding."""
    place = file_regions.locate_span(finding.span, report.texts)
    properties = {
        "file": file_regions.make_relative_path(place.file),
        "line": place.line,
        "endLine": place.end_line,
        "title": f"policysched {finding.code}",
    }
    if place.line == place.end_line:  # GitHub rejects columns in multi-line ranges
        properties |= {"col": place.column, "endColumn": place.end_column}
    shown = ",".join(
        f"{name}={_escape_command_property(str(value))}" for name, value in properties.items()
    )
    advice = f"; {finding.help}" if finding.help else ""
    return (
        f"::{_COMMANDS[finding.severity]} {shown}::{_escape_command_data(finding.message + advice)}"
    )


def _escape_command_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_command_property(text: str) -> str:
    return _escape_command_data(text).replace(":", "%3A").replace(",", "%2C")
