"""PS805: a `during` that covers the whole week, or a window that another window contains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from policysched.lang.checked import activation, checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import node_constraints
from policysched.lint.sets import weekly_activity


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for policy in about.program.policies:
        yield from _find_equal_weights(policy.rules)
        for each in policy.rules:
            active = each.head.active
            if active is not None and active.windows and not active.is_outside:
                yield from _find_needless_windows(each, active.windows)


def _find_equal_weights(rules: Sequence[checked.Rule]) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each statement whose two weights are equal."""
    weights = {each.head.name: node_constraints.get_rule_weight(each) for each in rules}
    for each in rules:
        name = each.head.statement_name
        if name != each.head.name and weights[name] == weights[each.head.name]:
            yield diagnostics.Diagnostic(
                "PS805",
                "`during` has no effect: `weight` and `otherwise` are equal",
                each.head.span,
                help="remove `during` and `otherwise`, or change one of the weights",
            )


def _find_needless_windows(
    each: checked.Rule, windows: Sequence[activation.TimeWindow]
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if the windows cover the whole week, or one contains another."""
    covered = [weekly_activity.list_week_minutes(window) for window in windows]
    if len(frozenset().union(*covered)) == weekly_activity.MINUTES:
        yield diagnostics.Diagnostic(
            "PS805",
            "`during` covers the whole week",
            each.head.span,
            help="remove `during`, or correct the times",
        )
        return
    for (one, first), (other, second) in itertools.permutations(enumerate(covered), 2):
        if second < first or (second == first and other > one):
            yield diagnostics.Diagnostic(
                "PS805",
                f"window {other + 1} of `during` is within window {one + 1}",
                each.head.span,
                help="remove this window, or correct its times",
            )
            return


RULE = rule.LintRule("PS805", diagnostics.Severity.WARNING, _find_violations)
