"""Implements `lint` in a test file: the expected findings on its policies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from policysched import spelling
from policysched.inputs import policy_sources
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, settings
from policysched.policytests import expectations, suite_inputs
from policysched.policytests import suite as suites

_EXPECTED = re.compile(r"(PS\d{3})@(.+):(\d+)")


def find_lint_mismatches(
    case: suites.LintCase, inputs: suite_inputs.SuiteInputs
) -> list[expectations.ExpectationMismatch]:
    """Compare the findings with the expected ones; infos count only if they are expected.

    The lint settings of the project do not apply, but ignore comments do.

    Raises:
        SuiteError: an expected code or file does not exist.
    """
    texts = policy_sources.read_policy_texts(inputs.policy_paths) if inputs.policy_paths else []
    now = inputs.get_case_time(case).timestamp()
    result = checker.check(texts, given=inputs.get_params(), now=now)
    report = linter.lint_program(result, settings.LintSettings())
    folder = str(case.suite.folder)
    found = {_format_finding(each, report, folder): each.severity for each in report.findings}
    files = {os.path.relpath(text.place(0)[0], folder) for text in texts}
    expected = {_normalise_finding(each): each for each in case.value["expect"]}
    faults = list(_find_lint_case_faults(case, files))
    if faults:
        raise suites.SuiteError(case.suite.path, faults)
    ours = [
        name
        for name, severity in found.items()
        if name in expected or settings.is_severity_at_least(severity, diagnostics.Severity.WARNING)
    ]
    if set(ours) == set(expected):
        return []
    written = expectations.format_yaml_on_one_line(list(expected.values()))
    return [
        expectations.ExpectationMismatch(
            (), written, expectations.format_yaml_on_one_line(ours), ours
        )
    ]


def _format_finding(finding: diagnostics.Diagnostic, report: linter.LintResult, folder: str) -> str:
    file, line, _ = report.texts[finding.span.file].place(finding.span.start)
    return f"{finding.code}@{os.path.relpath(file, folder)}:{line}"


def _normalise_finding(written: str) -> str:
    found = _EXPECTED.fullmatch(written)
    assert found is not None  # noqa: S101 - the schema has the same pattern
    return f"{found[1]}@{os.path.normpath(found[2])}:{int(found[3])}"


def _find_lint_case_faults(case: suites.LintCase, files: set[str]) -> Iterator[tuple[int, str]]:
    """Yield the line and message of every unknown code or policy file."""
    known = diagnostics.CODES | diagnostics.LINT_CODES
    for at, written in enumerate(case.value["expect"]):
        code, _, place = _normalise_finding(written).partition("@")
        file = place.rpartition(":")[0]
        for kind, name, names in (("diagnostic", code, known), ("policy file", file, files)):
            if name not in names:
                hint = spelling.suggest_names(name, names)
                problem = f"there is no {kind} `{name}`" + (hint and f" ({hint})")
                yield case.find_line("expect", at), problem
