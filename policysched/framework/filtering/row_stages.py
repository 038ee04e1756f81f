"""What consecutive Filter plugins that read single rows say, kept for equal pods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface
from policysched.framework.answers import derived, status_table, together


class StageAnswers:
    """The first failures of some plugins, which pods of several shapes may share.

    Attributes:
        table: numbers of the statuses.
        ids: int16 (N,), the answers.
    """

    def __init__(
        self,
        plugins: Sequence[interface.FilterPlugin],
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> None:
        """Keep answers of `plugins`, in order, about pods equal to `pod`; `state` is theirs."""
        self.table = status_table.StatusTable()
        self._questions = together.list_filter_questions(plugins, state, pod, snap)
        reads = interface.Reads(0)
        for plugin in plugins:
            reads |= plugin.reads
        self.ids = derived.Derived(derived.SnapshotInputs(reads), self._write, np.int16)

    def _write(
        self, snap: snapshot.Snapshot, rows: derived.Rows, out: status_table.StatusIds
    ) -> None:
        out[rows] = find_first_failures(self._questions, snap, rows, self.table)


class RowStage:
    """Answers of a stage in the numbers of one shape.

    Attributes:
        answers: those of the stage.
        numbers: the number in the shape's table of each answer so far; the first is 0.
    """

    def __init__(self, answers: StageAnswers, table: status_table.StatusTable) -> None:
        """Translate `answers` to `table`."""
        self.answers = answers
        self._table = table
        self.numbers = [0]

    def add_ids(self, ids: status_table.StatusIds, rows: derived.Rows) -> status_table.StatusIds:
        """Return int16 (n,) `ids`, and where these are 0 the answers of this stage about `rows`."""
        statuses = self.answers.table.statuses
        if len(statuses) == 1:
            return ids
        if len(statuses) > len(self.numbers):
            self.numbers = [self._table.intern(each) for each in statuses]
        numbers: status_table.StatusIds = np.array(self.numbers, np.int16)
        return status_table.first_of(ids, numbers.take(self.answers.ids.values.take(rows)))


def find_first_failures(
    questions: Sequence[together.Question],
    snap: snapshot.Snapshot,
    rows: derived.Rows,
    table: status_table.StatusTable,
) -> status_table.StatusIds:
    """Return int16 (m,): the status of the first plugin that rejects each row, 0 for none."""
    ids: status_table.StatusIds = np.zeros(len(rows), np.int16)
    for question in questions:
        found = question.find_ids(snap, rows, table)
        if found is not None:
            ids = status_table.first_of(ids, found)
    return ids
