"""Define queueing hints for pods that InterPodAffinity rejected.

Source: `plugins/interpodaffinity/plugin.go`. These hints also queue the pod in some cases that
kube-scheduler leaves to the five-minute flush: one of several anti-affinity terms stops matching, a
node is added for a pod that only placed pods repel, the last pod of a series is removed, or the
labels of a namespace change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policysched.cluster.counters import pod_counts
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.plugins.shared import event_hints


class PodAffinityHints:
    """The hints; they read the pod counts of the cluster in which pods were last rejected.

    Attributes:
        counts: pod counts of the latest snapshot; PreFilter sets them.
    """

    def __init__(self) -> None:
        """Start with empty counts; the first cycle replaces them."""
        self.counts = pod_counts.PodCounts()

    def make_registrations(self) -> Sequence[events.ClusterEventWithHint]:
        """Return the events that can help, with their hints."""
        resource, action = events.EventResource, events.ActionType
        placed = action.ADD | action.UPDATE_POD_LABEL | action.DELETE
        node = action.ADD | action.UPDATE_NODE_LABEL
        namespace = action.ADD | action.UPDATE_OTHER
        return (
            event_hints.make_event_registration(resource.POD, placed, self._after_pod_change),
            event_hints.make_event_registration(
                resource.UNSCHEDULED_POD, action.UPDATE_POD_LABEL, event_hints.after_own_change
            ),
            event_hints.make_event_registration(resource.NODE, node, self._after_node_change),
            event_hints.make_event_registration(
                resource.NAMESPACE, namespace, self._after_namespace_change
            ),
        )

    # --- pods ------------------------------------------------------------------------------------

    def _after_pod_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the change satisfies required affinity, ends repulsion or starts a series."""
        before = _get_placed_shape(old)
        after = _get_placed_shape(new)
        came = self._matches_required_affinity(
            pod.shape, after
        ) and not self._matches_required_affinity(pod.shape, before)
        return event_hints.choose_queueing_hint(
            came
            or self._has_anti_affinity_ended(pod.shape, before, after)
            or self._is_last_match_gone(pod.shape, before, after)
        )

    def _matches_required_affinity(
        self, waiting: pod_shape.PodShape, other: pod_shape.PodShape | None
    ) -> bool:
        """Return whether `other` matches all required affinity terms of the waiting pod."""
        terms = waiting.affinity_terms
        return (
            bool(terms)
            and other is not None
            and all(self._does_term_match(t, other) for t in terms)
        )

    def _has_anti_affinity_ended(
        self,
        waiting: pod_shape.PodShape,
        before: pod_shape.PodShape | None,
        after: pod_shape.PodShape | None,
    ) -> bool:
        """Return whether an anti-affinity term of either pod matched before and no longer does."""
        if before is None:
            return False
        gone = {t for t in before.anti_affinity_terms if self._does_placed_term_match(t, waiting)}
        gone -= set(after.anti_affinity_terms if after else ())
        if gone:
            return True
        own = [t for t in waiting.anti_affinity_terms if self._does_term_match(t, before)]
        return any(after is None or not self._does_term_match(t, after) for t in own)

    def _is_last_match_gone(
        self,
        waiting: pod_shape.PodShape,
        before: pod_shape.PodShape | None,
        after: pod_shape.PodShape | None,
    ) -> bool:
        """Return whether the last matching pod is gone and the waiting pod can start a series.

        Only a pod that matches its own terms can start a series.
        """
        if not self._matches_required_affinity(waiting, before) or self._matches_required_affinity(
            waiting, after
        ):
            return False
        query = pod_counts.PodsMatchingAllTerms(waiting.affinity_terms)
        return self.counts.get_column(query).total == 0 and self._matches_required_affinity(
            waiting, waiting
        )

    def _does_term_match(self, term: pod_shape.AffinityTerm, other: pod_shape.PodShape) -> bool:
        """Return whether a term of the waiting pod matches `other`."""
        namespaces = self.counts.namespaces
        return term.matches(other.namespace, other.labels, namespaces.get(other.namespace))

    def _does_placed_term_match(
        self, term: pod_shape.AffinityTerm, waiting: pod_shape.PodShape
    ) -> bool:
        """Return whether a term of a placed pod matches the waiting pod."""
        labels = self.counts.namespaces.get(waiting.namespace, {})
        return term.matches_incoming_pod(waiting.namespace, waiting.labels, labels)

    # --- nodes and namespaces --------------------------------------------------------------------

    def _after_node_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the value of a relevant topology key changed on a node.

        The relevant keys are those of the pod's required terms, and of the terms of placed pods
        that repel it. For a new node, queue if the pod has no required affinity, or if the node has
        one of its topology keys.
        """
        if not isinstance(new, objects.Node):
            return events.QueueingHint.SKIP
        required = {t.topology_key for t in pod.shape.affinity_terms}
        labels = new.metadata.labels
        if not isinstance(old, objects.Node):
            return event_hints.choose_queueing_hint(not required or not required.isdisjoint(labels))
        keys = required | self._list_repelling_topology_keys(pod.shape)
        return event_hints.choose_queueing_hint(
            any(labels.get(k) != old.metadata.labels.get(k) for k in keys)
        )

    def _list_repelling_topology_keys(self, waiting: pod_shape.PodShape) -> set[str]:
        repelling = self.counts.find_terms_matching_incoming_pod(
            pod_counts.TermKind.REQUIRED_ANTI_AFFINITY, waiting
        )
        acting = (owned.term for owned, _ in repelling)
        return {t.topology_key for t in (*waiting.anti_affinity_terms, *acting)}

    def _after_namespace_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        """Queue if the change affects which namespaces a term of the pod selects.

        Also queue for the pod's own namespace, which terms of placed pods can now select
        differently.
        """
        if not isinstance(new, objects.Namespace):
            return events.QueueingHint.SKIP
        before = old.metadata.labels if isinstance(old, objects.Namespace) else None
        after = new.metadata.labels
        if before == after:
            return events.QueueingHint.SKIP
        terms = (*pod.shape.affinity_terms, *pod.shape.anti_affinity_terms)
        changed = _does_namespace_match_change(terms, before, after)
        return event_hints.choose_queueing_hint(changed or new.metadata.name == pod.shape.namespace)


def _get_placed_shape(changed: events.ClusterObject) -> pod_shape.PodShape | None:
    is_placed = isinstance(changed, pod_shape.PodInfo) and event_hints.is_placed_or_nominated(
        changed
    )
    return changed.shape if is_placed and isinstance(changed, pod_shape.PodInfo) else None


def _does_namespace_match_change(
    terms: Iterable[pod_shape.AffinityTerm],
    before: dict[str, str] | None,
    after: dict[str, str],
) -> bool:
    """Return whether a namespace selector matches the old and the new labels differently."""
    selectors = (t.namespace_selector for t in terms)
    return any(
        s is not None and (before is not None and s.matches(before)) != s.matches(after)
        for s in selectors
    )
