"""Answers of Filter that follow from topology domains."""

from __future__ import annotations

from collections.abc import Sequence

from policysched.cluster.columns import columns
from policysched.framework import status
from policysched.framework.answers import status_table
from policysched.framework.filtering import domain_filters
from policysched.plugins.kernels import domains


class DomainVerdicts:
    """What several conditions say together of nodes: the first answer that is not 0.

    Attributes:
        tables: one a condition, in order.
    """

    def __init__(self, by_condition: Sequence[domains.Domains]) -> None:
        """Start with nothing against any node, by one condition at least."""
        self.tables = [domain_filters.DomainTable(d.slots, d.count) for d in by_condition]

    def of_nodes(
        self, rows: columns.RowIndex, answers: Sequence[status.Status]
    ) -> status.NodeStatuses:
        """Return the answers about `rows`, in words: `answers` by number."""
        first, *others = self.tables
        ids = first.answers[first.slot_of_row[rows]]
        for table in others:
            ids = status_table.first_of(ids, table.answers[table.slot_of_row[rows]])
        return status.NodeStatuses(ids, list(answers))
