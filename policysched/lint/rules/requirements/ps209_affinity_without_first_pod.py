"""PS209: a required affinity that no first pod can meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.sets import selector_sets

_Waits = dict[str, list[tuple[checked.PodAffinityRule, str]]]
"""Policy name -> its affinities that only pods of other policies meet, each with such a policy."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    """Yield a finding for each affinity in a cycle of policies that wait for each other."""
    for profile in about.program.profiles:
        enforced = [policy for policy in profile.policies if policy.mode == "enforce"]
        waits: _Waits = {}
        for policy in enforced:
            for each in _list_required_affinities(policy):
                if each.pods.kind == "self" and each.pods.mismatch_label_keys:
                    yield _diagnose_mismatch_label_keys(each)
                waited = _find_awaited_policies(each, policy, enforced)
                waits.setdefault(policy.name, []).extend((each, name) for name in waited)
        for name, edges in waits.items():
            for each, other in edges:
                if _is_reachable(other, name, waits):
                    yield _make_finding(each, name, other)


def _list_required_affinities(policy: checked.CheckedPolicy) -> Iterator[checked.PodAffinityRule]:
    for each in policy.rules:
        if isinstance(each, checked.PodAffinityRule) and not each.anti and each.weight is None:
            yield each


def _find_awaited_policies(
    each: checked.PodAffinityRule,
    policy: checked.CheckedPolicy,
    enforced: Sequence[checked.CheckedPolicy],
) -> Iterator[str]:
    """Yield the other policies whose scope contains every pod that the rule selects.

    Policies without a required affinity are left out, because their pods wait for no other pods.
    Nothing is yielded if pods of `policy` itself can meet the rule.
    """
    selector = each.pods.selector
    if selector is None or not selector_sets.can_never_match_together(selector, policy.scope.where):
        return
    if selector_sets.can_never_match_together(selector):
        return  # PS201 reports this
    for other in enforced:
        is_required = any(True for _ in _list_required_affinities(other))
        if is_required and _does_scope_contain_pods(other, each) and other.name != policy.name:
            yield other.name


def _does_scope_contain_pods(other: checked.CheckedPolicy, each: checked.PodAffinityRule) -> bool:
    selector = each.pods.selector
    return (
        selector is not None
        and other.scope.namespaces is None
        and selector_sets.does_selector_imply(selector, other.scope.where)
    )


def _is_reachable(start: str, goal: str, waits: Mapping[str, Sequence[tuple[object, str]]]) -> bool:
    """Return whether the policy `goal` is reachable from `start` through awaited policies."""
    seen: set[str] = set()
    left = [start]
    while left:
        name = left.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            left += [other for _, other in waits.get(name, ())]
    return False


def _make_finding(each: checked.PodAffinityRule, name: str, other: str) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS209",
        f"pods of `{name}` wait for pods of `{other}`, which wait for pods of `{name}`",
        each.head.span,
        notes=("none of these pods is scheduled before one of them runs",),
        help="make one of the affinities `preferred`",
    )


def _diagnose_mismatch_label_keys(each: checked.PodAffinityRule) -> diagnostics.Diagnostic:
    """Return the finding for a `self` affinity that requires another value of a label."""
    keys = ", ".join(f"`{key}`" for key in each.pods.mismatch_label_keys)
    return diagnostics.Diagnostic(
        "PS209",
        f"a pod that has {keys} waits for another pod with another value",
        each.head.span,
        notes=("none of these pods is scheduled before one of them runs",),
        help="make the affinity `preferred`, or remove `mismatchLabelKeys`",
    )


RULE = rule.LintRule("PS209", diagnostics.Severity.WARNING, _find_violations)
