"""Finds the edits that cause a difference by undoing edits and repeating the decision.

An edit is the cause if undoing it in the new policies restores the old outcome. If no single edit
is a cause, the search continues for a minimal set of edits whose undoing restores the old outcome.
It uses QuickXplain (Junker 2004), which needs few decisions if only a few of many edits matter.

Identical pods usually have the same cause, so the cause of the previous one is tried first. After
the cause has explained eight identical pods in a row, it is only verified for every eighth pod,
until a pod has a different cause.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from policysched.cluster.pods import pod_shape
from policysched.planning import changes, deciding, profile_edits, two_sided_cluster

IsOld: TypeAlias = Callable[[deciding.PlannedDecision], bool]
"""Returns whether a decision leads to the old outcome."""

_SINGLES = 16
"""Up to this many edits are tried one by one; with more, the search for a set starts at once."""
_SURE, _SAMPLE = 8, 8
"""After `_SURE` identical pods with one cause, it is verified only for every `_SAMPLE`-th pod."""


@dataclasses.dataclass(slots=True)
class _ExplainedCause:
    """A cause and the number of consecutive identical pods that it has explained."""

    cause: changes.ChangeCause
    explained: int = 1

    def is_sure(self) -> bool:
        """Return whether the next identical pod can be assumed to have the same cause."""
        return self.explained >= _SURE and self.explained % _SAMPLE != 0


class CauseCache:
    """Caches the causes of differences, so that similar differences need fewer decisions."""

    def __init__(self) -> None:
        """Start without known causes."""
        self._known: dict[Hashable, _ExplainedCause] = {}

    def find_cause(
        self,
        alike: Hashable,
        relevant: Sequence[profile_edits.ProfileEdit],
        explains: Callable[[Sequence[profile_edits.ProfileEdit]], bool],
    ) -> changes.ChangeCause:
        """Return the cause of a difference.

        Args:
            alike: a key that is equal for differences that probably have the same cause.
            relevant: the edits that can be the cause.
            explains: returns whether undoing the given edits restores the old outcome.
        """
        known = self._known.get(alike)
        if known is not None and (known.is_sure() or _explains_another_pod(known.cause, explains)):
            known.explained += 1
            return known.cause
        found = _find_relevant_cause(relevant, explains)
        self._known[alike] = _ExplainedCause(found)
        return found


class CauseFinder:
    """Finds the causes of differences in the current state of a cluster with two sides."""

    def __init__(
        self, where: two_sided_cluster.TwoSidedCluster, decide: deciding.DecideFunction
    ) -> None:
        """Make decisions in the cluster `where` with the function `decide`."""
        self._world = where
        self._decide = decide
        self._known = CauseCache()

    def find_cause(
        self,
        pair: two_sided_cluster.DecidingProfileNames,
        info: pod_shape.PodInfo,
        outcome: changes.PodChangeKind,
        is_old: IsOld,
        alike: Hashable = None,
    ) -> changes.ChangeCause:
        """Return the cause of an outcome for a pod that both profiles of `pair` serve.

        `alike` is equal for pods of one shape that probably have the outcome for the same reason.
        """
        relevant = self._world.get_relevant_edits(pair, info.shape)
        if len(relevant) == 1:
            return changes.ChangeCause(changes.CauseKind.EDIT, (relevant[0],))

        def explains(taken_back: Sequence[profile_edits.ProfileEdit]) -> bool:
            framework = self._world.get_framework_without(pair, taken_back)
            return is_old(self._decide(framework, info, self._world.take_snapshot()))

        return self._known.find_cause((pair, info.shape.index, outcome, alike), relevant, explains)


def _explains_another_pod(
    cause: changes.ChangeCause, explains: Callable[[Sequence[profile_edits.ProfileEdit]], bool]
) -> bool:
    """Return whether a known cause also explains the difference of another pod."""
    if cause.kind is changes.CauseKind.TOGETHER:
        return all(explains([each]) for each in cause.edits)
    return bool(cause.edits) and explains(cause.edits)


def _find_relevant_cause(
    relevant: Sequence[profile_edits.ProfileEdit],
    explains: Callable[[Sequence[profile_edits.ProfileEdit]], bool],
) -> changes.ChangeCause:
    """Return the single edits that explain the difference, or else a minimal set of edits."""
    if len(relevant) <= _SINGLES:
        alone = tuple(each for each in relevant if explains([each]))
        if alone:
            kind = changes.CauseKind.TOGETHER if len(alone) > 1 else changes.CauseKind.EDIT
            return changes.ChangeCause(kind, alone)
    if not explains(relevant):
        return changes.ChangeCause(changes.CauseKind.UNKNOWN)
    smallest = tuple(_find_smallest_explaining_set(explains, [], list(relevant), has_more=False))
    kind = changes.CauseKind.EDIT if len(smallest) == 1 else changes.CauseKind.SEVERAL
    return changes.ChangeCause(kind, smallest)


def _find_smallest_explaining_set(
    explains: Callable[[Sequence[profile_edits.ProfileEdit]], bool],
    given: list[profile_edits.ProfileEdit],
    among: list[profile_edits.ProfileEdit],
    *,
    has_more: bool,
) -> list[profile_edits.ProfileEdit]:
    """Return a minimal subset of `among` that, with `given`, explains the difference (QuickXplain).

    All of `among` together with `given` must explain it. `has_more` is true if `given` has grown
    since it was last tested.
    """
    if has_more and explains(given):
        return []
    if len(among) == 1:
        return among
    half = len(among) // 2
    first, second = among[:half], among[half:]
    of_second = _find_smallest_explaining_set(explains, given + first, second, has_more=bool(first))
    of_first = _find_smallest_explaining_set(
        explains, given + of_second, first, has_more=bool(of_second)
    )
    return of_first + of_second
