"""`preempt` and `protect`: the placed pods that other pods must not evict by preemption."""

from __future__ import annotations

from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import pod_sets, scope
from policysched.lang.checked import checked


class PreemptRule:
    """Restricts the pods of its scope to evicting pods of a set; without a set, no pods.

    Attributes:
        never: whether the pods may evict no pod.
    """

    def __init__(
        self,
        rule: checked.PreemptRule,
        rule_scope: scope.RuleScope,
        victims: pod_sets.PodSet | None,
    ) -> None:
        """Allow `victims`, None for no pod."""
        self.head = rule.head
        self.scope = rule_scope
        self.never = victims is None
        self._victims = victims
        self._ignores_lack = rule.on_missing == "allow"

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether labels of namespaces decide."""
        of_victims = self._victims is not None and self._victims.reads_namespace_labels
        return self.scope.reads_namespace_labels or of_victims

    def restricts(
        self, preemptor: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels
    ) -> bool:
        """Return whether the rule is about pods of the shape `preemptor`, whatever the time."""
        if not self.scope.selects(preemptor, namespaces):
            return False
        if self._victims is None or not self._ignores_lack:
            return True
        return not self._victims.lacks_value(preemptor)

    def keeps(
        self,
        placed: pod_shape.PodShape,
        preemptor: pod_shape.PodShape,
        namespaces: pod_counts.NamespaceLabels,
    ) -> bool:
        """Return whether a pod that the rule restricts must not evict pods of the shape `placed`.

        A pod that lacks a value with which the set compares sees an empty set.
        """
        return self._victims is None or not self._victims.includes(placed, preemptor, namespaces)

    def list_namespace_answers(
        self, name: str, namespaces: pod_counts.NamespaceLabels
    ) -> tuple[bool, ...]:
        """Return whether each scope and set includes a namespace; equal results, equal answers."""
        answers = self.scope.list_namespace_answers(name, namespaces)
        if self._victims is None:
            return answers
        return (*answers, self._victims.includes_namespace(name, namespaces))


class ProtectRule:
    """Keeps the pods of its scope from being evicted by any pod."""

    never = False

    def __init__(self, rule: checked.ProtectRule, rule_scope: scope.RuleScope) -> None:
        """Protect the pods of `rule_scope`."""
        self.head = rule.head
        self.scope = rule_scope

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether labels of namespaces decide."""
        return self.scope.reads_namespace_labels

    def restricts(
        self, preemptor: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels
    ) -> bool:
        """Return True: the rule is about every preemptor."""
        del preemptor, namespaces
        return True

    def keeps(
        self,
        placed: pod_shape.PodShape,
        preemptor: pod_shape.PodShape,
        namespaces: pod_counts.NamespaceLabels,
    ) -> bool:
        """Return whether pods of the shape `placed` are protected."""
        del preemptor
        return self.scope.selects(placed, namespaces)

    def list_namespace_answers(
        self, name: str, namespaces: pod_counts.NamespaceLabels
    ) -> tuple[bool, ...]:
        """Return whether each scope includes a namespace; equal results, equal answers."""
        return self.scope.list_namespace_answers(name, namespaces)
