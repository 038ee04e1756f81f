"""Two decisions about one pod, made on the same cluster: what differs, and by which edit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster import snapshot, what_if
from policysched.cluster.pods import pod_shape
from policysched.offline import simulating
from policysched.planning import causes, changes, deciding, world


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """What differs for a pod.

    Attributes:
        lost: how many nodes take it no more.
        gained: how many nodes newly take it.
        cause: None if both decisions end alike.
    """

    lost: int = 0
    gained: int = 0
    cause: changes.Cause | None = None

    def outcome(self, fates: tuple[changes.Fate, changes.Fate]) -> changes.Outcome:
        """Return how two fates differ."""
        return changes.outcome(*fates, has_other_nodes=bool(self.lost or self.gained))


class Comparing:
    """Decides and compares in a world."""

    def __init__(self, where: world.World, found: changes.Changes, decide: deciding.Decide) -> None:
        """Decide by `decide`, and note in `found` which nodes pods lose and gain."""
        self._world = where
        self._found = found
        self._decide_pod = decide
        self._causes = causes.Causes(where, decide)

    def decide_old(
        self, pair: world.Pair, info: pod_shape.PodInfo, preferred: Iterable[str | None] = ()
    ) -> deciding.Decision:
        """Return what the old policies decide now."""
        return self._decide(self._world.old, pair.old, info, preferred)

    def decide_new(
        self, pair: world.Pair, info: pod_shape.PodInfo, preferred: Iterable[str | None] = ()
    ) -> deciding.Decision:
        """Return what the new policies decide now."""
        return self._decide(self._world.new, pair.new, info, preferred)

    def _decide(
        self,
        side: world.Served,
        profile: str | None,
        info: pod_shape.PodInfo,
        preferred: Iterable[str | None],
    ) -> deciding.Decision:
        framework = side.framework(profile or "")
        return self._decide_pod(framework, info, self._world.snapshot(), preferred)

    def compare(
        self,
        pair: world.Pair,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.Decision, deciding.Decision],
        pods: int = 1,
    ) -> Compared:
        """Return what differs between two decisions about `pods` equal pods, made just now."""
        return self.compare_queued(pair, info, decided, decided[0].node, pods)

    def compare_queued(
        self,
        pair: world.Pair,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.Decision, deciding.Decision],
        given: str | None,
        pods: int = 1,
    ) -> Compared:
        """Return the same for pods that got the node `given` on a cluster of the old side's own."""
        old, new = decided
        lost, gained = self._found.note_nodes(old, new, pods)
        outcome = changes.outcome(fate(old), fate(new), has_other_nodes=False)
        if outcome is changes.Outcome.SAME:
            return Compared(lost, gained)
        cause = self._cause(pair, info, old, new, outcome)
        if given is None:
            # The old side may have room here that its own cluster did not have.
            how = _admission(old, new, self._world.snapshot())
            cause = dataclasses.replace(cause, how=how)
        return Compared(lost, gained, cause)

    def _cause(
        self,
        pair: world.Pair,
        info: pod_shape.PodInfo,
        old: deciding.Decision,
        new: deciding.Decision,
        outcome: changes.Outcome,
    ) -> changes.Cause:
        how = self._describe(pair, info, old, new)
        row = self._world.cache.nodes.row_of.get(old.node or "")
        alike = None if row is None else new.answer(row)
        is_old = _is_old(outcome, old, self._world)
        found = self._causes.find(pair, info, outcome, is_old, alike)
        return dataclasses.replace(found, how=how)

    def _describe(
        self,
        pair: world.Pair,
        info: pod_shape.PodInfo,
        old: deciding.Decision,
        new: deciding.Decision,
    ) -> str:
        """Return why the new policies do not do with a pod what the old ones do."""
        snap = self._world.snapshot()
        if old.node is None or not old.evicted:
            return "" if old.node is None else changes.against(old.node, new, snap)
        if new.node is not None and not new.evicted:
            return f"{new.node} takes it, so no pod is evicted"
        row = snap.nodes.row_of[old.node]
        framework = self._world.new.framework(pair.new or "")
        with what_if.WhatIf(snap) as supposed:
            supposed.take_off([(each, row) for each in old.evicted])
            then = deciding.decide(framework, simulating.with_nomination(info, ""), snap)
        if then.answer(row).is_success:
            return ""  # the profile chooses other victims, or has no preemption
        return f"after the evictions {changes.against(old.node, then, snap)}"


def _admission(old: deciding.Decision, new: deciding.Decision, snap: snapshot.Snapshot) -> str:
    """Return that a pod gets a node from which the old policies kept it, "" if they did not."""
    row = snap.nodes.row_of.get(new.node or "")
    if row is None or old.answer(row).is_success or not new.answer(row).is_success:
        return ""
    return f"it is no longer kept off {new.node}"


def _is_old(outcome: changes.Outcome, old: deciding.Decision, where: world.World) -> causes.IsOld:
    """Return what tells whether a decision comes to the old outcome."""
    if outcome is changes.Outcome.UNSCHEDULABLE:
        return lambda said: said.node is not None
    if outcome is changes.Outcome.SCHEDULABLE:
        return lambda said: said.node is None
    if old.node is None:
        return lambda said: said.message == old.message
    node = old.node
    return lambda said: said.victims == old.victims and said.prefers(node, where.snapshot())


def fate(decision: deciding.Decision) -> changes.Fate:
    """Return what becomes of a pod by a decision."""
    return changes.Fate(decision.node, decision.feasible, decision.message, decision.victims)
