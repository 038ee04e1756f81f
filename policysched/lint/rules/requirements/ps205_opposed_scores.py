"""PS205: scores of one profile that favour opposite nodes for the same pods."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules, scopes
from policysched.lint.sets import weekly_activity

_OPPOSITES = ({"LeastAllocated", "MostAllocated"}, {"low", "high"})


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each pair of opposed scores that can act together."""
    for known in about.enforced_rules:
        scores = [
            (policy, each)
            for policy in known.policies
            for each in policy.rules
            if isinstance(each, checked.ExpressionScoreRule | checked.ResourceScoreRule)
        ]
        for (policy, first), (other, second) in itertools.combinations(scores, 2):
            if _are_opposed(first, second) and _may_act_together(
                known, policy, first, other, second
            ):
                yield _make_finding(first, second)


def _may_act_together(
    known: enforced_policy_rules.EnforcedPolicyRules,
    policy: checked.CheckedPolicy,
    first: checked.Rule,
    other: checked.CheckedPolicy,
    second: checked.Rule,
) -> bool:
    """Return whether two rules can act on the same pod at the same time."""
    if scopes.are_scopes_disjoint(policy.scope, other.scope):
        return False
    if weekly_activity.never_active_together(first.head.active, second.head.active):
        return False
    return not any(
        known.is_surely_disabled(rule_, for_pods_of)
        for rule_ in (first, second)
        for for_pods_of in (policy, other)
    )


def _are_opposed(first: checked.Rule, second: checked.Rule) -> bool:
    """Return whether two scores prefer opposite values of the same number or resources."""
    match first, second:
        case checked.ResourceScoreRule(), checked.ResourceScoreRule():
            shared = {name for name, _ in first.resources} & {name for name, _ in second.resources}
            return bool(shared) and {first.strategy, second.strategy} in _OPPOSITES
        case checked.ExpressionScoreRule(), checked.ExpressionScoreRule():
            return first.value == second.value and {first.prefer, second.prefer} in _OPPOSITES
        case _:
            return False


def _make_finding(first: checked.Rule, second: checked.Rule) -> diagnostics.Diagnostic:
    """Return the finding on the second of two opposed scores."""
    return diagnostics.Diagnostic(
        "PS205",
        f"this score cancels out `{first.head.name}`",
        second.head.span,
        secondary=(
            diagnostics.SpanLabel(first.head.span, "prefers opposite nodes, for the same pods"),
        ),
        help="keep one of them, or apply them to different pods",
    )


RULE = rule.LintRule("PS205", diagnostics.Severity.WARNING, _find_violations)
