"""GitLab's code quality report, a subset of the Code Climate specification."""

from __future__ import annotations

from typing import Any

from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter
from policysched.lint.formats import file_regions

_SEVERITIES = {
    diagnostics.Severity.ERROR: "major",
    diagnostics.Severity.WARNING: "minor",
    diagnostics.Severity.INFO: "info",
}


def as_json(report: linter.LintResult) -> list[dict[str, Any]]:
    """Return one issue for each finding."""
    prints = file_regions.compute_fingerprints(report.findings, report.texts)
    return [
        _make_code_quality_issue(
            finding, print_, file_regions.locate_span(finding.span, report.texts)
        )
        for finding, print_ in zip(report.findings, prints, strict=True)
    ]


def _make_code_quality_issue(
    finding: diagnostics.Diagnostic, print_: str, place: file_regions.FileRegion
) -> dict[str, Any]:
    """Return a finding as an issue with the given fingerprint."""
    return {
        "description": f"{finding.code}: {finding.message}",
        "check_name": finding.code,
        "fingerprint": print_,
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": file_regions.make_relative_path(place.file),
            "positions": {
                "begin": {"line": place.line, "column": place.column},
                "end": {"line": place.end_line, "column": place.end_column},
            },
        },
    }
