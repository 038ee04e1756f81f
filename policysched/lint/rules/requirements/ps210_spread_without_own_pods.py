"""PS210: a topology spread that does not count the pods of its own policy."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each spread whose selector excludes the pods of its policy."""
    for policy in about.program.policies:
        for each in policy.rules:
            if not isinstance(each, checked.TopologySpreadRule) or each.pods.selector is None:
                continue
            if selector_sets.can_never_match_together(each.pods.selector):
                continue  # PS201 reports this
            if selector_sets.can_never_match_together(each.pods.selector, policy.scope.where):
                yield diagnostics.Diagnostic(
                    "PS210",
                    f"this spread counts none of the pods that `{policy.name}` places",
                    about.locate_selector(each.pods.selector),
                    notes=("placing pods does not change its counts, so they never become even",),
                    help="write `self` to spread the policy's own pods",
                )


RULE = rule.LintRule("PS210", diagnostics.Severity.WARNING, _find_violations)
