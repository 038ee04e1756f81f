"""The contract of scores that compare nodes with each other, yet change little from pod to pod.

A node's points follow from its own number and from a few facts about the numbers of all feasible
nodes (the smallest and the largest, say). While these stay, one number that changes changes one
node's points.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import cycle_state, status, status_table

Slots: TypeAlias = npt.NDArray[np.intp]


class Effect(enum.Enum):
    """What became of the facts that points follow from."""

    SAME = enum.auto()
    OTHER = enum.auto()
    """All points are to be made anew."""
    UNKNOWN = enum.auto()
    """They must be looked for among all numbers (`Frame.begin`)."""


def effect(is_other: bool) -> Effect:  # noqa: FBT001 - the only thing that it is about
    """Return OTHER or SAME."""
    return Effect.OTHER if is_other else Effect.SAME


class Frame(Protocol):
    """The facts; NaN stands for a node without a number and is never told to `begin` or `move`."""

    def begin(self, values: columns.FloatArray) -> Effect:
        """Compare with `values`, float64 (f,), from now on."""
        ...

    def move(self, come: Sequence[float], gone: Sequence[float]) -> Effect:
        """Let numbers come, then let some go that are there; nothing is done when UNKNOWN."""
        ...

    def move_many(self, values: columns.FloatArray, come: Slots, gone: Slots) -> Effect:
        """Do the same with `values`, float64 (S,), of the slots that come and go, leaving NaN out.

        Those that go must be slots that were compared, and each is named once.
        """
        ...

    def replace(self, old: float, new: float) -> int | None:
        """Let a number take the place of another, if that changes no fact; return its points.

        None, and nothing is done, where it may change one, or one of them is NaN.
        """
        ...

    def points(self, values: columns.FloatArray) -> columns.IntArray:
        """Return int64 (n,) final scores, in range; those of nodes that are not compared too."""
        ...

    def point(self, value: float) -> int:
        """Return the same of one number."""
        ...


class ComparingPlugin(Protocol):
    """A Score plugin whose NormalizeScore a frame can stand for; what it reads is kept."""

    def frame(self) -> Frame:
        """Return a frame for equal pods; nothing is compared yet."""
        ...


class DomainValues(Protocol):
    """Raw scores that nodes of one topology domain share.

    Attributes:
        values: float64 (D + 1,), live; not to be written to.
        slots: intp (N,), the domain of each node; the same object while it is the same.
    """

    values: columns.FloatArray
    slots: npt.NDArray[np.intp]

    def refresh(self, snap: snapshot.Snapshot) -> list[int] | None:
        """Bring them up to date; return which changed, each once, None for all."""
        ...


class DomainScorePlugin(ComparingPlugin, Protocol):
    """One whose raw scores follow from domains and not from the node's own row."""

    def by_domain(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> DomainValues:
        """Return the raw scores for pods equal to `pod`, to be asked again and again."""
        ...


class Follower(Protocol):
    """Keeps what a Filter plugin says of nodes, for equal pods."""

    @property
    def statuses(self) -> Sequence[status.Status]:
        """The answers, SUCCESS first; always the same."""
        ...

    @property
    def rejects(self) -> bool:
        """Whether it may say anything else of any node, as of `changed_rows`."""
        ...

    def changed_rows(self, snap: snapshot.Snapshot) -> npt.NDArray[np.intp] | None:
        """Return intp (n,): the rows with another answer, each once, None for all.

        They count as seen.
        """
        ...

    def ids(self, rows: columns.RowIndex) -> status_table.StatusIds:
        """Return int16 (n,): numbers of the answers about `rows`, as of `changed_rows`."""
        ...


class FollowingPlugin(Protocol):
    """A Filter plugin that reads `Reads.PODS` and knows itself which of its answers change."""

    name: str

    def follow(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Follower:
        """Return what follows its answers for pods equal to `pod`; `state` lives as long."""
        ...
