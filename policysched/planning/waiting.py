"""Pending pods: scheduled one after the other in queue order, as `simulate` does, under each side.

The old side has a cluster of its own. On the new side each pod is compared where it stands: what
the old policies would decide about this pod now, beside the pods that the new ones have placed,
tells an edit that acts on the pod from one that acted on pods before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policysched.cluster.pods import pod_shape
from policysched.offline import sessions, simulating
from policysched.planning import changes, comparing, deciding, world


def compare(
    where: world.World,
    old: sessions.Decider,
    found: changes.Changes,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Add the changes of pending pods to `found`; both clusters change with every placement."""
    before: dict[str, simulating.Placement] = {}
    for placement in old.simulate():
        before[placement.pod] = placement
        advance(1)
    queueing = _Queueing(where, before, found)
    served = simulating.in_queue_order(where.cluster, where.new.choice)
    for _, info in served:
        queueing.schedule(info)
        advance(1)
    taken = {info.uid for _, info in served}
    for info in where.cluster.pending:
        if info.uid not in taken:
            queueing.leave(info)


class _Queueing:
    """Schedules on the new side and compares."""

    def __init__(
        self,
        where: world.World,
        before: Mapping[str, simulating.Placement],
        found: changes.Changes,
    ) -> None:
        self._world = where
        self._before = before
        self._found = found
        self._simulation = simulating.Simulation(where.cache, {})
        self._comparing = comparing.Comparing(where, found, deciding.decide_with_preemption)

    def schedule(self, info: pod_shape.PodInfo) -> None:
        """Place a pod that the new side serves."""
        self._found.considered[changes.Phase.PENDING] += 1
        pair = self._world.pair(info)
        framework = self._world.new.framework(pair.new or "")
        if pair.old is None:
            now = self._simulation.place(framework, info)
            self._note_profile(info, now, changes.Outcome.PROFILE_ADDED)
            return
        placed = self._before[info.key]
        compared = None
        if self._is_concerned(pair, info) and framework.pre_enqueue(info).is_success:
            old = self._comparing.decide_old(pair, info, (placed.node,))
            new = self._comparing.decide_new(pair, info, (placed.node, old.node))
            compared = self._comparing.compare_queued(pair, info, (old, new), placed.node)
        now = self._simulation.place(framework, info, placed.node)
        self._note(info, (_fate(placed), _fate(now)), compared)

    def leave(self, info: pod_shape.PodInfo) -> None:
        """Leave a pod pending that the new side does not serve."""
        placed = self._before.get(info.key)
        if placed is None:
            self._found.unserved[info.pod.spec.scheduler_name] += 1
            return
        self._found.considered[changes.Phase.PENDING] += 1
        self._note_profile(info, placed, changes.Outcome.PROFILE_REMOVED)

    def _is_concerned(self, pair: world.Pair, info: pod_shape.PodInfo) -> bool:
        return bool(self._world.relevant_edits(pair, info.shape))

    def _note_profile(
        self, info: pod_shape.PodInfo, served: simulating.Placement, outcome: changes.Outcome
    ) -> None:
        phase = changes.Phase.PENDING
        self._found.pods.append(changes.of_profile(info.pod, phase, _fate(served), outcome))

    def _note(
        self,
        info: pod_shape.PodInfo,
        fates: tuple[changes.Fate, changes.Fate],
        compared: comparing.Compared | None,
    ) -> None:
        """Note how the fates of a pod differ; `compared` is None if no edit concerns it."""
        is_concerned = compared is not None
        compared = compared or comparing.Compared()
        outcome = compared.outcome(fates)
        if outcome is changes.Outcome.SAME:
            return
        if outcome is changes.Outcome.REASON and not is_concerned:
            return  # of several rules that reject a node, the first in the text is told
        cause = compared.cause or changes.Cause(changes.CauseKind.EARLIER_PODS)
        self._found.pods.append(
            changes.PodChange(
                info.key,
                changes.Phase.PENDING,
                outcome,
                None,
                *fates,
                lost=compared.lost,
                gained=compared.gained,
                cause=None if outcome is changes.Outcome.NODES else cause,
            )
        )


def _fate(placement: simulating.Placement) -> changes.Fate:
    message = placement.message
    if placement.gate is not None:
        message = placement.gate.message
    return changes.Fate(placement.node, placement.feasible, message, tuple(placement.victims))
