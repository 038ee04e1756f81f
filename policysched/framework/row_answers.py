"""Answers about single nodes that take long, kept while nothing changed that they follow from.

For preemption: which pods would have to go from a node follows from the node, its pods, and the
pods nominated to it. Equal preemptors that come one after the other find most of it unchanged.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from policysched.cluster import snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape

AnswerT = TypeVar("AnswerT")

_MAX_OWNERS = 4
"""Answers hold all pods of the nodes that they are about, those that are gone by now too."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept(Generic[AnswerT]):
    """An answer and what it follows from, to be compared by identity."""

    node: objects.Node | None
    pods: list[pod_shape.PodInfo]
    nominated: Sequence[pod_shape.PodInfo]
    answer: AnswerT


class RowAnswers(Generic[AnswerT]):
    """Answers by row; each is about the pods that were on the row when it was kept."""

    def __init__(self) -> None:
        """Start without answers."""
        self._kept: dict[int, _Kept[AnswerT]] = {}
        self._stamp: object = None

    def renew(self, stamp: object) -> None:
        """Forget all if `stamp` is another one than the last time."""
        if stamp != self._stamp:
            self._kept.clear()
            self._stamp = stamp

    def get(
        self, row: int, snap: snapshot.Snapshot, nominated: Sequence[pod_shape.PodInfo]
    ) -> AnswerT | None:
        """Return what was kept of a row, None if it follows from something else by now."""
        kept = self._kept.get(row)
        if (
            kept is None
            or kept.node is not snap.nodes.nodes[row]
            or kept.nominated != nominated
            or kept.pods != list(snap.placed.get_pods(row))
        ):
            return None
        return kept.answer

    def put(
        self,
        row: int,
        snap: snapshot.Snapshot,
        nominated: Sequence[pod_shape.PodInfo],
        answer: AnswerT,
    ) -> None:
        """Keep an answer about a row as it is now, beside `nominated`."""
        pods = list(snap.placed.get_pods(row))
        self._kept[row] = _Kept(snap.nodes.nodes[row], pods, nominated, answer)


class RecentRowAnswers:
    """Answers about rows, for the few shapes that asked for them last."""

    def __init__(self) -> None:
        """Start without answers."""
        self._recent: OrderedDict[int, tuple[object, dict[str, RowAnswers[Any]]]] = OrderedDict()

    def of(self, owner: object, what: str) -> RowAnswers[Any]:
        """Return the answers of a kind that belong to `owner`, which is told by identity."""
        _, by_kind = self._recent.setdefault(id(owner), (owner, {}))
        self._recent.move_to_end(id(owner))
        if len(self._recent) > _MAX_OWNERS:
            self._recent.popitem(last=False)
        return by_kind.setdefault(what, RowAnswers())
