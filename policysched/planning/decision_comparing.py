"""Two decisions about one pod, made on the same cluster: what differs, and by which edit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster import snapshot, what_if
from policysched.cluster.pods import pod_shape
from policysched.offline import simulating
from policysched.planning import causes, changes, deciding, two_sided_cluster


@dataclasses.dataclass(frozen=True, slots=True)
class DecisionDifference:
    """What differs for a pod.

    Attributes:
        lost: how many nodes take it no more.
        gained: how many nodes newly take it.
        cause: None if both decisions end alike.
    """

    lost: int = 0
    gained: int = 0
    cause: changes.ChangeCause | None = None

    def classify_fates(
        self, fates: tuple[changes.PodFate, changes.PodFate]
    ) -> changes.PodChangeKind:
        """Return how two fates differ."""
        return changes.classify_pod_change(*fates, has_other_nodes=bool(self.lost or self.gained))


class DecisionComparer:
    """Decides and compares in a world."""

    def __init__(
        self,
        where: two_sided_cluster.TwoSidedCluster,
        found: changes.PodChanges,
        decide: deciding.DecideFunction,
    ) -> None:
        """Decide by `decide`, and note in `found` which nodes pods lose and gain."""
        self._world = where
        self._found = found
        self._decide_pod = decide
        self._causes = causes.CauseFinder(where, decide)

    def decide_old(
        self,
        pair: two_sided_cluster.ProfilePair,
        info: pod_shape.PodInfo,
        preferred: Iterable[str | None] = (),
    ) -> deciding.PlannedDecision:
        """Return what the old policies decide now."""
        return self._decide(self._world.old, pair.old, info, preferred)

    def decide_new(
        self,
        pair: two_sided_cluster.ProfilePair,
        info: pod_shape.PodInfo,
        preferred: Iterable[str | None] = (),
    ) -> deciding.PlannedDecision:
        """Return what the new policies decide now."""
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
        pair: two_sided_cluster.ProfilePair,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.PlannedDecision, deciding.PlannedDecision],
        pods: int = 1,
    ) -> DecisionDifference:
        """Return what differs between two decisions about `pods` equal pods, made just now."""
        return self.compare_queued_decisions(pair, info, decided, decided[0].node, pods)

    def compare_queued_decisions(
        self,
        pair: two_sided_cluster.ProfilePair,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.PlannedDecision, deciding.PlannedDecision],
        given: str | None,
        pods: int = 1,
    ) -> DecisionDifference:
        """Return the same for pods that got the node `given` on a cluster of the old side's own."""
        old, new = decided
        lost, gained = self._found.add_node_differences(old, new, pods)
        outcome = changes.classify_pod_change(
            make_pod_fate(old), make_pod_fate(new), has_other_nodes=False
        )
        if outcome is changes.PodChangeKind.SAME:
            return DecisionDifference(lost, gained)
        cause = self._find_cause(pair, info, old, new, outcome)
        if given is None:
            # The old side may have room here that its own cluster did not have.
            how = _describe_newly_allowed_node(old, new, self._world.take_snapshot())
            cause = dataclasses.replace(cause, how=how)
        return DecisionDifference(lost, gained, cause)

    def _find_cause(
        self,
        pair: two_sided_cluster.ProfilePair,
        info: pod_shape.PodInfo,
        old: deciding.PlannedDecision,
        new: deciding.PlannedDecision,
        outcome: changes.PodChangeKind,
    ) -> changes.ChangeCause:
        how = self._explain_difference(pair, info, old, new)
        row = self._world.cache.nodes.row_of.get(old.node or "")
        alike = None if row is None else new.get_row_status(row)
        is_old = _make_old_outcome_test(outcome, old, self._world)
        found = self._causes.find_cause(pair, info, outcome, is_old, alike)
        return dataclasses.replace(found, how=how)

    def _explain_difference(
        self,
        pair: two_sided_cluster.ProfilePair,
        info: pod_shape.PodInfo,
        old: deciding.PlannedDecision,
        new: deciding.PlannedDecision,
    ) -> str:
        """Return why the new policies do not do with a pod what the old ones do."""
        snap = self._world.take_snapshot()
        if old.node is None or not old.evicted:
            return "" if old.node is None else changes.explain_leaving_node(old.node, new, snap)
        if new.node is not None and not new.evicted:
            return f"{new.node} takes it, so no pod is evicted"
        row = snap.nodes.row_of[old.node]
        framework = self._world.new.get_framework(pair.new or "")
        with what_if.WhatIf(snap) as supposed:
            supposed.remove_pods([(each, row) for each in old.evicted])
            then = deciding.decide_pod(framework, simulating.replace_nominated_node(info, ""), snap)
        if then.get_row_status(row).is_success:
            return ""  # the profile chooses other victims, or has no preemption
        return f"after the evictions {changes.explain_leaving_node(old.node, then, snap)}"


def _describe_newly_allowed_node(
    old: deciding.PlannedDecision, new: deciding.PlannedDecision, snap: snapshot.Snapshot
) -> str:
    """Return that a pod gets a node from which the old policies kept it, "" if they did not."""
    row = snap.nodes.row_of.get(new.node or "")
    if row is None or old.get_row_status(row).is_success or not new.get_row_status(row).is_success:
        return ""
    return f"it is no longer kept off {new.node}"


def _make_old_outcome_test(
    outcome: changes.PodChangeKind,
    old: deciding.PlannedDecision,
    where: two_sided_cluster.TwoSidedCluster,
) -> causes.IsOld:
    """Return what tells whether a decision comes to the old outcome."""
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
    """Return what becomes of a pod by a decision."""
    return changes.PodFate(decision.node, decision.feasible, decision.message, decision.victims)
