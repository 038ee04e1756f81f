"""The rules of a profile become plugins: one arm for each kind of rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, assert_never

from policysched.compiler import preemption_limits, rule_changes, shared_parts
from policysched.compiler.pods import pod_sets, scope
from policysched.compiler.rules import (
    base,
    counting,
    node_affinity,
    pod_affinity,
    preemption,
    reject,
    resource_score,
    score,
    tolerate,
    topology_spread,
)
from policysched.framework import interface
from policysched.lang.checked import checked, checked_expr

RulePlugin: TypeAlias = rule_changes.FilterRule | base.ScoreRule
OtherRule: TypeAlias = tolerate.TolerateRule | preemption_limits.PreemptionRule
"""Rules that are no plugins: what they say belongs to the profile."""


class RulePlugins:
    """Makes the plugins of one profile."""

    def __init__(self, parts: shared_parts.SharedParts) -> None:
        """Make them from `parts`."""
        self._parts = parts
        self._required_nodes: list[node_affinity.RequiredNodeAffinity] = []
        self._spreads: dict[str, list[topology_spread.Sibling]] = {}

    def make(
        self, placed: Iterable[shared_parts.PlacedRule]
    ) -> tuple[list[RulePlugin], list[OtherRule]]:
        """Return the plugins of the rules, and the rules that are no plugins."""
        plugins: list[RulePlugin] = []
        others: list[OtherRule] = []
        # Spread rules look at the nodes that required node affinity leaves.
        for each in sorted(placed, key=lambda p: isinstance(p.rule, checked.TopologySpreadRule)):
            made = self._plugin(each)
            if isinstance(made, OtherRule):
                others.append(made)
            else:
                plugins.append(made)
        return plugins, others

    def _plugin(self, placed: shared_parts.PlacedRule) -> RulePlugin | OtherRule:
        rule_scope = self._parts.rule_scope(placed)
        lowering = self._parts.lowering
        match placed.rule:
            case checked.NodeAffinityRule() as rule:
                return self._node_affinity(rule, rule_scope)
            case checked.PodAffinityRule() as rule:
                return _pod_affinity(rule, rule_scope, self._parts.term(rule, placed.scope))
            case checked.TopologySpreadRule() as rule:
                return self._spread(rule, rule_scope, placed)
            case checked.TolerationRule() as rule:
                return tolerate.TolerateRule(rule, rule_scope)
            case checked.RejectRule() as rule:
                kind = _find_reject_kind(rule.condition)
                return kind(rule, rule_scope, lowering, self._parts.rule_programs)
            case checked.ExpressionScoreRule() as rule:
                return _score(rule, rule_scope, self._parts)
            case checked.ResourceScoreRule() as rule:
                return resource_score.ResourceScore(rule, rule_scope)
            case checked.PreemptRule() as rule:
                return preemption.PreemptRule(rule, rule_scope, self._victims(rule, placed))
            case checked.ProtectRule() as rule:
                return preemption.ProtectRule(rule, rule_scope)
            case _:
                assert_never(placed.rule)

    def _victims(
        self, rule: checked.PreemptRule, placed: shared_parts.PlacedRule
    ) -> pod_sets.PodSet | None:
        return None if rule.victims is None else self._parts.pod_set(rule.victims, placed.scope)

    def _node_affinity(
        self, rule: checked.NodeAffinityRule, rule_scope: scope.RuleScope
    ) -> RulePlugin:
        if rule.weight is not None:
            return node_affinity.PreferredNodeAffinity(rule, rule.weight, rule_scope)
        required = node_affinity.RequiredNodeAffinity(rule, rule_scope)
        self._required_nodes.append(required)
        return required

    def _spread(
        self,
        rule: checked.TopologySpreadRule,
        rule_scope: scope.RuleScope,
        placed: shared_parts.PlacedRule,
    ) -> RulePlugin:
        siblings = self._spreads.setdefault(rule.when_unsatisfiable, [])
        siblings.append((rule_scope, rule.topology_key))
        eligible = topology_spread.EligibleNodes(rule, self._required_nodes, siblings)
        pods = self._parts.pod_set(rule.pods, placed.scope)
        spread = topology_spread.Spread(pods, rule.topology_key, eligible, self._parts.by_key)
        if rule.weight is None:
            return topology_spread.HardSpread(rule, rule_scope, spread)
        return topology_spread.SoftSpread(rule, rule.weight, rule_scope, spread)


def _find_reject_kind(condition: checked_expr.TypedExpr) -> type[reject.Reject]:
    if counting.counts_pods(condition):
        return counting.CountingReject
    if checked_expr.reads_devices(condition):
        return reject.DeviceReject
    return reject.Reject


def _pod_affinity(
    rule: checked.PodAffinityRule, rule_scope: scope.RuleScope, term: pod_affinity.Term
) -> RulePlugin:
    if rule.weight is not None:
        return pod_affinity.PreferredPodAffinity(rule, rule.weight, rule_scope, term)
    if rule.anti:
        return pod_affinity.RequiredPodAntiAffinity(rule, rule_scope, term)
    return pod_affinity.RequiredPodAffinity(rule, rule_scope, term)


def _score(
    rule: checked.ExpressionScoreRule, rule_scope: scope.RuleScope, parts: shared_parts.SharedParts
) -> RulePlugin:
    lowering, programs = parts.lowering, parts.rule_programs
    counts = counting.counts_pods(rule.value)
    match rule.normalization:
        case None:
            condition = counting.CountingConditionScore if counts else score.ConditionScore
            return condition(rule, rule_scope, lowering, programs)
        case checked.LinearNormalization() | checked.ShapeNormalization() as way:
            pointwise = counting.CountingPointwiseScore if counts else score.PointwiseScore
            return pointwise(rule, way, rule_scope, lowering, programs)
        case (
            checked.MinMaxNormalization()
            | checked.RankNormalization()
            | checked.MaxNormalization() as way
        ):
            relative = counting.CountingRelativeScore if counts else score.RelativeScore
            return relative(rule, way, rule_scope, lowering, programs)
        case _:
            assert_never(rule.normalization)


def repelling_pods(
    profiles: Iterable[checked.CheckedProfile],
    here: checked.CheckedProfile | None,
    parts: shared_parts.SharedParts,
) -> list[pod_affinity.RepellingPods]:
    """Return what placed pods on which required anti-affinity of any profile acts keep away.

    `here` is the profile whose pods are to be filtered, None for one without policies. A rule that
    is the same in several profiles repels once; one that params make different repels in each form.
    """
    own = set() if here is None else set(shared_parts.placed_rules(here))
    every = dict.fromkeys(each for p in profiles for each in shared_parts.placed_rules(p))
    return [
        pod_affinity.RepellingPods(
            each.rule,
            parts.rule_scope(each),
            parts.term(each.rule, each.scope),
            is_enforced_here=each in own,
        )
        for each in every
        if isinstance(each.rule, checked.PodAffinityRule)
        and each.rule.anti
        and each.rule.weight is None
    ]


def protecting_rules(
    profiles: Iterable[checked.CheckedProfile],
    here: checked.CheckedProfile | None,
    parts: shared_parts.SharedParts,
) -> list[preemption.ProtectRule]:
    """Return the rules of other profiles than `here` by which placed pods are protected."""
    own = set() if here is None else set(shared_parts.placed_rules(here))
    every = dict.fromkeys(each for p in profiles for each in shared_parts.placed_rules(p))
    return [
        preemption.ProtectRule(each.rule, parts.rule_scope(each))
        for each in every
        if isinstance(each.rule, checked.ProtectRule) and each not in own
    ]


def in_order(filters: Sequence[rule_changes.FilterRule]) -> list[rule_changes.FilterRule]:
    """Return filters in the order that makes the fewest stages of kept answers."""

    def stage(rule: rule_changes.FilterRule) -> int:
        if interface.Reads.PODS in rule.reads:
            return 2
        return 1 if rule.reads.has_own_pods else 0

    return sorted(filters, key=stage)
