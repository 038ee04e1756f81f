"""Compares pending pods, which are scheduled in queue order under each side.

The old side has its own cluster, as in `simulate`. In the cluster of the new side, the new policies
have placed the earlier pods, and the decisions of both sides for a pod are compared in this state.
This separates edits that affect the pod itself from edits that affected earlier pods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policysched.cluster.pods import pod_shape
from policysched.offline import sessions, simulating
from policysched.planning import changes, deciding, decision_comparing, two_sided_cluster


def compare_pending_pods(
    where: two_sided_cluster.TwoSidedCluster,
    old: sessions.PodDecider,
    found: changes.PodChanges,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Add the changes for pending pods to `found`; pods are placed in the cluster of each side."""
    before: dict[str, simulating.SimulatedPlacement] = {}
    for placement in old.simulate_placements():
        before[placement.pod] = placement
        advance(1)
    queueing = _PendingPodComparer(where, before, found)
    served = simulating.list_pods_in_queue_order(where.cluster, where.new.choice)
    for _, info in served:
        queueing.schedule_pod(info)
        advance(1)
    taken = {info.uid for _, info in served}
    for info in where.cluster.pending:
        if info.uid not in taken:
            queueing.record_unserved_pod(info)


class _PendingPodComparer:
    """Schedules pods on the new side and compares the decisions with those of the old side."""

    def __init__(
        self,
        where: two_sided_cluster.TwoSidedCluster,
        before: Mapping[str, simulating.SimulatedPlacement],
        found: changes.PodChanges,
    ) -> None:
        """Start a simulation on the new side; `before` contains the placements of the old side."""
        self._world = where
        self._before = before
        self._found = found
        self._simulation = simulating.SchedulingSimulation(where.cache, {})
        self._comparing = decision_comparing.DecisionComparer(
            where, found, deciding.decide_pod_with_preemption
        )

    def schedule_pod(self, info: pod_shape.PodInfo) -> None:
        """Place a pod that the new side serves and record its change."""
        self._found.considered[changes.PlannedPodPhase.PENDING] += 1
        pair = self._world.find_profiles(info)
        framework = self._world.new.get_framework(pair.new or "")
        if pair.old is None:
            now = self._simulation.place_pod(framework, info)
            self._record_one_sided_change(info, now, changes.PodChangeKind.PROFILE_ADDED)
            return
        placed = self._before[info.key]
        compared = None
        if self._is_concerned_by_edits(pair, info) and framework.pre_enqueue(info).is_success:
            old = self._comparing.decide_old(pair, info, (placed.node,))
            new = self._comparing.decide_new(pair, info, (placed.node, old.node))
            compared = self._comparing.compare_pending_pod_decisions(
                pair, info, (old, new), placed.node
            )
        now = self._simulation.place_pod(framework, info, placed.node)
        self._record_change(info, (_make_fate(placed), _make_fate(now)), compared)

    def record_unserved_pod(self, info: pod_shape.PodInfo) -> None:
        """Record a pod that the new side does not serve; it stays pending."""
        placed = self._before.get(info.key)
        if placed is None:
            self._found.unserved[info.pod.spec.scheduler_name] += 1
            return
        self._found.considered[changes.PlannedPodPhase.PENDING] += 1
        self._record_one_sided_change(info, placed, changes.PodChangeKind.PROFILE_REMOVED)

    def _is_concerned_by_edits(
        self, pair: two_sided_cluster.DecidingProfileNames, info: pod_shape.PodInfo
    ) -> bool:
        return bool(self._world.get_relevant_edits(pair, info.shape))

    def _record_one_sided_change(
        self,
        info: pod_shape.PodInfo,
        served: simulating.SimulatedPlacement,
        outcome: changes.PodChangeKind,
    ) -> None:
        """Record the change for a pod whose profile only one side declares."""
        phase = changes.PlannedPodPhase.PENDING
        self._found.pods.append(
            changes.make_one_sided_change(info.pod, phase, _make_fate(served), outcome)
        )

    def _record_change(
        self,
        info: pod_shape.PodInfo,
        fates: tuple[changes.PodFate, changes.PodFate],
        compared: decision_comparing.DecisionDifference | None,
    ) -> None:
        """Record the difference between the fates; `compared` is None if no edit concerns it."""
        is_concerned = compared is not None
        compared = compared or decision_comparing.DecisionDifference()
        outcome = compared.classify_fates(fates)
        if outcome is changes.PodChangeKind.SAME:
            return
        if outcome is changes.PodChangeKind.REASON and not is_concerned:
            return  # a different order of rules can change the message
        cause = compared.cause or changes.ChangeCause(changes.CauseKind.EARLIER_PODS)
        self._found.pods.append(
            changes.PodChange(
                info.key,
                changes.PlannedPodPhase.PENDING,
                outcome,
                None,
                *fates,
                lost=compared.lost,
                gained=compared.gained,
                cause=None if outcome is changes.PodChangeKind.NODES else cause,
            )
        )


def _make_fate(placement: simulating.SimulatedPlacement) -> changes.PodFate:
    message = placement.message
    if placement.gate is not None:
        message = placement.gate.message
    return changes.PodFate(placement.node, placement.feasible, message, tuple(placement.victims))
