"""`tolerate`: tolerations that policies add to those of the pod."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import scope
from policysched.framework import cycle_state
from policysched.lang.checked import checked, checked_selector

_MAX_SHAPES = 4096


class TolerateRule:
    """What one rule grants to the pods of its scope."""

    def __init__(self, rule: checked.TolerationRule, rule_scope: scope.RuleScope) -> None:
        """Grant the patterns of `rule`."""
        self.head = rule.head
        self.scope = rule_scope
        self.granted = tuple(t for pattern in rule.patterns for t in _tolerations(pattern))


class PolicyTolerations:
    """The tolerations of a pod in a profile: its own, then those of policies, without repeats.

    Attributes:
        rules: the rules that add tolerations, in their order.
    """

    def __init__(self, rules: Sequence[TolerateRule]) -> None:
        """Add what `rules` grant."""
        self.rules = rules
        self._kept: OrderedDict[pod_shape.PodShape, _Kept] = OrderedDict()

    def __call__(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> tuple[objects.Toleration, ...]:
        """Return the tolerations of pods of `shape` now."""
        kept = self._kept.get(shape)
        if kept is None or not kept.is_current(snap):
            kept = self._kept[shape] = _Kept(self.rules, shape, snap)
            if len(self._kept) > _MAX_SHAPES:
                self._kept.popitem(last=False)
        return kept.tolerations


class _Kept:
    """The tolerations of one shape, until a label of a namespace or the time changes them."""

    def __init__(
        self, rules: Sequence[TolerateRule], shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> None:
        self._counts = snap.counts
        self._generation = snap.counts.namespaces_generation
        self._since = snap.now
        self._state = cycle_state.CycleState()
        own = shape.spec.tolerations
        granted = [
            toleration
            for rule in rules
            if rule.scope.applies_to(self._state, shape, snap)
            for toleration in rule.granted
        ]
        self.tolerations = (*own, *(t for t in dict.fromkeys(granted) if t not in own))

    def is_current(self, snap: snapshot.Snapshot) -> bool:
        until = self._state.valid_until
        return (
            self._counts is snap.counts
            and self._generation == snap.counts.namespaces_generation
            and self._since <= snap.now
            and (until is None or snap.now < until)
        )


def _tolerations(
    pattern: checked_selector.TaintPattern,
) -> list[objects.Toleration]:
    """Return one toleration for each effect of a pattern."""
    return [
        objects.Toleration(
            key=pattern.key, operator=pattern.operator, value=pattern.value, effect=effect
        )
        for effect in pattern.effects
    ]
