"""The JSON format of schemas/lint.schema.json."""

from __future__ import annotations

from typing import Any

from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter
from policysched.lint.formats import file_regions


def as_json(report: linter.LintResult) -> dict[str, Any]:
    """Return the findings; places refer to the files that the user edits."""
    severities = [finding.severity for finding in report.findings]
    return {
        "files": sorted({place.file for place in _locate_findings(report)}),
        "errors": severities.count(diagnostics.Severity.ERROR),
        "warnings": severities.count(diagnostics.Severity.WARNING),
        "infos": severities.count(diagnostics.Severity.INFO),
        "silenced": report.silenced,
        "findings": [_make_json_finding(finding, report) for finding in report.findings],
    }


def _locate_findings(report: linter.LintResult) -> list[file_regions.FileRegion]:
    return [
        file_regions.locate_span(text.span(0, 0), report.texts)
        for text in report.texts.values()
        if text.text
    ]


def _make_json_finding(
    finding: diagnostics.Diagnostic, report: linter.LintResult
) -> dict[str, Any]:
    """Return a finding with its places, notes and fix."""
    edits = file_regions.locate_fix_edits(finding.fix, report.texts)
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "place": _make_json_location(file_regions.locate_span(finding.span, report.texts)),
        "secondary": [
            {
                "place": _make_json_location(file_regions.locate_span(label.span, report.texts)),
                "text": label.text,
            }
            for label in finding.secondary
        ],
        "notes": list(finding.notes),
        "help": finding.help,
        "fix": None if finding.fix is None or not edits else _make_json_fix(finding.fix, edits),
    }


def _make_json_fix(
    fix: diagnostics.Fix, edits: list[tuple[file_regions.FileRegion, str]]
) -> dict[str, Any]:
    """Return a fix with its edits in the files that the user edits."""
    return {
        "safe": fix.safe,
        "edits": [
            {"place": _make_json_location(place), "replacement": replacement}
            for place, replacement in edits
        ],
    }


def _make_json_location(place: file_regions.FileRegion) -> dict[str, Any]:
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
