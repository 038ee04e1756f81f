"""NodeAffinity: filter and score nodes by nodeSelector, node affinity and added affinity.

Source: `plugins/nodeaffinity/node_affinity.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects, selector_errors
from policysched.cluster.pods import node_terms, pod_shape
from policysched.framework import comparison, cycle_state, events, interface, status
from policysched.plugins import arguments, names
from policysched.plugins.kernels import node_selection
from policysched.plugins.node_affinity import added_affinity
from policysched.plugins.shared import event_hints, node_rejection_texts

REASON_POD = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT = "pod affinity terms conflict"


class NodeAffinity:
    """Rejects nodes that do not match required terms, and scores nodes by preferred terms."""

    name = names.NODE_AFFINITY
    reads: ClassVar = interface.Reads.NODE
    comparison: ClassVar = comparison.Comparison(comparison.ComparisonKind.MAXIMUM)

    def __init__(self, added: objects.NodeAffinity | None = None) -> None:
        """Apply `added` to all pods, besides their own affinity."""
        self._added = _make_shape_with_affinity(added or objects.NodeAffinity())
        self._prefers_more = bool(
            added and added.preferred_during_scheduling_ignored_during_execution
        )

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> NodeAffinity:
        """Create the plugin from `NodeAffinityArgs`."""
        return cls(added_affinity.make_added_affinity(args))

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Skip Filter for pods without requirements; narrow the nodes if every term names nodes."""
        del state, snap
        terms = pod.shape.required_node_terms
        unrestricted = terms is None and not pod.shape.spec.node_selector
        if unrestricted and self._added.required_node_terms is None:
            return interface.PreFilterResult(status.SKIP)
        named = _find_permitted_node_names(pod.shape)
        if named is not None and not named:
            return interface.PreFilterResult(status.unresolvable(self.name, REASON_CONFLICT))
        return interface.PreFilterResult(node_names=named)

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes; added affinity is reported first."""
        del state
        own = ~node_selection.required_mask(pod.shape, nodes)
        rejected = status.unresolvable(self.name, REASON_POD)
        if self._added.required_node_terms is None:
            return status.NodeStatuses.where(own, rejected)
        enforced = ~node_selection.any_term_mask(self._added.required_node_terms, nodes)
        return status.NodeStatuses.first_of(
            len(nodes),
            [(enforced, status.unresolvable(self.name, REASON_ENFORCED)), (own, rejected)],
        )

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the requirements that the node does not meet, with its labels and fields."""
        del state
        if reason not in (REASON_POD, REASON_ENFORCED):
            return ""
        found = node_rejection_texts.get_only_node(node)
        is_enforced = reason == REASON_ENFORCED
        terms = self._added.required_node_terms if is_enforced else pod.shape.required_node_terms
        unmet = (
            []
            if is_enforced
            else node_rejection_texts.list_unmet_requirements(found, pod.shape.node_selector)
        )
        if terms is not None and not node_selection.any_term_matches(terms, found):
            unmet.append(
                " or ".join(_format_unmet_requirements(found, term) for term in terms) or "no term"
            )
        return "; ".join(unmet)

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Skip Score for pods without preferred terms; return ERROR if a term is invalid."""
        del state, nodes
        preferred = _get_preferred_terms(pod.shape)
        errors = [
            error
            for i, term in enumerate(preferred)
            for error in selector_errors.find_node_term_errors(term.preference, f"[{i}]")
            if term.weight
        ]
        if errors:
            text = selector_errors.aggregate_errors(errors)
            return status.Status(status.Code.ERROR, (text,), self.name)
        return status.SUCCESS if self._prefers_more or preferred else status.SKIP

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): the sum of the weights of the matching preferred terms."""
        del state
        total = np.zeros(len(nodes), np.int64)
        for term, weight in self._added.preferred_node_terms + pod.shape.preferred_node_terms:
            total += weight * node_selection.term_mask(term, nodes)
        return total

    def normalize_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, scores: columns.IntArray
    ) -> columns.IntArray:
        """Return int64 (f,): scores normalised to 0 to 100, with 100 for the largest sum."""
        del state, pod
        return self.comparison.compare(scores)

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for new nodes and changed node labels, which can make a node match."""
        node = events.ActionType.ADD | events.ActionType.UPDATE_NODE_LABEL
        return (
            event_hints.make_event_registration(
                events.EventResource.NODE, node, self._after_node_change
            ),
        )

    def _after_node_change(
        self, pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
    ) -> events.QueueingHint:
        if not isinstance(new, objects.Node) or not self._matches_node(pod.shape, new):
            return events.QueueingHint.SKIP
        matched = isinstance(old, objects.Node) and self._matches_node(pod.shape, old)
        return event_hints.choose_queueing_hint(not matched)

    def _matches_node(self, shape: pod_shape.PodShape, node: objects.Node) -> bool:
        enforced = node_selection.required_matches(self._added, node)
        return enforced and node_selection.required_matches(shape, node)


def _make_shape_with_affinity(affinity: objects.NodeAffinity) -> pod_shape.PodShape:
    """Return a shape with only this node affinity, because shapes parse the terms."""
    spec = objects.PodSpec(affinity=objects.Affinity(node_affinity=affinity))
    return pod_shape.PodShape(objects.Pod(metadata=objects.ObjectMeta(), spec=spec), {}, -1)


def _get_preferred_terms(shape: pod_shape.PodShape) -> tuple[objects.PreferredSchedulingTerm, ...]:
    affinity = shape.spec.affinity and shape.spec.affinity.node_affinity
    return affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()


def _find_permitted_node_names(shape: pod_shape.PodShape) -> frozenset[str] | None:
    """Return the node names to which the terms restrict a pod; None for no restriction."""
    affinity = shape.spec.affinity and shape.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    if not required or not required.node_selector_terms:
        return None
    named: frozenset[str] = frozenset()
    for term in required.node_selector_terms:
        of_term = _find_node_names_in_fields(term.match_fields)
        if of_term is None:
            return None
        named |= of_term
    return named


def _find_node_names_in_fields(
    fields: Iterable[objects.SelectorRequirement],
) -> frozenset[str] | None:
    sets = [
        frozenset(f.values)
        for f in fields
        if f.key == node_selection.NAME_FIELD and f.operator == "In"
    ]
    return frozenset.intersection(*sets) if sets else None


def _format_unmet_requirements(node: objects.Node, term: node_terms.NodeTerm) -> str:
    """Format the requirements of a term that a node does not meet."""
    fields = [
        f"{field.key} is {node.name}, wanted {field}"
        for field in term.fields
        if not node_selection.matches_field(
            field, node.name if field.key == node_selection.NAME_FIELD else ""
        )
    ]
    return ", ".join([*node_rejection_texts.list_unmet_requirements(node, term.labels), *fields])


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodeAffinity
    _pre_filter: type[interface.PreFilterPlugin] = NodeAffinity
    _filter: type[interface.FilterPlugin] = NodeAffinity
    _pre_score: type[interface.PreScorePlugin] = NodeAffinity
    _score: type[interface.ScorePlugin] = NodeAffinity
    _comparing: type[interface.ComparingPlugin] = NodeAffinity
    _events: type[interface.EventsPlugin] = NodeAffinity
