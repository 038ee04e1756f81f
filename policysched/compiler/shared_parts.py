"""What the rules of a program have in common, made once: scopes, sets of pods, metrics, domains."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.compiler import lowering, metric_parts, rule_programs
from policysched.compiler.pods import counted_pods, pod_sets, scope
from policysched.compiler.rules import pod_affinity
from policysched.lang.checked import checked, checked_selector
from policysched.plugins.kernels import domains


@dataclasses.dataclass(frozen=True, slots=True)
class PlacedRule:
    """A rule with the policy that it stands in and those that disable it.

    Attributes:
        scope: of its policy.
        disabled_for: scopes of the policies of the same profile that disable it.
    """

    rule: checked.Rule
    scope: checked_selector.PolicyPodScope
    disabled_for: tuple[checked_selector.PolicyPodScope, ...]


def placed_rules(profile: checked.CheckedProfile) -> list[PlacedRule]:
    """Return the rules in force in a profile, every `disable` resolved in one pass."""
    in_force = [policy for policy in profile.policies if policy.mode == "enforce"]
    disabled_for: dict[str, list[checked_selector.PolicyPodScope]] = {}
    for policy in in_force:
        for disabled in policy.disables:
            disabled_for.setdefault(disabled.rule, []).append(policy.scope)
    return [
        PlacedRule(rule, policy.scope, tuple(disabled_for.get(rule.head.statement_name, ())))
        for policy in in_force
        for rule in policy.rules
    ]


class SharedParts:
    """Parts by what they were made from; equal ones are one object, and so are their counters."""

    def __init__(self, metrics: Iterable[checked.CheckedMetric]) -> None:
        """Read `metrics`."""
        self.metrics = metric_parts.MetricParts(metrics)
        self.by_key = domains.DomainsByKey()
        self._pod_sets = pod_sets.PodSets()
        counters = counted_pods.PodCounters(self._pod_sets, self.by_key)
        self.lowering = lowering.Lowering(self.metrics, counters)
        self.rule_programs = rule_programs.RulePrograms(self.lowering)
        self._scopes: dict[checked_selector.PolicyPodScope, scope.PolicyScope] = {}

    def policy_scope(self, written: checked_selector.PolicyPodScope) -> scope.PolicyScope:
        """Return the compiled scope of a policy."""
        known = self._scopes.get(written)
        if known is None:
            known = self._scopes[written] = scope.PolicyScope(written)
        return known

    def rule_scope(self, placed: PlacedRule) -> scope.RuleScope:
        """Return whom a rule acts on."""
        return scope.RuleScope(
            self.policy_scope(placed.scope),
            tuple(self.policy_scope(each) for each in placed.disabled_for),
            scope.Timetable(placed.rule.head.active),
        )

    def pod_set(
        self, written: checked_selector.PodSelection, policy: checked_selector.PolicyPodScope
    ) -> pod_sets.PodSet:
        """Return the compiled set of pods that a rule of a policy counts."""
        return self._pod_sets.compile(written, policy, self.policy_scope(policy))

    def term(
        self, rule: checked.PodAffinityRule, policy: checked_selector.PolicyPodScope
    ) -> pod_affinity.Term:
        """Return the term of an affinity rule."""
        return pod_affinity.Term(self.pod_set(rule.pods, policy), rule.topology_key, self.by_key)
