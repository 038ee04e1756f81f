"""PS212: a required affinity to pods that a required anti-affinity keeps away."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import pod_selections

_MAX_PAIRS = 4_096
"""The maximum number of comparisons for each policy; generated policies could take minutes."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each required affinity that an anti-affinity contradicts."""
    for known in about.enforced_rules:
        for policy in known.policies:
            near = [each for each in policy.rules if _is_permanent_required_affinity(each)]
            if not near:
                continue
            apart = [
                (other, each)
                for other, each in known.find_always_active_rules(policy)
                if isinstance(each, checked.PodAffinityRule) and each.anti and each.weight is None
            ]
            if len(near) * len(apart) > _MAX_PAIRS:
                continue
            for other, away in apart:
                yield from _compare_affinities(near, policy, away, other)


def _is_permanent_required_affinity(each: checked.Rule) -> bool:
    match each:
        case checked.PodAffinityRule(anti=False, weight=None):
            return each.head.active is None
        case _:
            return False


def _compare_affinities(
    near: list[checked.Rule],
    policy: checked.CheckedPolicy,
    away: checked.PodAffinityRule,
    other: checked.CheckedPolicy,
) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each affinity to pods that the anti-affinity `away` keeps away."""
    for each in near:
        assert isinstance(each, checked.PodAffinityRule)  # noqa: S101 - narrows the type
        is_same_topology = each.topology_key == away.topology_key
        if is_same_topology and pod_selections.is_selection_within(
            each.pods, policy.scope, away.pods, other.scope
        ):
            yield diagnostics.Diagnostic(
                "PS212",
                f"`{each.head.name}` requires nearby pods that `{away.head.name}` keeps away",
                each.head.span,
                secondary=(diagnostics.SpanLabel(away.head.span, "keeps them out of the domain"),),
                notes=(
                    (
                        f"the rules reject every domain of `{each.topology_key}`, with and "
                        "without such a pod"
                    ),
                ),
                help="use another topologyKey in one of them, or make one `preferred`",
            )


RULE = rule.LintRule("PS212", diagnostics.Severity.ERROR, _find_violations)
