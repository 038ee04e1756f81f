"""SARIF 2.1.0 (OASIS), as code scanning reads it: full regions, fingerprints, fixes."""

from __future__ import annotations

import urllib.parse
from typing import Any

import policysched
from policysched.lang import diagnostics
from policysched.lint import linter
from policysched.lint.formats import places

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {
    diagnostics.Severity.ERROR: "error",
    diagnostics.Severity.WARNING: "warning",
    diagnostics.Severity.INFO: "note",
}


def as_json(report: linter.Report) -> dict[str, Any]:
    """Return a log of one run."""
    codes = sorted({finding.code for finding in report.findings})
    prints = places.fingerprints(report.findings, report.texts)
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(codes)},
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(finding, print_, codes, report)
                    for finding, print_ in zip(report.findings, prints, strict=True)
                ],
            }
        ],
    }


def _driver(codes: list[str]) -> dict[str, Any]:
    titles = diagnostics.CODES | diagnostics.LINT_CODES
    return {
        "name": "policysched",
        "version": policysched.__version__,
        "rules": [{"id": code, "shortDescription": {"text": titles[code]}} for code in codes],
    }


def _result(
    finding: diagnostics.Diagnostic, print_: str, codes: list[str], report: linter.Report
) -> dict[str, Any]:
    advice = f" ({finding.help})" if finding.help else ""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message + advice},
        "locations": [_location(places.of(finding.span, report.texts))],
        "partialFingerprints": {"policysched/v1": print_},
    }
    if finding.secondary:
        result["relatedLocations"] = [
            {**_location(places.of(each.span, report.texts)), "message": {"text": each.text}}
            for each in finding.secondary
        ]
    edits = places.edits(finding.fix, report.texts)
    if edits:
        result["fixes"] = [_fix(finding, edits)]
    return result


def _fix(finding: diagnostics.Diagnostic, edits: list[tuple[places.Place, str]]) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for place, replacement in edits:
        changes.setdefault(place.file, []).append(
            {"deletedRegion": _region(place), "insertedContent": {"text": replacement}}
        )
    return {
        "description": {"text": finding.help or "fix it"},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
            for file, replacements in changes.items()
        ],
    }


def _location(place: places.Place) -> dict[str, Any]:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(place.file)},
            "region": _region(place),
        }
    }


def _region(place: places.Place) -> dict[str, Any]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _uri(file: str) -> str:
    return urllib.parse.quote(file)
