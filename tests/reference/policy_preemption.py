"""What policies leave to preemption, one pod and one node at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

from policysched.cluster.objects import objects
from policysched.lang.checked import checked
from tests.reference import policy_filters, policy_pods, preemption

Answer: TypeAlias = "list[str] | set[str] | None"
"""Uids of the victims, the rules that keep pods, or None where evictions do not help."""


def keeping_rules(
    judge: policy_pods.Judge,
    own: checked.CheckedProfile | None,
    preemptor: objects.Pod,
    placed: objects.Pod,
) -> set[str]:
    """Return the rules by which a pod must not evict a placed pod."""
    protecting = {
        rule.head.name
        for profile in judge.program.profiles
        for policy in profile.policies
        for rule in policy.rules
        if isinstance(rule, checked.ProtectRule) and judge.acts_on(rule, policy, profile, placed)
    }
    restricting = {
        rule.head.name
        for policy in (own.policies if own else ())
        for rule in policy.rules
        if own
        and isinstance(rule, checked.PreemptRule)
        and judge.acts_on(rule, policy, own, preemptor)
        and not _permits(judge, policy, rule, preemptor, placed)
    }
    return protecting | restricting


def _permits(
    judge: policy_pods.Judge,
    policy: checked.CheckedPolicy,
    rule: checked.PreemptRule,
    preemptor: objects.Pod,
    placed: objects.Pod,
) -> bool:
    if rule.victims is None:
        return False
    if rule.on_missing == "allow" and policy_pods.lacks_text(rule.victims, preemptor):
        return True
    return judge.in_set(rule.victims, policy.scope, placed, preemptor)


def may_preempt(
    judge: policy_pods.Judge, own: checked.CheckedProfile | None, preemptor: objects.Pod
) -> bool:
    """Return whether no rule says that the pod evicts no pods."""
    return not any(
        isinstance(rule, checked.PreemptRule)
        and rule.victims is None
        and judge.acts_on(rule, policy, own, preemptor)
        for policy in (own.policies if own else ())
        for rule in policy.rules
        if own
    )


def closing_rules(
    judge: policy_pods.Judge,
    own: checked.CheckedProfile | None,
    pod: objects.Pod,
    node: objects.Node,
) -> set[str]:
    """Return the rules with `preemption never` that reject a node."""
    final = {
        rule.head.name
        for profile in judge.program.profiles
        for policy in profile.policies
        for rule in policy.rules
        if rule.head.forbids_preemption
    }
    return {rule for rule, _ in policy_filters.rejections(judge, own, pod, node)} & final


def select_victims(
    judge: policy_pods.Judge,
    own: checked.CheckedProfile | None,
    pod: objects.Pod,
    node: objects.Node,
    budgets: Sequence[preemption.Budget] = (),
) -> Answer:
    """Return the pods that must leave an open node, or why none should."""
    on_node = judge.world.pods_on(node)
    lesser = [p for p in on_node if preemption.priority(p) < preemption.priority(pod)]
    if not lesser or not _fits(judge, own, pod, node, lesser):
        return None
    keeping = {p.metadata.uid: keeping_rules(judge, own, pod, p) for p in lesser}
    off = [p for p in lesser if not keeping[p.metadata.uid]]
    if len(off) < len(lesser) and not _fits(judge, own, pod, node, off):
        return set().union(*keeping.values())
    guarded, others = preemption.split_by_budget(preemption.most_important_first(off), budgets)
    for candidate in guarded + others:
        rest = [p for p in off if p is not candidate]
        if _fits(judge, own, pod, node, rest):
            off = rest
    return [p.metadata.uid for p in preemption.most_important_first(off)]


def _fits(
    judge: policy_pods.Judge,
    own: checked.CheckedProfile | None,
    pod: objects.Pod,
    node: objects.Node,
    off: Sequence[objects.Pod],
) -> bool:
    """Return whether the node takes the pod without some of its pods."""
    gone = {p.metadata.uid for p in off}
    left = {uid: each for uid, each in judge.world.pods.items() if uid not in gone}
    without = dataclasses.replace(judge, world=dataclasses.replace(judge.world, pods=left))
    return not policy_filters.rejections(without, own, pod, node)
