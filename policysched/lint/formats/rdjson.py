"""Reviewdog's diagnostic format (rdjson), with fixes as suggestions."""

from __future__ import annotations

from typing import Any

from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter
from policysched.lint.formats import file_regions

_SEVERITIES = {
    diagnostics.Severity.ERROR: "ERROR",
    diagnostics.Severity.WARNING: "WARNING",
    diagnostics.Severity.INFO: "INFO",
}


def as_json(report: linter.LintResult) -> dict[str, Any]:
    """Return the findings as one rdjson result."""
    return {
        "source": {"name": "policysched"},
        "diagnostics": [_make_rdjson_diagnostic(finding, report) for finding in report.findings],
    }


def _make_rdjson_diagnostic(
    finding: diagnostics.Diagnostic, report: linter.LintResult
) -> dict[str, Any]:
    """Return a finding as a diagnostic, with the edits of its fix as suggestions."""
    place = file_regions.locate_span(finding.span, report.texts)
    advice = f"; {finding.help}" if finding.help else ""
    return {
        "message": finding.message + advice,
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
        "location": {
            "path": file_regions.make_relative_path(place.file),
            "range": _make_rdjson_range(place),
        },
        "suggestions": [
            {"range": _make_rdjson_range(each), "text": replacement}
            for each, replacement in file_regions.locate_fix_edits(finding.fix, report.texts)
        ],
    }


def _make_rdjson_range(place: file_regions.FileRegion) -> dict[str, Any]:
    return {
        "start": {"line": place.line, "column": place.column},
        "end": {"line": place.end_line, "column": place.end_column},
    }
