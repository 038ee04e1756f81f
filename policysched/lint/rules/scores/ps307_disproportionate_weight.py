"""PS307: a weight that makes other scores, or this score, negligible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import node_constraints

BUILTIN_WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "DynamicResources": 2,
    "ImageLocality": 1,
}
"""The weights of kube-scheduler's scores (apis/config/v1/default_plugins.go)."""
_MOST, _LEAST = 0.9, 0.01


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each weight that is too large or too small a share of the total."""
    for profile, known in zip(about.program.profiles, about.enforced_rules, strict=True):
        builtin = sum_scoring_plugin_weights(profile)
        for policy in known.policies:
            if any(node_constraints.get_rule_weight(each) for each in policy.rules):
                others = [
                    each for other in known.find_covering_policies(policy) for each in other.rules
                ]
                yield from _diagnose_disproportionate_weights(policy, others, builtin)


def sum_scoring_plugin_weights(profile: checked.CheckedProfile) -> int:
    """Return the total weight of the scoring plugins of a profile; see profiles/plugin_sets.py."""
    weights = {} if profile.disable_all_scores else dict(BUILTIN_WEIGHTS)
    weights |= {each.name: each.weight for each in profile.plugins if each.weight is not None}
    off = {*profile.disabled, *profile.disabled_scores}
    return sum(
        weight * (profile.builtin_weight if name in BUILTIN_WEIGHTS else 1)
        for name, weight in weights.items()
        if name not in off
    )


def _diagnose_disproportionate_weights(
    policy: checked.CheckedPolicy, others: Sequence[checked.Rule], builtin: int
) -> Iterator[diagnostics.Diagnostic]:
    """Yield findings for the weights of a policy, given all rules for its pods.

    A statement with `otherwise` has two weights, of which one counts at a time.
    """
    by_statement: dict[str, list[int]] = {}
    for each in others:
        weight = node_constraints.get_rule_weight(each)
        by_statement.setdefault(each.head.statement_name, []).append(weight)
    low, high = (builtin + sum(map(choose, by_statement.values())) for choose in (min, max))
    for each in policy.rules:
        weight = node_constraints.get_rule_weight(each)
        own = by_statement[each.head.statement_name]
        least_total, most_total = low - min(own) + weight, high - max(own) + weight
        if not weight or weight == most_total:
            continue
        if weight / most_total > _MOST:
            share = f"{weight / most_total:.0%}"
            yield _make_finding(each, f"has {share} of the total weight: other scores hardly count")
        elif weight / least_total < _LEAST:
            share = f"{weight / least_total:.1%}"
            yield _make_finding(each, f"has {share} of the total weight: it hardly counts")


def _make_finding(each: checked.Rule, what: str) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS307",
        f"this score {what}",
        each.head.span,
        notes=(
            "the total includes the scores of all policies for these pods and the built-in scores",
        ),
        help="bring the weights closer together",
    )


RULE = rule.LintRule("PS307", diagnostics.Severity.WARNING, _find_violations)
