"""PS705: a score of clusters that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, cluster_profile
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules, node_constraints, scopes


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    if not about.program.cluster_policies:
        return
    several = [
        enforced_policy_rules.EnforcedPolicyRules(
            cluster_profile.replace_pod_by_cluster_policies(each)
        )
        for each in about.program.profiles
    ]
    yield from enforced_policy_rules.intersect_profile_findings(several, _find_unused_scores)


def _find_unused_scores(
    known: enforced_policy_rules.EnforcedPolicyRules, policy: checked.CheckedPolicy
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each score that no division or spread constraint uses."""
    scores = [each for each in policy.rules if node_constraints.get_rule_weight(each)]
    if not scores:
        return
    meeting = [
        other
        for other in known.policies
        if not scopes.are_scopes_disjoint(policy.scope, other.scope)
    ]
    if any(other.clusters and other.clusters.spread for other in meeting):
        return
    for each in scores:
        if not _is_used_by_division(policy, each, meeting):
            yield _make_finding(each)


def _is_used_by_division(
    policy: checked.CheckedPolicy,
    each: checked.Rule,
    meeting: Sequence[checked.CheckedPolicy],
) -> bool:
    """Return whether the policy of a score divides replicas by this score."""
    said = policy.clusters.division if policy.clusters else None
    if policy not in meeting or said is None or said.dynamic != "score":
        return False
    return said.rule in {None, each.head.statement_name}


def _make_finding(each: checked.Rule) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS705",
        f"nothing uses the score `{each.head.name}`",
        each.head.span,
        notes=("only spread constraints and a division by score use the points of clusters",),
        help="add `spreadConstraint by cluster maxGroups …`, or divide `by score`",
    )


RULE = rule.LintRule("PS705", diagnostics.Severity.WARNING, _find_violations)
