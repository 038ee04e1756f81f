"""PS212: a required affinity to pods that a required anti-affinity keeps away."""

from __future__ import annotations

from collections.abc import Iterator

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import selector_sets

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
        if is_same_topology and _is_selection_within(
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


def _is_selection_within(
    narrow: checked_selector.PodSelection,
    narrow_scope: checked_selector.PolicyPodScope,
    wide: checked_selector.PodSelection,
    wide_scope: checked_selector.PolicyPodScope,
) -> bool:
    """Return whether the pods of `narrow` are certainly a subset of the pods of `wide`.

    The incoming pod is in both scopes, so `self` of either rule selects pods in its namespace.
    """
    if not set(wide.match_label_keys) <= set(narrow.match_label_keys):
        return False
    if not set(wide.mismatch_label_keys) <= set(narrow.mismatch_label_keys):
        return False
    if narrow.namespaces != wide.namespaces or not set(wide.compared) <= set(narrow.compared):
        return False
    if "sameWorkload" in {narrow.kind, wide.kind}:
        return narrow.kind == wide.kind
    is_limited = wide.kind == "self" and wide_scope.namespaces is not None
    if is_limited and wide.namespaces is not None:
        return False
    narrow_pods, wide_pods = (
        _get_pod_selector(narrow, narrow_scope),
        _get_pod_selector(wide, wide_scope),
    )
    is_possible = not selector_sets.can_never_match_together(narrow_pods)
    return is_possible and selector_sets.does_selector_imply(narrow_pods, wide_pods)


def _get_pod_selector(
    pods: checked_selector.PodSelection, scope: checked_selector.PolicyPodScope
) -> checked_selector.Selector:
    return scope.where if pods.selector is None else pods.selector


RULE = rule.LintRule("PS212", diagnostics.Severity.ERROR, _find_violations)
