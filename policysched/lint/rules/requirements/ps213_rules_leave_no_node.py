"""PS213: rules for the same pods that together leave no node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import (
    enforced_policy_rules,
    node_constraints,
    pod_value_constraints,
)
from policysched.lint.sets import selector_sets


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for known in about.enforced_rules:
        for policy in known.policies:
            yield from _diagnose_excluded_nodes(policy, known.find_node_constraints(policy))
            yield from _diagnose_pod_values(policy, known)


def _diagnose_excluded_nodes(
    policy: checked.CheckedPolicy, asked: Sequence[node_constraints.NodeConstraint]
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding if the constraints exclude all nodes, preferably for a pair of rules."""
    if len(asked) > selector_sets.MAX_OPERANDS:
        return
    possible = [each for each in asked if not selector_sets.can_never_match_together(each.selector)]
    if not selector_sets.can_never_match_together(*(each.selector for each in possible)):
        return
    pair = next(
        (pair for pair in itertools.combinations(possible, 2) if _exclude_each_other(*pair)), None
    )
    if pair is None:
        yield _make_joint_finding(policy, possible)
    elif policy.name in {pair[0].rule.head.policy, pair[1].rule.head.policy}:
        yield _make_finding(policy, pair[0].rule, pair[1].rule)


def _diagnose_pod_values(
    policy: checked.CheckedPolicy, known: enforced_policy_rules.EnforcedPolicyRules
) -> Iterator[diagnostics.Diagnostic]:
    """Yield findings for comparisons with values of the pod that no node can meet."""
    asked = [
        constraint
        for _, each in known.find_always_active_rules(policy)
        for constraint in pod_value_constraints.find_pod_value_constraints(each)
    ]
    for each in asked:
        if each.rule.head.policy == policy.name and each.is_never_met(policy.scope):
            yield _make_finding_without_value(policy, each)
    if len(asked) > selector_sets.MAX_OPERANDS:
        return
    for first, second in itertools.combinations(asked, 2):
        if first.excludes(second) and policy.name in {
            first.rule.head.policy,
            second.rule.head.policy,
        }:
            yield _make_finding(policy, first.rule, second.rule)
            return


def _make_finding_without_value(
    policy: checked.CheckedPolicy, each: pod_value_constraints.PodValueConstraint
) -> diagnostics.Diagnostic:
    rule_name, label = each.rule.head.name, each.comparison.value.text
    return diagnostics.Diagnostic(
        "PS213",
        f"no node can pass `{rule_name}`: no pod of `{policy.name}` has the label `{label}`",
        each.rule.head.span,
        notes=(f"all pods of `{policy.name}` stay Pending",),
        help="correct the pods that the policy selects, or write `missing allow`",
    )


def _exclude_each_other(
    first: node_constraints.NodeConstraint, second: node_constraints.NodeConstraint
) -> bool:
    is_apart = selector_sets.can_never_match_together(first.selector, second.selector)
    return is_apart and first.rule.head.name != second.rule.head.name


def _make_finding(
    policy: checked.CheckedPolicy,
    first: checked.Rule,
    second: checked.Rule,
) -> diagnostics.Diagnostic:
    """Return the finding for two rules that exclude each other."""
    if second.head.policy != policy.name:
        first, second = second, first
    return diagnostics.Diagnostic(
        "PS213",
        f"no node can pass both `{second.head.name}` and `{first.head.name}`",
        second.head.span,
        secondary=(diagnostics.SpanLabel(first.head.span, "excludes it, for the same pods"),),
        notes=(f"all pods of `{policy.name}` stay Pending",),
        help="relax one of them, or `disable` it for these pods",
    )


def _make_joint_finding(
    policy: checked.CheckedPolicy, asked: Sequence[node_constraints.NodeConstraint]
) -> diagnostics.Diagnostic:
    """Return the finding for rules that together leave no node, although any two leave some."""
    # Drop rules that are not needed to exclude every node, so that the message names few rules.
    needed = list(asked)
    for each in asked:
        rest: list[checked_selector.Selector] = [
            other.selector for other in needed if other is not each
        ]
        if selector_sets.can_never_match_together(*rest):
            needed.remove(each)
    named = ", ".join(f"`{each.rule.head.name}`" for each in needed)
    return diagnostics.Diagnostic(
        "PS213",
        f"no node can pass all of {named}",
        policy.span,
        notes=(f"all pods of `{policy.name}` stay Pending",),
        help="relax one of them, or `disable` it for these pods",
    )


RULE = rule.LintRule("PS213", diagnostics.Severity.ERROR, _find_violations)
