"""Which rules are sure to act on all pods of a policy, at any time."""

from __future__ import annotations

from collections.abc import Sequence

from policysched.lang import checked, source
from policysched.lint import demands, scopes


class Acting:
    """The rules of one profile that are in force.

    Attributes:
        policies: those that are no shadows.
    """

    def __init__(self, profile: checked.CheckedProfile) -> None:
        self.policies: Sequence[checked.CheckedPolicy] = [
            policy for policy in profile.policies if policy.mode == "enforce"
        ]
        self._covering = scopes.Covering(self.policies)
        self._rules: dict[str, list[tuple[checked.CheckedPolicy, checked.Rule]]] = {}
        self._demands: dict[str, list[demands.Demand]] = {}
        self._disabling: dict[str, list[checked.CheckedPolicy]] = {}
        for policy in self.policies:
            for each in policy.disables:
                self._disabling.setdefault(each.rule, []).append(policy)

    def on_pods_of(
        self, policy: checked.CheckedPolicy
    ) -> Sequence[tuple[checked.CheckedPolicy, checked.Rule]]:
        """Return rules that always act on every pod of a policy, each with its own policy.

        Rules with `during` or `expires` are left out, and those that some policy may disable.
        """
        known = self._rules.get(policy.name)
        if known is None:
            known = self._rules[policy.name] = [
                (other, each)
                for other in self._covering.of(policy)
                for each in other.rules
                if each.head.active is None and not self._may_be_off(each, policy)
            ]
        return known

    def demands_on(self, policy: checked.CheckedPolicy) -> Sequence[demands.Demand]:
        """Return what is always asked of nodes for every pod of a policy, by whatever policy."""
        known = self._demands.get(policy.name)
        if known is None:
            known = self._demands[policy.name] = [
                demands.Demand(each, selector)
                for _, each in self.on_pods_of(policy)
                for selector in demands.selectors(each, policy.scope)
            ]
        return known

    @staticmethod
    def stays(
        policy: checked.CheckedPolicy,
        place: source.Span,
        other: checked.CheckedPolicy,
        other_place: source.Span,
    ) -> bool:
        """Return whether, of two things that say the same, the first one is what should stay.

        That of another policy, which is about more pods, goes first; else the first in the text.
        """
        if policy is not other and not scopes.covers(policy.scope, other.scope):
            return False
        return (place.file, place.start) <= (other_place.file, other_place.start)

    def _may_be_off(self, each: checked.Rule, policy: checked.CheckedPolicy) -> bool:
        disabling = self._disabling.get(each.head.name, ())
        return any(not scopes.are_apart(other.scope, policy.scope) for other in disabling)
