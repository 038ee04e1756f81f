"""Reject policy versions that compile but contain lint errors.

Only rules that report errors and work offline are run, because the validity of a version must not
depend on the current state of the cluster. Comments suppress findings as in `policysched lint`.
Lint settings files are not read, because a policy version does not contain them.
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
    """Return the result with the lint errors added, and without its program if there are any."""
    found = _list_lint_errors(result)
    if not found:
        return result
    told = tuple(
        dataclasses.replace(each, notes=(*each.notes, _format_workaround(each))) for each in found
    )
    return dataclasses.replace(result, program=None, diagnostics=(*told, *result.diagnostics))


def downgrade_lint_errors(result: checker.CheckResult) -> checker.CheckResult:
    """Return the result with the lint errors added as warnings."""
    lowered = tuple(
        dataclasses.replace(each, severity=diagnostics.Severity.WARNING)
        for each in _list_lint_errors(result)
    )
    return dataclasses.replace(result, diagnostics=(*lowered, *result.diagnostics))


def choose_lint_error_handler(mode: str) -> Judge:
    """Return the function for `policies.lintErrors` in the configuration: `refuse` or `warn`."""
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
def _make_error_only_settings() -> settings.LintSettings:
    error = diagnostics.Severity.ERROR
    return settings.LintSettings(
        select=tuple(each.code for each in registry.list_offline_rules() if each.severity is error)
    )


def _format_workaround(finding: diagnostics.Diagnostic) -> str:
    return f"if it is intended, add a comment above it: `# policysched: ignore[{finding.code}] WHY`"
