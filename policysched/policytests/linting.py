"""`lint` of a file of tests: which findings its policies are expected to have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from policysched import spelling
from policysched.inputs import policy_sources
from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, settings
from policysched.policytests import expectations, world
from policysched.policytests import suite as suites

_EXPECTED = re.compile(r"(PS\d{3})@(.+):(\d+)")


def mismatches(case: suites.LintCase, inputs: world.World) -> list[expectations.Mismatch]:
    """Compare the findings with those expected: of infos, only those that are expected count.

    The settings of a project do not matter here, comments that ignore findings do.

    Raises:
        SuiteError: an expected code or file does not exist.
    """
    texts = policy_sources.read(inputs.paths) if inputs.paths else []
    now = inputs.now(case).timestamp()
    result = checker.check(texts, given=inputs.params(), now=now)
    report = linter.lint(result, settings.Settings())
    folder = str(case.suite.folder)
    found = {_shown(each, report, folder): each.severity for each in report.findings}
    files = {os.path.relpath(text.place(0)[0], folder) for text in texts}
    expected = {_normal(each): each for each in case.value["expect"]}
    faults = list(_faults(case, files))
    if faults:
        raise suites.SuiteError(case.suite.path, faults)
    ours = [
        name
        for name, severity in found.items()
        if name in expected or settings.is_at_least(severity, diagnostics.Severity.WARNING)
    ]
    if set(ours) == set(expected):
        return []
    written = expectations.text(list(expected.values()))
    return [expectations.Mismatch((), written, expectations.text(ours), ours)]


def _shown(finding: diagnostics.Diagnostic, report: linter.Report, folder: str) -> str:
    file, line, _ = report.texts[finding.span.file].place(finding.span.start)
    return f"{finding.code}@{os.path.relpath(file, folder)}:{line}"


def _normal(written: str) -> str:
    found = _EXPECTED.fullmatch(written)
    assert found is not None  # noqa: S101 - the schema has the same pattern
    return f"{found[1]}@{os.path.normpath(found[2])}:{int(found[3])}"


def _faults(case: suites.LintCase, files: set[str]) -> Iterator[tuple[int, str]]:
    known = diagnostics.CODES | diagnostics.LINT_CODES
    for at, written in enumerate(case.value["expect"]):
        code, _, place = _normal(written).partition("@")
        file = place.rpartition(":")[0]
        for kind, name, names in (("diagnostic", code, known), ("policy file", file, files)):
            if name not in names:
                hint = spelling.did_you_mean(name, names)
                problem = f"there is no {kind} `{name}`" + (hint and f" ({hint})")
                yield case.line("expect", at), problem
