"""PS202: bounds that leave no number."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, subject
from policysched.lint.rules import ps201


def _check(about: subject.RuleInput) -> Iterator[diagnostics.Diagnostic]:
    for occurrence, found in about.contradictory_selectors:
        if found.is_of_bounds:
            yield ps201.finding("PS202", about, occurrence, found)


RULE = rule.LintRule("PS202", diagnostics.Severity.ERROR, _check)
