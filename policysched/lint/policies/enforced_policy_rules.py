"""Finds the rules that certainly act on all pods of a policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from policysched.lang import source
from policysched.lang.checked import checked
from policysched.lang.diagnostics import diagnostics
from policysched.lint.policies import node_constraints, scopes


class EnforcedPolicyRules:
    """The rules of one profile that are in force.

    Attributes:
        policies: the policies in mode `enforce`.
    """

    def __init__(self, profile: checked.CheckedProfile) -> None:
        """Index the policies in mode `enforce`, and the policies that disable each rule."""
        self.policies: Sequence[checked.CheckedPolicy] = [
            policy for policy in profile.policies if policy.mode == "enforce"
        ]
        self._covering = scopes.ScopeIndex(self.policies)
        self._about: dict[str, list[checked.CheckedPolicy]] = {}
        self._rules: dict[str, list[tuple[checked.CheckedPolicy, checked.Rule]]] = {}
        self._demands: dict[str, list[node_constraints.NodeConstraint]] = {}
        self._disabling: dict[str, list[checked.CheckedPolicy]] = {}
        for policy in self.policies:
            for each in policy.disables:
                self._disabling.setdefault(each.rule, []).append(policy)

    def find_covering_policies(
        self, policy: checked.CheckedPolicy
    ) -> Sequence[checked.CheckedPolicy]:
        """Return `policy` and the policies whose scope certainly contains all its pods."""
        known = self._about.get(policy.name)
        if known is None:
            known = self._about[policy.name] = list(self._covering.find_covering_policies(policy))
        return known

    def find_covering_rules(
        self, policy: checked.CheckedPolicy
    ) -> Iterator[tuple[checked.CheckedPolicy, checked.Rule]]:
        """Yield the rules that, while active, act on every pod of a policy, with their policies.

        Rules that a policy can disable for some of these pods are not included.
        """
        for other in self.find_covering_policies(policy):
            for each in other.rules:
                if not self._may_be_disabled(each, policy):
                    yield other, each

    def find_always_active_rules(
        self, policy: checked.CheckedPolicy
    ) -> Sequence[tuple[checked.CheckedPolicy, checked.Rule]]:
        """Return the rules that always act on every pod of a policy, with their policies.

        Rules with `during` or `expires`, and rules that a policy can disable, are not included.
        """
        known = self._rules.get(policy.name)
        if known is None:
            known = self._rules[policy.name] = [
                (other, each)
                for other, each in self.find_covering_rules(policy)
                if each.head.active is None
            ]
        return known

    def find_node_constraints(
        self, policy: checked.CheckedPolicy
    ) -> Sequence[node_constraints.NodeConstraint]:
        """Return the constraints on nodes that always hold for every pod of a policy.

        The constraints come from all policies of the profile.
        """
        known = self._demands.get(policy.name)
        if known is None:
            known = self._demands[policy.name] = [
                node_constraints.NodeConstraint(each, selector)
                for _, each in self.find_always_active_rules(policy)
                for selector in node_constraints.find_required_node_selectors(each, policy.scope)
            ]
        return known

    def is_surely_disabled(self, each: checked.Rule, policy: checked.CheckedPolicy) -> bool:
        """Return whether a rule is certainly disabled for all pods of a policy."""
        disabling = self._disabling.get(each.head.statement_name, ())
        return any(scopes.covers_scope(other.scope, policy.scope) for other in disabling)

    @staticmethod
    def is_duplicate_to_keep(
        policy: checked.CheckedPolicy,
        place: source.Span,
        other: checked.CheckedPolicy,
        other_place: source.Span,
    ) -> bool:
        """Return whether the first of two duplicates is the one to keep.

        `other` must cover all pods of `policy`. The duplicate whose policy covers more pods is
        kept; if both cover the same pods, the first in the text is kept.
        """
        if policy is not other and not scopes.covers_scope(policy.scope, other.scope):
            return False
        return (place.file, place.start) <= (other_place.file, other_place.start)

    def _may_be_disabled(self, each: checked.Rule, policy: checked.CheckedPolicy) -> bool:
        disabling = self._disabling.get(each.head.statement_name, ())
        return any(not scopes.are_scopes_disjoint(other.scope, policy.scope) for other in disabling)


def intersect_profile_findings(
    several: Sequence[EnforcedPolicyRules],
    find: Callable[[EnforcedPolicyRules, checked.CheckedPolicy], Iterable[diagnostics.Diagnostic]],
) -> Iterator[diagnostics.Diagnostic]:
    """Yield the findings about a policy that occur in every profile that contains it.

    A rule that is redundant in one profile may be needed in another.
    """
    found: dict[str, list[dict[source.Span, diagnostics.Diagnostic]]] = {}
    for known in several:
        for policy in known.policies:
            by_place = {each.span: each for each in find(known, policy)}
            found.setdefault(policy.name, []).append(by_place)
    for first, *others in found.values():
        for place, each in first.items():
            if all(place in other for other in others):
                yield each
