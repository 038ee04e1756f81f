"""PS202: numeric bounds that no number meets."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.rules.requirements import ps201_contradictory_requirements


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for occurrence, found in about.contradictory_selectors:
        if found.has_number_bounds:
            yield ps201_contradictory_requirements.make_contradiction_diagnostic(
                "PS202", about, occurrence, found
            )


RULE = rule.LintRule("PS202", diagnostics.Severity.ERROR, _find_violations)
