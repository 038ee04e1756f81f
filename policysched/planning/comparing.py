"""Two decisions about one pod, made on the same cluster: what differs, and by which edit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from policysched.cluster import pod_shape
from policysched.planning import causes, changes, deciding, world


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """What differs for a pod.

    Attributes:
        lost: how many nodes take it no more.
        gained: how many nodes newly take it.
    """

    outcome: changes.Outcome
    lost: int
    gained: int
    cause: changes.Cause | None


class Comparing:
    """Decides and compares in a world."""

    def __init__(self, where: world.World, found: changes.Changes) -> None:
        """Note in `found` which nodes pods lose and gain."""
        self._world = where
        self._found = found
        self._causes = causes.Causes(where)

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
        return deciding.decide(framework, info, self._world.snapshot(), preferred)

    def compare(
        self,
        pair: world.Pair,
        info: pod_shape.PodInfo,
        decided: tuple[deciding.Decision, deciding.Decision],
        fates: tuple[changes.Fate, changes.Fate],
        pods: int = 1,
    ) -> Compared:
        """Return what differs between two fates by two decisions about `pods` equal pods."""
        old, new = decided
        lost, gained = self._found.note_nodes(old, new, pods)
        outcome = changes.outcome(*fates, has_other_nodes=bool(lost or gained))
        if outcome in (changes.Outcome.SAME, changes.Outcome.NODES):
            return Compared(outcome, lost, gained, None)
        if (old.node, old.message) == (new.node, new.message):
            cause = changes.Cause(changes.CauseKind.EARLIER_PODS)
        else:
            cause = self._cause(pair, info, old, new)
        return Compared(outcome, lost, gained, cause)

    def _cause(
        self,
        pair: world.Pair,
        info: pod_shape.PodInfo,
        old: deciding.Decision,
        new: deciding.Decision,
    ) -> changes.Cause:
        how = "" if old.node is None else changes.against(old.node, new, self._world.snapshot())
        decided = changes.outcome(_fate(old), _fate(new), has_other_nodes=False)
        row = self._world.cache.nodes.row_of.get(old.node or "")
        alike = None if row is None else new.answer(row)
        is_old = _is_old(decided, old, self._world)
        found = self._causes.find(pair, info, decided, is_old, alike)
        return dataclasses.replace(found, how=how)


def _is_old(outcome: changes.Outcome, old: deciding.Decision, where: world.World) -> causes.IsOld:
    """Return what tells whether a decision comes to the old outcome."""
    if outcome is changes.Outcome.UNSCHEDULABLE:
        return lambda said: said.node is not None
    if outcome is changes.Outcome.SCHEDULABLE:
        return lambda said: said.node is None
    if old.node is None:
        return lambda said: said.message == old.message
    node = old.node
    return lambda said: said.node is not None and said.prefers(node, where.snapshot())


def _fate(decision: deciding.Decision) -> changes.Fate:
    return changes.Fate(decision.node, decision.feasible, decision.message)
