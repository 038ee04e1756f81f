"""PS217: a rule about preemption without effect, or rules that leave no pod to evict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.lang.checked import checked, checked_selector
from policysched.lang.diagnostics import diagnostics
from policysched.lint import rule, rule_input
from policysched.lint.policies import enforced_policy_rules, scopes
from policysched.lint.sets import pod_selections, selector_sets

_MAX_PAIRS = 4_096
"""The maximum number of comparisons for each policy; generated policies could take minutes."""

_Keeping = tuple[checked.CheckedPolicy, checked.Rule]
"""A rule that always keeps pods from preemption, with its policy."""


def _find_violations(about: rule_input.LintInput) -> Iterator[diagnostics.Diagnostic]:
    for policy in about.program.policies:
        for each in policy.rules:
            if isinstance(each, checked.PreemptRule) and _permits_every_pod(each, policy):
                yield _diagnose_no_restriction(each)
    protecting = _list_protecting_rules(about.program)
    yield from enforced_policy_rules.intersect_profile_findings(
        about.enforced_rules, lambda known, policy: _find_in_policy(known, policy, protecting)
    )


def _permits_every_pod(each: checked.PreemptRule, policy: checked.CheckedPolicy) -> bool:
    pods = each.victims
    if pods is None or pods.kind == "sameWorkload" or pods.compared:
        return False
    selector = pod_selections.get_pod_selector(pods, policy.scope)
    own = policy.scope.namespaces if pods.kind == "self" else None
    return (
        _has_every_namespace(pods.namespaces)
        and own is None
        and selector_sets.does_match_everything(selector)
    )


def _has_every_namespace(namespaces: checked_selector.NamespaceSet | None) -> bool:
    return namespaces is not None and namespaces.selector == checked_selector.EVERYTHING


def _list_protecting_rules(program: checked.CheckedProgram) -> Sequence[_Keeping]:
    """Return the rules that always protect all pods of their policies, in all profiles."""
    disabled = {each.rule for policy in program.policies for each in policy.disables}
    in_force = {policy.name for profile in program.profiles for policy in profile.policies}
    return [
        (policy, each)
        for policy in program.policies
        if policy.mode == "enforce" and policy.name in in_force
        for each in policy.rules
        if isinstance(each, checked.ProtectRule)
        and each.head.active is None
        and each.head.name not in disabled
    ]


def _find_in_policy(
    known: enforced_policy_rules.EnforcedPolicyRules,
    policy: checked.CheckedPolicy,
    protecting: Sequence[_Keeping],
) -> Iterator[diagnostics.Diagnostic]:
    own = [each for each in policy.rules if isinstance(each, checked.PreemptRule)]
    closing = [each for each in policy.rules if each.head.forbids_preemption]
    if not own and not closing:
        return
    acting = [
        (other, each)
        for other, each in known.find_always_active_rules(policy)
        if isinstance(each, checked.PreemptRule)
    ]
    never = next((each for _, each in acting if each.victims is None), None)
    if never is not None:
        yield from (_diagnose_needless_clause(each, never) for each in closing)
        return  # PS204 reports other `preempt` rules
    if len(own) * (len(acting) + len(protecting)) > _MAX_PAIRS:
        return
    for each in own:
        excluding = _find_rule_without_common_pod(each, policy, (*acting, *protecting))
        if excluding is not None:
            yield _diagnose_no_pod(each, excluding)


def _find_rule_without_common_pod(
    each: checked.PreemptRule, policy: checked.CheckedPolicy, keeping: Sequence[_Keeping]
) -> checked.Rule | None:
    """Return a rule that keeps every pod that `each` permits, or None."""
    permitted = _get_scope_of_victims(each, policy)
    if permitted is None or selector_sets.can_never_match_together(permitted.where):
        return None  # PS201 reports this
    for other_policy, other in keeping:
        if isinstance(other, checked.ProtectRule):
            if scopes.covers_scope(other_policy.scope, permitted):
                return other
        elif isinstance(other, checked.PreemptRule) and other is not each:
            theirs = _get_scope_of_victims(other, other_policy)
            # By `missing allow`, a rule may not restrict some of the pods.
            if theirs is None or other.on_missing == "allow":
                continue
            if scopes.are_scopes_disjoint(permitted, theirs):
                return other
    return None


def _get_scope_of_victims(
    each: checked.PreemptRule, policy: checked.CheckedPolicy
) -> checked_selector.PolicyPodScope | None:
    """Return a scope that contains all pods that a rule permits; None if that is unknown."""
    pods = each.victims
    if pods is None or pods.kind == "sameWorkload":
        return None
    namespaces = policy.scope.namespaces if pods.namespaces is None else pods.namespaces
    return checked_selector.PolicyPodScope(
        None if _has_every_namespace(namespaces) else namespaces,
        pod_selections.get_pod_selector(pods, policy.scope),
    )


def _diagnose_no_restriction(each: checked.Rule) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS217",
        "this rule has no effect: it permits the eviction of all pods",
        each.head.span,
        help="remove it, or restrict it: `preempt pods where …`, `preempt never`",
    )


def _diagnose_no_pod(each: checked.Rule, other: checked.Rule) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS217",
        f"pods of this policy can evict no pods: `{other.head.name}` keeps all pods that this "
        "rule permits",
        each.head.span,
        secondary=(diagnostics.SpanLabel(other.head.span, "keeps them"),),
        help="write `preempt never` if this is intended, or correct the labels",
    )


def _diagnose_needless_clause(
    each: checked.Rule, never: checked.PreemptRule
) -> diagnostics.Diagnostic:
    return diagnostics.Diagnostic(
        "PS217",
        f"`preemption never` has no effect: by `{never.head.name}`, these pods evict no pods",
        each.head.span,
        secondary=(diagnostics.SpanLabel(never.head.span, "for all these pods"),),
        help="remove `preemption never`",
    )


RULE = rule.LintRule("PS217", diagnostics.Severity.WARNING, _find_violations)
