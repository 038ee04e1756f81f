"""Compares two decisions for one pod and finds the edits that cause a difference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster import snapshot, what_if
from policysched.cluster.pods import pod_shape
from policysched.offline import changing_times, simulating
from policysched.planning import causes, changes, deciding, two_sided_cluster


@dataclasses.dataclass(frozen=True, slots=True)
class DecisionDifference:
    """The difference between the decisions of the two sides for a pod.

    Attributes:
        lost: the number of nodes that are feasible under the old side only.
        gained: the number of nodes that are feasible under the new side only.
        cause: the cause of different outcomes; None if both decisions have the same outcome.
    """

    lost: int = 0
    gained: int = 0
    cause: changes.ChangeCause | None = None

    def classify_fates(
        self, fates: tuple[changes.PodFate, changes.PodFate]
    ) -> changes.PodChangeKind:
        """Return the kind of difference between two fates, including other feasible nodes."""
        return changes.classify_pod_change(*fates, has_other_nodes=bool(self.lost or self.gained))


class DecisionComparer:
    """Compares the decisions that both sides of a cluster make for pods."""

    def __init__(
        self,
        where: two_sided_cluster.TwoSidedCluster,
        found: changes.PodChanges,
        decide: deciding.DecideFunction,
    ) -> None:
        """Make decisions with `decide`, and add lost and gained nodes to `found`."""
        self._world = where
        self._found = found
        self._decide_pod = decide
        self._causes = causes.CauseFinder(where, decide)

    def decide_old(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        preferred: Iterable[str | None] = (),
    ) -> deciding.PlannedDecision:
        """Return the decision of the old policies in the current state of the cluster."""
        return self._decide(self._world.old, pair.old, info, preferred)

    def decide_new(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        preferred: Iterable[str | None] = (),
    ) -> deciding.PlannedDecision:
        """Return the decision of the new policies in the current state of the cluster."""
        return self._decide(self._world.new, pair.new, info, preferred)

    def _decide(
        self,
        side: two_sided_cluster.SideFrameworks,
        profile: str | None,
        info: pod_shape.PodInfo,
        preferred: Iterable[str | None],
    ) -> deciding.PlannedDecision:
        framework = side.get_framework(profile or "")
        return self._decide_pod(framework, info, self._world.take_snapshot(), preferred)

    def compare_decisions(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.PlannedDecision, deciding.PlannedDecision],
        pods: int = 1,
    ) -> DecisionDifference:
        """Return the difference between two decisions in the current cluster for identical pods."""
        return self.compare_pending_pod_decisions(pair, info, decided, decided[0].node, pods)

    def compare_pending_pod_decisions(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.PlannedDecision, deciding.PlannedDecision],
        given: str | None,
        pods: int = 1,
    ) -> DecisionDifference:
        """Return the difference for pods that get the node `given` in the old side's cluster."""
        old, new = decided
        lost, gained = self._found.add_node_differences(old, new, pods)
        outcome = changes.classify_pod_change(
            make_pod_fate(old), make_pod_fate(new), has_other_nodes=False
        )
        if outcome is changes.PodChangeKind.SAME:
            return DecisionDifference(lost, gained)
        cause = self._find_cause(pair, info, old, new, outcome)
        if given is None:
            # The old policies can have room in this cluster that they lacked in their own.
            how = _describe_newly_allowed_node(old, new, self._world.take_snapshot())
            cause = dataclasses.replace(cause, how=how)
        return DecisionDifference(lost, gained, cause)

    def _find_cause(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        old: deciding.PlannedDecision,
        new: deciding.PlannedDecision,
        outcome: changes.PodChangeKind,
    ) -> changes.ChangeCause:
        """Return the cause of a different outcome, with a text about the old node."""
        how = self._explain_difference(pair, info, old, new)
        how = "; ".join([how, *self._list_changing_times(pair, info, old, new)])
        row = self._world.cache.nodes.row_of.get(old.node or "")
        alike = None if row is None else new.get_row_status(row)
        is_old = _make_old_outcome_predicate(outcome, old, self._world)
        found = self._causes.find_cause(pair, info, outcome, is_old, alike)
        return dataclasses.replace(found, how=how)

    def _list_changing_times(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        old: deciding.PlannedDecision,
        new: deciding.PlannedDecision,
    ) -> list[str]:
        """Return the times after which the new policies may accept the pod on its old node."""
        row = self._world.cache.nodes.row_of.get(old.node or "")
        if row is None or new.node is not None:
            return []
        framework, snap = self._world.new.get_framework(pair.new or ""), self._world.take_snapshot()
        answers = [new.get_row_status(row)]
        times = changing_times.list_changing_times(framework, info, snap, answers)
        return [text for _, text in times]

    def _explain_difference(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        old: deciding.PlannedDecision,
        new: deciding.PlannedDecision,
    ) -> str:
        """Return the reason why the new policies do not lead to the old decision, or ""."""
        snap = self._world.take_snapshot()
        if old.node is None or not old.evicted:
            return "" if old.node is None else changes.explain_leaving_node(old.node, new, snap)
        if new.node is not None and not new.evicted:
            return f"{new.node} accepts it, so no pod is evicted"
        row = snap.nodes.row_of[old.node]
        framework = self._world.new.get_framework(pair.new or "")
        with what_if.WhatIf(snap) as supposed:
            supposed.remove_pods([(each, row) for each in old.evicted])
            then = deciding.decide_pod(framework, simulating.replace_nominated_node(info, ""), snap)
        if then.get_row_status(row).is_success:
            return ""  # the profile selects other victims or has no preemption
        return f"after the evictions {changes.explain_leaving_node(old.node, then, snap)}"


def _describe_newly_allowed_node(
    old: deciding.PlannedDecision, new: deciding.PlannedDecision, snap: snapshot.Snapshot
) -> str:
    """Return a text about a new node that the old policies rejected; "" for any other new node."""
    row = snap.nodes.row_of.get(new.node or "")
    if row is None or old.get_row_status(row).is_success or not new.get_row_status(row).is_success:
        return ""
    return f"{new.node} no longer rejects it"


def _make_old_outcome_predicate(
    outcome: changes.PodChangeKind,
    old: deciding.PlannedDecision,
    where: two_sided_cluster.TwoSidedCluster,
) -> causes.IsOld:
    """Return a predicate that is true for decisions with the old outcome."""
    if outcome is changes.PodChangeKind.UNSCHEDULABLE:
        return lambda said: said.node is not None
    if outcome is changes.PodChangeKind.SCHEDULABLE:
        return lambda said: said.node is None
    if old.node is None:
        return lambda said: said.message == old.message
    node = old.node
    return lambda said: (
        said.victims == old.victims and said.is_best_node(node, where.take_snapshot())
    )


def make_pod_fate(decision: deciding.PlannedDecision) -> changes.PodFate:
    """Return the parts of a decision that plans report."""
    return changes.PodFate(decision.node, decision.feasible, decision.message, decision.victims)
