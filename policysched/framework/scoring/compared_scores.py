"""Points of plugins that compare nodes, kept for equal pods and patched where numbers changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log, snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import comparison, cycle_state, interface
from policysched.framework.answers import first_failures
from policysched.kernels import points as kernels

Rows: TypeAlias = npt.NDArray[np.intp]
NO_ROWS: Rows = np.zeros(0, np.intp)


class Numbers(Protocol):
    """The numbers that k plugins compare: raw scores, by row or by topology domain.

    Attributes:
        values: float64 (k, S), not to be written to.
        slot_of_row: intp (N,), the slot of each row; None if each row is a slot of its own.
        changes: slots with other numbers; everything, if slots may be others.
    """

    @property
    def values(self) -> columns.FloatArray: ...  # noqa: D102 - an attribute

    @property
    def slot_of_row(self) -> Rows | None: ...  # noqa: D102 - an attribute

    @property
    def changes(self) -> change_log.ChangeLog[int]: ...  # noqa: D102 - an attribute

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the numbers up to date."""
        ...


class DomainScorePlugin(interface.ComparingPlugin, Protocol):
    """One whose raw scores follow from topology domains and not from the node's own row."""

    def by_domain(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> Numbers:
        """Return the raw scores by domain for pods equal to `pod`."""
        ...


class Member(NamedTuple):
    """A plugin that compares nodes; a unit of its points counts `factor` hundredths."""

    name: str
    comparison: comparison.Comparison
    factor: int


class FeasibleRows:
    """Which rows are feasible, and how that differs from the last cycle of equal pods.

    Attributes:
        rows: intp (f,).
        came, left: intp, rows that became or stopped being feasible; None if unknown.
        are_still: whether both are empty.
    """

    def __init__(self) -> None:
        """Start with nothing known."""
        self.rows = NO_ROWS
        self.came: Rows | None = None
        self.left: Rows | None = None
        self.are_still = False
        self._is_feasible: columns.BoolArray = np.zeros(0, np.bool_)

    def refresh(self, failures: first_failures.FirstFailures) -> None:
        """Take over the rows that pass; the same array of them means the same rows."""
        rows = failures.get_feasible_rows()
        if rows is self.rows:
            self.came = self.left = NO_ROWS
            self.are_still = True
            return
        before, self._is_feasible, self.rows = self._is_feasible, failures.ids == 0, rows
        if len(before) != len(failures.ids):
            self.came = self.left = None
            self.are_still = False
            return
        moved = (before != self._is_feasible).nonzero()[0]  # `flatnonzero` without its checks
        self.are_still = len(moved) == 0
        if self.are_still:
            self.came = self.left = NO_ROWS
        else:
            comes = self._is_feasible[moved]
            self.came, self.left = moved[comes], moved[~comes]


class ComparedScores:
    """Weighted points of k plugins whose numbers come together.

    Attributes:
        names: score names of the plugins.
        same: int64 (k, 1), what all nodes get alike as all numbers are equal; None if they are not.
    """

    def __init__(self, source: Numbers, members: Sequence[Member]) -> None:
        """Compare the numbers of `members`."""
        self._source = source
        self._seen = change_log.ChangeLogCursor()
        self.names = tuple([member.name for member in members])
        self._table = comparison.PointTable(
            [member.comparison for member in members], [member.factor for member in members]
        )
        self._numbers: columns.FloatArray = np.zeros((len(members), 0))
        self._slot_of_row = NO_ROWS
        self._unchanged = self._changes = (NO_ROWS, np.zeros((len(members), 0)))
        self._is_begun = False
        self.same: columns.IntArray | None = None

    def refresh(self, snap: snapshot.Snapshot) -> None:
        """Bring the numbers up to date."""
        source = self._source
        source.refresh(snap)
        changed = self._seen.read_changes(source.changes)
        if changed is None or source.values.shape != self._numbers.shape:
            self._begin()
        elif changed:
            slots = np.array(changed, np.intp)
            self._replace(slots, source.values.take(slots, axis=1))

    def add_to(self, totals: columns.IntArray, feasible: FeasibleRows) -> None:
        """Add to int64 (N,) the points of each row, where not all nodes get the `same`."""
        (slots, numbers), self._changes = self._changes, self._unchanged
        if not self._is_begun or feasible.came is None or feasible.left is None:
            self._numbers[:, slots] = numbers
            feasible_slots = self._slot_of_row.take(feasible.rows)
            row_counts = np.bincount(feasible_slots, minlength=self._numbers.shape[1])
            self._table.begin(self._numbers, row_counts, self._slot_of_row)
            self._is_begun = True
        elif not feasible.are_still or len(slots):
            self._table.update(slots, numbers, feasible.came, feasible.left)
        if self._source.slot_of_row is None:
            totals += self._table.sums
        else:
            kernels.add_by_slot(self._slot_of_row, self._table.sums, totals)

    @property
    def table(self) -> tuple[columns.IntArray, Rows | None]:
        """Int64 (k, S) hundredths as of the last `add_to`, and `Numbers.slot_of_row`."""
        return self._table.points, self._source.slot_of_row

    def _begin(self) -> None:
        self._numbers = np.array(self._source.values, np.float64)
        slots = self._source.slot_of_row
        self._slot_of_row = np.arange(self._numbers.shape[1]) if slots is None else slots
        self._is_begun = False
        self.same = None
        if self._numbers.shape[1] and (self._numbers == self._numbers[:, :1]).all():
            self._table.begin(self._numbers[:, :1], np.ones(1, np.int64))
            self.same = self._table.points

    def _replace(self, slots: Rows, numbers: columns.FloatArray) -> None:
        """Take over the numbers of m slots, float64 (k, m)."""
        if self._is_begun:
            self._changes = (slots, numbers)
            return
        if not (numbers == self._numbers[:, :1]).all():
            self.same = None
        self._numbers[:, slots] = numbers
