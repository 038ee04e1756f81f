"""Answers of Filter that follow from topology domains, patched where a domain gets another one.

Zones hold so many nodes that another answer of one is another answer for most nodes, but there are
few zones, so what they get comes back again and again: `DomainVerdicts.key` tells. Where domains
are as small as nodes, the few rows with another answer are told of.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log
from policysched.cluster.columns import columns
from policysched.framework import status
from policysched.framework.answers import status_table
from policysched.plugins.kernels import domains

Answers = npt.NDArray[np.int16]

_COARSE = 16
"""Domains of more nodes than this on average are not told of row by row."""
_FEW_SLOTS = 4
"""So many domains with other answers are looked up among the rows one by one."""


class DomainTable:
    """What the nodes of each domain get by one condition.

    Attributes:
        domains: where each node is.
        answers: int16 (D + 1,), 0 where the condition has nothing against nodes. Written to by
            methods alone.
        key: the same as bytes, for coarse domains; empty for others.
    """

    def __init__(self, of: domains.Domains, changes: change_log.ChangeLog[int]) -> None:
        """Start with nothing against any node; `changes` gets the rows of domains not coarse."""
        self.domains = of
        self.answers: Answers = np.zeros(of.count + 1, np.int16)
        self._changes = changes
        self._is_coarse = of.count * _COARSE < len(of.slots)
        self.key = self.answers.tobytes() if self._is_coarse else b""

    def set(self, slot: int, answer: int) -> None:
        """Set what one domain gets."""
        if self.answers.item(slot) != answer:
            self.answers[slot] = answer
            self._note((slot,))

    def replace(self, answers: Answers) -> None:
        """Set what all domains get, int16 (D + 1,)."""
        others = (self.answers != answers).nonzero()[0]
        if len(others):
            self.answers = answers
            self._note(others.tolist())

    def _note(self, slots: Sequence[int]) -> None:
        if self._is_coarse:
            self.key = self.answers.tobytes()
        elif len(slots) > _FEW_SLOTS:
            self._changes.note_everything_changed()
        else:
            for slot in slots:
                self._changes.note_changed_items((self.domains.slots == slot).nonzero()[0].tolist())


class DomainVerdicts:
    """What several conditions say together of nodes: the first answer that is not 0.

    Attributes:
        tables: one a condition, in order.
        changes: rows with other answers, as far as `key` does not tell.
    """

    def __init__(self, by_condition: Sequence[domains.Domains]) -> None:
        """Start with nothing against any node; `ids` needs one condition at least."""
        self.changes = change_log.ChangeLog[int]()
        self.tables = [DomainTable(each, self.changes) for each in by_condition]

    @property
    def key(self) -> bytes:
        """What all coarse domains get: while it is the same, so are these answers."""
        if len(self.tables) == 1:
            return self.tables[0].key
        return b"".join([table.key for table in self.tables])

    def at(self, row: int) -> int:
        """Return the answer about a row."""
        for table in self.tables:
            answer = table.answers.item(table.domains.slots.item(row))
            if answer:
                return answer
        return 0

    def ids(self, rows: columns.RowIndex, numbers: Answers) -> status_table.StatusIds:
        """Return int16 (n,): the answers about `rows`, in place of each k `numbers[k]`.

        `numbers` are int16; of 0 it is 0.
        """
        first, *others = self.tables
        ids: status_table.StatusIds = numbers.take(first.answers).take(first.domains.at(rows))
        for table in others:
            found = numbers.take(table.answers).take(table.domains.at(rows))
            ids = status_table.first_of(ids, found)
        return ids

    def of_nodes(
        self, rows: columns.RowIndex, answers: Sequence[status.Status]
    ) -> status.NodeStatuses:
        """Return the answers about `rows`, in words: `answers` by number."""
        numbers = np.arange(len(answers), dtype=np.int16)
        return status.NodeStatuses(self.ids(rows, numbers), list(answers))
