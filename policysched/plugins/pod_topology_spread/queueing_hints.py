"""Define queueing hints for pods that PodTopologySpread rejected.

Source: `plugins/podtopologyspread/plugin.go`, with two differences. A changed taint counts only for
constraints with `nodeTaintsPolicy: Honor`. For constraints with `nodeAffinityPolicy: Honor`, a
changed label also counts if the node starts or stops matching the pod's node affinity.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TypeAlias

from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.plugins.kernels import node_selection, tolerations
from policysched.plugins.pod_topology_spread import spread_constraints
from policysched.plugins.shared import event_hints

ConstraintsOf: TypeAlias = Callable[
    [pod_shape.PodShape], tuple[spread_constraints.ResolvedSpreadConstraint, ...]
]


class TopologySpreadHints:
    """The hints for the hard constraints that `constraints_of` returns."""

    def __init__(self, constraints_of: ConstraintsOf) -> None:
        """Start without tolerations; each cycle records the tolerations of its pod."""
        self._constraints_of = constraints_of
        self._last_tolerations: weakref.WeakKeyDictionary[
            pod_shape.PodShape, tolerations.Tolerations
        ] = weakref.WeakKeyDictionary()

    def record_tolerations(self, shape: pod_shape.PodShape, own: tolerations.Tolerations) -> None:
        """Record the tolerations of pods of `shape`, including tolerations that policies add."""
        self._last_tolerations[shape] = own

    def make_registrations(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events that can help, with their hints."""
        resource, action = events.EventResource, events.ActionType
        placed = action.ADD | action.UPDATE_POD_LABEL | action.DELETE
        own = action.UPDATE_POD_LABEL | action.UPDATE_POD_TOLERATION
        node = action.ADD | action.DELETE | action.UPDATE_NODE_LABEL | action.UPDATE_NODE_TAINT
        return (
            event_hints.make_event_registration(resource.POD, placed, self._after_pod_change),
            event_hints.make_event_registration(
                resource.UNSCHEDULED_POD, own, self._after_own_change
            ),
            event_hints.make_event_registration(resource.NODE, node, self._after_node_change),
        )

    def _after_pod_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the change affects the number of pods that a constraint counts."""
        before, after = (
            _get_labels_of_countable_pod(pod, old),
            _get_labels_of_countable_pod(pod, new),
        )
        return event_hints.choose_queueing_hint(
            any(
                (before is not None and c.selector.matches(before))
                != (after is not None and c.selector.matches(after))
                for c in self._constraints_of(pod.shape)
            )
        )

    def _after_own_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the pod's constraints changed.

        Also queue if its tolerations changed and a constraint honours taints.
        """
        if not isinstance(old, pod_shape.PodInfo) or not isinstance(new, pod_shape.PodInfo):
            return events.QueueingHint.SKIP
        if new.uid != pod.uid:
            return events.QueueingHint.SKIP
        constraints = self._constraints_of(new.shape)
        if old.shape.spec.tolerations != new.shape.spec.tolerations and any(
            c.honors_taints for c in constraints
        ):
            return events.QueueingHint.QUEUE
        return event_hints.choose_queueing_hint(self._constraints_of(old.shape) != constraints)

    def _after_node_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if a node joined, left or changed a domain that a constraint counts."""
        constraints = self._constraints_of(pod.shape)
        own = self._last_tolerations.get(pod.shape, pod.shape.spec.tolerations)
        before = _list_node_domains(old, constraints, pod.shape, own)
        return event_hints.choose_queueing_hint(
            before != _list_node_domains(new, constraints, pod.shape, own)
        )


def _get_labels_of_countable_pod(
    pod: pod_shape.PodInfo, changed: events.ClusterObject
) -> dict[str, str] | None:
    """Return the labels of a placed or nominated pod in the same namespace, or None."""
    if not isinstance(changed, pod_shape.PodInfo) or not event_hints.is_placed_or_nominated(
        changed
    ):
        return None
    return changed.shape.labels if changed.shape.namespace == pod.shape.namespace else None


def _list_node_domains(
    node: events.ClusterObject,
    constraints: Sequence[spread_constraints.ResolvedSpreadConstraint],
    shape: pod_shape.PodShape,
    own: tolerations.Tolerations,
) -> list[tuple[str, bool]] | None:
    """Return (domain of the node, whether its pods count) for each constraint.

    The result is None if the object is not a node or the node lacks a topology key.
    """
    if not isinstance(node, objects.Node):
        return None
    labels = node.metadata.labels
    if not spread_constraints.has_all_topology_keys(labels, constraints):
        return None
    matches_affinity = node_selection.required_matches(shape, node)
    is_tolerated = not tolerations.repels(node.spec.taints, own)
    return [
        (
            labels[c.topology_key],
            (matches_affinity or not c.honors_affinity) and (is_tolerated or not c.honors_taints),
        )
        for c in constraints
    ]
