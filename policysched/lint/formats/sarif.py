"""SARIF 2.1.0 (OASIS) for GitHub code scanning, with full regions, fingerprints and fixes."""

from __future__ import annotations

import pathlib
import urllib.parse
from collections.abc import Sequence
from typing import Any

import policysched
from policysched.lang import source
from policysched.lang.diagnostics import diagnostic_pages, diagnostics, fixes
from policysched.lint import linter
from policysched.lint.formats import file_regions

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_ROOT_MEANS = "the folder in which policysched was run"
_LEVELS = {
    diagnostics.Severity.ERROR: "error",
    diagnostics.Severity.WARNING: "warning",
    diagnostics.Severity.INFO: "note",
}


def as_json(report: linter.LintResult) -> dict[str, Any]:
    """Return a SARIF log with one run."""
    codes = sorted({finding.code for finding in report.findings})
    prints = file_regions.compute_fingerprints(report.findings, report.texts)
    return make_log(
        [_make_rule_descriptor(code) for code in codes],
        [
            _make_result(finding, print_, codes, report)
            for finding, print_ in zip(report.findings, prints, strict=True)
        ],
    )


def make_log(rules: Sequence[Any], results: Sequence[Any]) -> dict[str, Any]:
    """Return a log with one run, from descriptors of rules and from results."""
    driver = {"name": "policysched", "version": policysched.__version__, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "originalUriBaseIds": {_ROOT: {"description": {"text": _ROOT_MEANS}}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _make_rule_descriptor(code: str) -> dict[str, Any]:
    """Return the rule descriptor of a code; code scanning shows its page next to findings."""
    titles = diagnostics.CODES | diagnostics.LINT_CODES
    page = diagnostic_pages.read_diagnostic_code_page(code)
    body = page.partition("\n")[2].strip()
    return {
        "id": code,
        "shortDescription": {"text": titles[code]},
        "help": {"text": body or titles[code], "markdown": page},
    }


def _make_result(
    finding: diagnostics.Diagnostic, print_: str, codes: list[str], report: linter.LintResult
) -> dict[str, Any]:
    """Return a finding as a result with the given fingerprint."""
    advice = f" ({finding.help})" if finding.help else ""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message + advice},
        "locations": [make_location(file_regions.locate_span(finding.span, report.texts))],
        "partialFingerprints": {"policysched/v1": print_},
    }
    if finding.secondary:
        result["relatedLocations"] = [
            {
                **make_location(file_regions.locate_span(each.span, report.texts)),
                "message": {"text": each.text},
            }
            for each in finding.secondary
        ]
    edits = [
        (place, replacement)
        for place, replacement in file_regions.locate_fix_edits(finding.fix, report.texts)
        if place.file != source.STDIN_NAME
    ]
    if edits and finding.fix is not None:
        result["fixes"] = [_make_sarif_fix(fixes.make_fix_title(finding.fix, report.texts), edits)]
    return result


def _make_sarif_fix(title: str, edits: list[tuple[file_regions.FileRegion, str]]) -> dict[str, Any]:
    """Return a fix as replacements, grouped by file."""
    changes: dict[str, list[dict[str, Any]]] = {}
    for place, replacement in edits:
        changes.setdefault(place.file, []).append(
            {"deletedRegion": _make_region(place), "insertedContent": {"text": replacement}}
        )
    return {
        "description": {"text": title},
        "artifactChanges": [
            {"artifactLocation": _make_artifact(file), "replacements": replacements}
            for file, replacements in changes.items()
        ],
    }


def make_location(place: file_regions.FileRegion) -> dict[str, Any]:
    """Return the location of a region of a file; of standard input, in words, as it has no URI."""
    if place.file == source.STDIN_NAME:
        return {"message": {"text": f"standard input, line {place.line}, column {place.column}"}}
    return {
        "physicalLocation": {
            "artifactLocation": _make_artifact(place.file),
            "region": _make_region(place),
        }
    }


def _make_region(place: file_regions.FileRegion) -> dict[str, Any]:
    return {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }


def _make_artifact(file: str) -> dict[str, str]:
    path = file_regions.make_relative_path(file)
    if pathlib.PurePath(path).is_absolute():
        return {"uri": pathlib.PurePath(path).as_uri()}
    return {"uri": urllib.parse.quote(path), "uriBaseId": _ROOT}
