"""The lint gate: refuses versions of the policies that compile and are surely not intended.

Only rules with severity error run, and only those that need nothing but the texts: the validity of
a version must not depend on the momentary state of the cluster. Comments suppress them as in
`policysched lint`. Settings files are not read, since no version contains one.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable
from typing import TypeAlias

from policysched.lang.checking import checker
from policysched.lang.diagnostics import diagnostics
from policysched.lint import linter, registry, settings

_log = logging.getLogger(__name__)

Judge: TypeAlias = Callable[[checker.CheckResult], checker.CheckResult]


def refuse_lint_errors(result: checker.CheckResult) -> checker.CheckResult:
    """Return the result with lint errors added; with any, it has no program."""
    found = _list_lint_errors(result)
    if not found:
        return result
    told = tuple(
        dataclasses.replace(each, notes=(*each.notes, _format_workaround(each))) for each in found
    )
    return dataclasses.replace(result, program=None, diagnostics=(*told, *result.diagnostics))


def downgrade_lint_errors(result: checker.CheckResult) -> checker.CheckResult:
    """Return the result with lint errors added as warnings."""
    lowered = tuple(
        dataclasses.replace(each, severity=diagnostics.Severity.WARNING)
        for each in _list_lint_errors(result)
    )
    return dataclasses.replace(result, diagnostics=(*lowered, *result.diagnostics))


def choose_lint_judge(mode: str) -> Judge:
    """Return the function for a value of `policies.lintErrors` in the configuration."""
    return {"refuse": refuse_lint_errors, "warn": downgrade_lint_errors}[mode]


def _list_lint_errors(result: checker.CheckResult) -> tuple[diagnostics.Diagnostic, ...]:
    if result.program is None:
        return ()
    try:
        return linter.lint_program(result, _make_error_only_settings()).findings
    except Exception:  # noqa: BLE001 - logged, see below
        # A bug in a lint rule must not block a valid version.
        _log.exception("the policies could not be linted")
        return ()


@functools.cache
def _make_error_only_settings() -> settings.RuleSettings:
    error = diagnostics.Severity.ERROR
    return settings.RuleSettings(
        select=tuple(each.code for each in registry.list_offline_rules() if each.severity is error)
    )


def _format_workaround(finding: diagnostics.Diagnostic) -> str:
    return f"if it is intended, add a comment above it: `# policysched: ignore[{finding.code}] WHY`"
