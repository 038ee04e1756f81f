"""What the rules of all profiles forbid the pods of one profile in preemption.

`preempt` restricts the pods of its profile. `protect` protects placed pods from preemptors of every
profile, as a required anti-affinity of placed pods repels the pods of every profile. A rule with
`preemption never` closes the nodes that it rejects, even if it would accept them after evictions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.compiler import rule_changes
from policysched.compiler.rules import preemption
from policysched.framework import cycle_state, events, preemption_limits
from policysched.plugins import names
from policysched.plugins.shared import event_hints, memo

PreemptionRule: TypeAlias = preemption.PreemptRule | preemption.ProtectRule
_MAX_PLACED_SHAPES = 16_384


@dataclasses.dataclass(slots=True, eq=False)
class _PodLimits:
    """The limits for pods of one shape, until `stamp` changes."""

    objection: str
    stamp: object
    _preemptor: pod_shape.PodShape
    _rules: Sequence[PreemptionRule]
    _closing: Sequence[rule_changes.FilterRule]
    _namespaces: pod_counts.NamespaceLabels
    _known: dict[pod_shape.PodShape, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def find_keeping_rules(self, shape: pod_shape.PodShape) -> Sequence[str]:
        """Return the names of the rules by which the pod must not evict placed pods of `shape`."""
        if not self._rules:
            return ()
        known = self._known.get(shape)
        if known is None:
            if len(self._known) >= _MAX_PLACED_SHAPES:
                self._known.clear()
            known = self._known[shape] = tuple(
                rule.head.name
                for rule in self._rules
                if rule.keeps(shape, self._preemptor, self._namespaces)
            )
        return known

    def find_closed_rows(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        rows: npt.NDArray[np.intp],
    ) -> Sequence[tuple[str, columns.BoolArray]]:
        """Return, for each rule with `preemption never`, which of `rows` it rejects, bool (n,)."""
        scratch = cycle_state.CycleState(state.tolerations)
        return [
            (rule.head.name, ~rule.filter(scratch, pod, snap.view_rows(rows)).passes)
            for rule in self._closing
            if rule.applies_to(scratch, pod.shape, snap)
        ]


class PolicyPreemptionLimits:
    """The limits for the pods of one profile."""

    name = names.DEFAULT_PREEMPTION

    def __init__(
        self, rules: Sequence[PreemptionRule], closing: Sequence[rule_changes.FilterRule]
    ) -> None:
        """Restrict evictions by `rules`, and on nodes by the filters `closing`."""
        self._rules = rules
        self._closing = closing
        self._reads_namespace_labels = any(rule.reads_namespace_labels for rule in rules)
        self._limits: memo.ShapeMemo[_PodLimits | None] = memo.ShapeMemo()
        self._last: snapshot.Snapshot | None = None

    def find_limits(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> preemption_limits.PodPreemptionLimits | None:
        """Return the limits for pods of `shape` now, None if there are none."""
        self._last = snap
        scratch = cycle_state.CycleState()
        active = tuple(
            number
            for number, rule in enumerate(self._rules)
            if rule.scope.timetable.is_active(snap.now, scratch)
        )
        namespaces_seen = (
            (id(snap.counts), snap.counts.namespaces_generation)
            if self._reads_namespace_labels
            else None
        )
        stamp = (active, namespaces_seen)
        return self._limits.get_or_compute(
            shape, stamp, lambda: self._compute_limits(shape, snap.counts.namespaces, stamp)
        )

    def _compute_limits(
        self,
        shape: pod_shape.PodShape,
        namespaces: pod_counts.NamespaceLabels,
        stamp: tuple[tuple[int, ...], object],
    ) -> _PodLimits | None:
        acting = [self._rules[n] for n in stamp[0] if self._rules[n].restricts(shape, namespaces)]
        if not acting and not self._closing:
            return None
        never = next((rule.head.name for rule in acting if rule.never), "")
        objection = f"not eligible due to policy {never}." if never else ""
        return _PodLimits(objection, stamp, shape, acting, self._closing, namespaces)

    # --- events ----------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events after which a pod may evict a kept pod.

        The filters that rejected the pod, also those with `preemption never`, have events of their
        own.
        """
        if not self._rules:
            return ()
        resource, action = events.EventResource, events.ActionType
        registered = [
            event_hints.make_event_registration(
                resource.POD, action.UPDATE, self._after_placed_pod_change
            ),
            event_hints.make_event_registration(
                resource.UNSCHEDULED_POD, action.UPDATE, event_hints.after_own_shape_change
            ),
            event_hints.make_event_registration(resource.POLICY, action.ALL),
        ]
        if self._reads_namespace_labels:
            registered.append(
                event_hints.make_event_registration(
                    resource.NAMESPACE, action.ALL, self._after_namespace_change
                )
            )
        return registered

    def _after_placed_pod_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if a kept pod of lower priority may now be evicted."""
        if not isinstance(old, pod_shape.PodInfo) or not isinstance(new, pod_shape.PodInfo):
            return events.QueueingHint.SKIP
        if old.shape is new.shape or new.shape.priority >= pod.shape.priority:
            return events.QueueingHint.SKIP
        if self._last is None:
            return events.QueueingHint.QUEUE
        limits = self.find_limits(pod.shape, self._last)
        if limits is None or limits.objection:
            return events.QueueingHint.SKIP
        was_kept = bool(limits.find_keeping_rules(old.shape))
        return event_hints.choose_queueing_hint(
            was_kept and not limits.find_keeping_rules(new.shape)
        )

    def _after_namespace_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if a namespace entered or left the scope of a rule, or its set of pods."""
        del pod
        before = old if isinstance(old, objects.Namespace) else None
        after = new if isinstance(new, objects.Namespace) else None
        some = after or before
        if some is None:
            return events.QueueingHint.QUEUE
        name = some.metadata.name
        was = {name: before.metadata.labels} if before else {}
        now = {name: after.metadata.labels} if after else {}
        return event_hints.choose_queueing_hint(
            any(
                rule.list_namespace_answers(name, was) != rule.list_namespace_answers(name, now)
                for rule in self._rules
            )
        )


if TYPE_CHECKING:
    _contract: type[preemption_limits.PreemptionLimits] = PolicyPreemptionLimits
    _pod_contract: type[preemption_limits.PodPreemptionLimits] = _PodLimits
