"""Which pods a policy and its rules are for, and when."""

from __future__ import annotations

import dataclasses
import datetime

from policysched import clock
from policysched.cluster import snapshot
from policysched.cluster.counters import pod_counts
from policysched.cluster.pods import pod_shape
from policysched.compiler.pods import pod_predicates
from policysched.framework import cycle_state
from policysched.lang.checked import activation, checked_selector


class PolicyScope:
    """The pods that a policy selects: `for pods in namespace … where …`."""

    def __init__(self, scope: checked_selector.PolicyPodScope) -> None:
        """Compile `scope`."""
        self.reads_namespace_labels = pod_predicates.reads_namespace_labels(scope.namespaces)
        self._is_for = pod_predicates.lower(scope.where)
        self._in_namespaces = scope.namespaces and pod_predicates.lower_namespaces(scope.namespaces)
        self._last_asked: tuple[pod_shape.PodShape | None, bool] = (None, False)

    def selects(self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether the policy is about pods of `shape`."""
        if self.reads_namespace_labels:
            return self._decide(shape, namespaces)
        # The rules of a policy ask one after the other about the same shape.
        asked, answer = self._last_asked
        if asked is not shape:
            answer = self._decide(shape, namespaces)
            self._last_asked = shape, answer
        return answer

    def includes_namespace(self, name: str, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether the policy can be about pods of a namespace."""
        return not self._in_namespaces or self._in_namespaces(name, namespaces)

    def _decide(self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels) -> bool:
        if self._in_namespaces and not self._in_namespaces(shape.namespace, namespaces):
            return False
        return self._is_for(shape)


class Timetable:
    """When a rule acts (`during`, `expires`); looked up once per change."""

    def __init__(self, activated: activation.RuleActivation | None) -> None:
        """Follow `activated`, None for always."""
        self._activation = activated
        self._since: datetime.datetime | None = None
        self._until: datetime.datetime | None = None
        self._is_active = activated is None

    def is_active(self, now: datetime.datetime, state: cycle_state.CycleState) -> bool:
        """Return whether the rule acts now; `state` learns until when that holds."""
        if self._activation is None:
            return True
        is_known = self._since is not None and self._since <= now
        if not is_known or (self._until is not None and now >= self._until):
            self._since = now
            self._until = self.next_change(now)
            self._is_active = self._activation.is_active(now.timestamp())
        if self._until is not None:
            state.expire_at(self._until)
        return self._is_active

    def next_change(self, now: datetime.datetime) -> datetime.datetime | None:
        """Return the next time at which the rule begins or ceases to act, None for never."""
        if self._activation is None:
            return None
        change = self._activation.find_next_change(now.timestamp())
        return None if change is None else clock.find_utc_time(change)


@dataclasses.dataclass(frozen=True, slots=True)
class RuleScope:
    """The pods that a rule acts on: those of its policy for which no policy disables it.

    Attributes:
        policy: the scope of the rule's policy.
        disabled_for: scopes of the policies that say `disable policy.rule`.
        timetable: when it acts.
    """

    policy: PolicyScope
    disabled_for: tuple[PolicyScope, ...]
    timetable: Timetable

    @property
    def reads_namespace_labels(self) -> bool:
        """Whether labels of namespaces decide."""
        return any(scope.reads_namespace_labels for scope in (self.policy, *self.disabled_for))

    def list_namespace_answers(
        self, name: str, namespaces: pod_counts.NamespaceLabels
    ) -> tuple[bool, ...]:
        """Return whether each scope includes a namespace; equal results, equal answers."""
        scopes = (self.policy, *self.disabled_for)
        return tuple(each.includes_namespace(name, namespaces) for each in scopes)

    def selects(self, shape: pod_shape.PodShape, namespaces: pod_counts.NamespaceLabels) -> bool:
        """Return whether the rule is about pods of `shape`, whatever the time."""
        if not self.policy.selects(shape, namespaces):
            return False
        if not self.disabled_for:
            return True
        return not any(scope.selects(shape, namespaces) for scope in self.disabled_for)

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the rule acts on pods of `shape` now."""
        if not self.selects(shape, snap.counts.namespaces):
            return False
        return self.timetable.is_active(snap.now, state)
