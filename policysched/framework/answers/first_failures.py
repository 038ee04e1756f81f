"""The result of Filter: which answer rejects each node first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.framework import status
from policysched.framework.answers import rejections, status_table

DEAD = -1
"""Stands for a row that is no node."""


class FirstFailures:
    """The first failure on each row, and what is computed from it when somebody asks.

    It is valid until the next cycle.

    Attributes:
        ids: int16 (N,), numbers in `table`: 0 passes, `DEAD` is no node. Only its maker may write
            to it.
        table: further statuses may be added to it.
    """

    __slots__ = ("_feasible_rows", "_likely", "_rejections", "ids", "table")

    def __init__(self, ids: status_table.StatusIds, table: status_table.StatusTable) -> None:
        """Take over `ids`."""
        self.ids = ids
        self.table = table
        self._feasible_rows: npt.NDArray[np.intp] | None = None
        self._rejections: tuple[rejections.Rejection, ...] | None = None
        self._likely: Sequence[int] = ()

    @property
    def statuses(self) -> Sequence[status.Status]:
        """The answers by number."""
        return self.table.statuses

    def find_error(self, names: Sequence[str]) -> status.Status | None:
        """Return the error of the first node, by name, on which a Filter plugin met one.

        kube-scheduler asks about nodes in parallel and tells of any one.
        """
        if not self.table.errors:
            return None
        failed = np.flatnonzero(np.isin(self.ids, self.table.errors))
        if len(failed) == 0:
            return None
        row = min(failed.tolist(), key=names.__getitem__)
        return self.statuses[self.ids.item(row)]

    def get_feasible_rows(self) -> npt.NDArray[np.intp]:
        """Return intp (f,): the rows that pass; the same array until `ids` change."""
        if self._feasible_rows is None:
            self._feasible_rows = (self.ids == 0).nonzero()[0]  # `flatnonzero` without its checks
        return self._feasible_rows

    def list_rejections(
        self, names: Sequence[str], rejected_count: int
    ) -> tuple[rejections.Rejection, ...]:
        """Return which answers ruled out how many nodes, the most frequent first.

        `names` are those of the rows; `rejected_count` nodes were ruled out, or fewer.
        """
        if self._rejections is None:
            found = rejections.count_rejections(
                self.ids, len(self.statuses), rejected_count, self._likely
            )
            self._likely = [each.number for each in found]
            self._rejections = rejections.describe_rejections(found, self.statuses, names)
        return self._rejections

    def note_changed_ids(self) -> None:
        """Forget what was computed; `ids` were written to."""
        self._feasible_rows = self._rejections = None

    def note_changed_names(self) -> None:
        """Forget the names of rejected nodes."""
        self._rejections = None
