"""PS315: a score or preference that counts twice for the same pods."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules, node_constraints


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each score that duplicates a score for the same pods."""
    for known in about.enforced_rules:
        meanings = {
            each.head.name: _make_score_key(each)
            for policy in known.policies
            for each in policy.rules
            if node_constraints.get_rule_weight(each)
        }
        for policy in known.policies:
            own = [
                each
                for each in policy.rules
                if node_constraints.get_rule_weight(each) and not each.head.active
            ]
            if own:
                yield from _find_duplicates(policy, own, known, meanings)


def _find_duplicates(
    policy: checked.CheckedPolicy,
    own: list[checked.Rule],
    known: enforced_policy_rules.EnforcedPolicyRules,
    meanings: Mapping[str, Hashable],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each rule in `own` that duplicates a rule that is always active."""
    scored = [
        pair for pair in known.find_always_active_rules(policy) if pair[1].head.name in meanings
    ]
    for each in own:
        meaning = meanings[each.head.name]
        for other_policy, other in scored:
            is_same = meanings[other.head.name] == meaning
            if is_same and not known.is_duplicate_to_keep(
                policy, each.head.span, other_policy, other.head.span
            ):
                yield _make_finding(each, other)
                break


def _make_score_key(each: checked.Rule) -> Hashable:
    """Return a key that is equal for rules that differ only in name and weight.

    The key of affinity and spread rules contains the policy, because `self` depends on it.
    """
    is_of_policy = isinstance(each, checked.PodAffinityRule | checked.TopologySpreadRule)
    policy = each.head.policy if is_of_policy else ""
    fields = dataclasses.fields(each)
    kept = (getattr(each, one.name) for one in fields if one.name not in {"head", "weight"})
    return (type(each), policy, *kept)


def _make_finding(each: checked.Rule, other: checked.Rule) -> diagnostics.Diagnostic:
    """Return the finding on the duplicate `each` of the rule `other`."""
    total = node_constraints.get_rule_weight(each) + node_constraints.get_rule_weight(other)
    return diagnostics.Diagnostic(
        "PS315",
        f"`{other.head.name}` is the same score for the same pods: the total weight is {total}",
        each.head.span,
        secondary=(diagnostics.SpanLabel(other.head.span, "the same score"),),
        help="keep one of them, with the intended weight",
    )


RULE = rule.LintRule("PS315", diagnostics.Severity.WARNING, _find_violations)
