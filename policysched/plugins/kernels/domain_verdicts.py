"""Answers of Filter that follow from topology domains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.cluster import change_log
from policysched.cluster.columns import columns
from policysched.framework import status
from policysched.framework.answers import status_table
from policysched.plugins.kernels import domains


class DomainTable:
    """What the nodes of each domain get by one condition.

    Attributes:
        slot_of_row: intp (N,), the domain of each row, 1 to D, or 0 for none.
        answers: int16 (D + 1,), 0 where the condition has nothing against nodes. Written to by
            methods alone.
        changes: domains that got another answer.
        rejects: whether any answer is not 0.
    """

    def __init__(self, of: domains.Domains) -> None:
        """Start with nothing against any node."""
        self.slot_of_row = of.slots
        self.answers: status_table.StatusIds = np.zeros(of.count + 1, np.int16)
        self.changes = change_log.ChangeLog[int]()
        self.rejects = False
        self._rejecting = 0

    def set(self, slot: int, answer: int) -> None:
        """Set what one domain gets."""
        before = self.answers.item(slot)
        if answer != before:
            self.answers[slot] = answer
            self._rejecting += (answer != 0) - (before != 0)
            self.rejects = self._rejecting > 0
            self.changes.note_changed_item(slot)

    def replace(self, answers: status_table.StatusIds) -> None:
        """Set what all domains get, int16 (D + 1,)."""
        others = (answers != self.answers).nonzero()[0]  # `flatnonzero` without its checks
        if len(others):
            self.answers = answers
            self._rejecting = int(np.count_nonzero(answers))
            self.rejects = self._rejecting > 0
            self.changes.note_changed_items(others.tolist())


class DomainVerdicts:
    """What several conditions say together of nodes: the first answer that is not 0.

    Attributes:
        tables: one a condition, in order.
    """

    def __init__(self, by_condition: Sequence[domains.Domains]) -> None:
        """Start with nothing against any node, by one condition at least."""
        self.tables = [DomainTable(each) for each in by_condition]

    def of_nodes(
        self, rows: columns.RowIndex, answers: Sequence[status.Status]
    ) -> status.NodeStatuses:
        """Return the answers about `rows`, in words: `answers` by number."""
        first, *others = self.tables
        ids = first.answers[first.slot_of_row[rows]]
        for table in others:
            ids = status_table.first_of(ids, table.answers[table.slot_of_row[rows]])
        return status.NodeStatuses(ids, list(answers))
