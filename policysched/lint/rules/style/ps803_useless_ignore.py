"""PS803: an `ignore` comment that silences no finding or gives no reason.

The linter produces these findings after all other rules have run (`lint.ignores`).
"""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input


def _find_violations(_about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    yield from ()


RULE = rule.LintRule("PS803", diagnostics.Severity.WARNING, _find_violations)
