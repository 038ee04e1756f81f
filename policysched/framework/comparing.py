"""The contract of scores that compare nodes with each other, yet change little from pod to pod.

A node's points follow from its own number and from a few facts about the numbers of all feasible
nodes (the smallest and the largest, say). While these stay, one number that changes changes one
node's points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, status, status_table

SlotNumbers: TypeAlias = npt.NDArray[np.intp]


class Places(Protocol):
    """Which slots are compared: those with a feasible node.

    Attributes:
        rows_in: int64 (S,), how many feasible rows each slot has.
        present: intp, those that have any.
    """

    rows_in: columns.IntArray

    @property
    def present(self) -> SlotNumbers:
        """Intp: the slots that are compared."""
        ...


class Frame(Protocol):
    """The facts about the numbers of slots, float64 (S,), of which some are compared.

    NaN stands for a slot without a number. What changes facts says so, and all points are to be
    made anew.

    Attributes:
        holders: slots that facts rest on; while all of them are compared, it makes no difference
            which other ones are. Empty where `move` must be asked.
    """

    holders: Sequence[int]

    def begin(self, values: columns.FloatArray, places: Places) -> bool:
        """Compare `values` from now on; return whether facts are others than before."""
        ...

    def move(
        self, values: columns.FloatArray, places: Places, come: SlotNumbers, gone: SlotNumbers
    ) -> bool:
        """Compare slots that were not compared, and others no more; return what `begin` does.

        Each is named once; `places` has them as they are now.
        """
        ...

    def replace(
        self, values: columns.FloatArray, places: Places, slot: int, old: float, new: float
    ) -> int | None:
        """Take note that one slot has a `new` number instead of the `old` one; return its points.

        None where facts are others than before. It stands among `values` already.
        """
        ...

    def points(self, values: columns.FloatArray) -> columns.IntArray:
        """Return int64 (n,) final scores, in range; those of slots that are not compared too."""
        ...

    def point(self, value: float) -> int:
        """Return the same of one number."""
        ...


class ComparingPlugin(Protocol):
    """A Score plugin whose NormalizeScore a frame can stand for; what it reads is kept."""

    def frame(self) -> Frame:
        """Return a frame for equal pods; nothing is compared yet."""
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
