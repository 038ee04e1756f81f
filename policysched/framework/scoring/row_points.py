"""Points that follow from the node's own row, and their totals, kept for equal pods."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.framework import cycles
from policysched.framework.answers import derived, together
from policysched.framework.scoring import score_table, scorers
from policysched.kernels import points as kernels


class RowPoints:
    """Weighted points of k plugins that read the same, or nothing but nodes.

    Attributes:
        names: score names of the plugins.
        by_row: int64 (k, N) hundredths. If a score of a row is out of range, the first plugin gives
            it `scorers.INVALID`, and the others 0.
    """

    def __init__(self, alike: Sequence[scorers.Scorer], cycle: cycles.Cycle) -> None:
        """Keep the points that `alike` give to pods equal to that of the cycle."""
        self.names = tuple([scorer.score_name for scorer in alike])
        self._highest = np.array([scorer.highest for scorer in alike], np.int64)
        self._factors = np.array([scorer.factor for scorer in alike], np.int64)
        plugins = [scorer.plugin for scorer in alike]
        answers = cycle.answers
        self._scores = together.ScoreWriter(plugins, answers.state, answers.example, cycle.snap)
        reads = functools.reduce(operator.or_, [plugin.reads for plugin in plugins])
        inputs = derived.SnapshotInputs(reads)
        self.by_row = derived.Derived(inputs, self._write, np.int64, len(plugins))

    def part(self) -> score_table.RowPart:
        """Return what each plugin gave; it is valid until the next cycle."""
        return score_table.RowPart(self.names, self.by_row.values)

    def _write(self, snap: snapshot.Snapshot, rows: derived.Rows, out: columns.IntArray) -> None:
        self._scores.write(snap, rows, out)
        kernels.weigh_points(rows, out, self._highest, self._factors, scorers.INVALID)


class RowTotals:
    """The sum of some points.

    Attributes:
        by_row: int64 (N,) hundredths.
        may_be_invalid: whether a row may have a score out of range, which makes its total negative.
    """

    def __init__(self, points: Sequence[RowPoints], same: int) -> None:
        """Add up `points`, and `same` for every row."""
        self._points = points
        self._same = same
        self.may_be_invalid = False
        inputs = derived.DerivedInputs([each.by_row for each in points])
        self.by_row = derived.Derived(inputs, self._write, np.int64)

    def _write(self, snap: snapshot.Snapshot, rows: derived.Rows, out: columns.IntArray) -> None:
        del snap
        out[rows] = self._same
        for each in self._points:
            self.may_be_invalid |= kernels.add_points(rows, each.by_row.values, out)
