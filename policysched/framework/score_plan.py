"""How the totals of equal pods are made: what is kept, what is given again, whom to ask."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns
from policysched.framework import (
    comparing,
    filtering,
    interface,
    kept_points,
    kept_sums,
    kept_totals,
    plugin_scores,
    row_numbers,
    score_table,
    scorers,
    shape_answers,
)


@dataclasses.dataclass(slots=True)
class _Given:
    """Weighted scores of a plugin that follow from its kept raw ones on the feasible nodes.

    Attributes:
        scorer: whose they are.
        changes: of the raw scores.
        same: what all nodes get, whichever are feasible, None where they differ.
        rows: intp (f,), the feasible nodes, compared by identity.
        part: what each of them gets, where they differ.
    """

    scorer: scorers.Scorer
    changes: int = 0
    same: score_table.SamePart | None = None
    rows: npt.NDArray[np.intp] | None = None
    part: score_table.Part | None = None

    def again(
        self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]
    ) -> score_table.SamePart | score_table.Part:
        """Return scores, made anew where raw ones changed or other nodes are feasible."""
        scorer = self.scorer
        kept = plugin_scores.kept(scorer, cycle)
        raw = kept.scores(cycle.answers.state, cycle.pod, cycle.snap)
        if self.changes != kept.changes:
            self.changes = kept.changes
            self.same = self.rows = None
            if raw.min() == raw.max():  # not where there is a NaN
                final = plugin_scores.normalized(scorer, cycle, raw[:1])
                same = plugin_scores.checked(scorer, final).item(0) * scorer.factor
                self.same = score_table.SamePart((scorer.score_name,), same)
        if self.same is not None:
            return self.same
        if self.part is None or self.rows is not rows:
            final = plugin_scores.normalized(scorer, cycle, raw[rows])
            weighted = plugin_scores.checked(scorer, final) * scorer.factor
            self.part = score_table.Part((scorer.score_name,), weighted, is_by_row=False)
            self.rows = rows
        return self.part


@dataclasses.dataclass(slots=True)
class Plan:
    """How the totals of equal pods are made.

    Attributes:
        kept: adds up what is kept.
        shared: whose scores these are where shapes that plugins cannot tell apart may share them.
        given: of plugins that may give again what they gave the last time.
        asked: the rest.
        compares: whether what is kept follows from which nodes are feasible.
        follows_pods: whether what is given does from where pods are.
        rows: intp (f,), the feasible nodes of the last time.
        stamp: of the nodes and metrics that what is given is about, None for nothing.
        same: what is given to all nodes alike, added up.
        added: int64 (f,), what is given to each of `rows`.
        parts: the same by plugin.
    """

    kept: kept_totals.KeptTotals
    shared: Sequence[tuple[int, interface.ScorePlugin]]
    given: Sequence[_Given]
    asked: Sequence[scorers.Scorer]
    compares: bool
    follows_pods: bool
    rows: npt.NDArray[np.intp] | None = None
    stamp: tuple[int, int] | None = None
    same: int = 0
    added: list[columns.IntArray] = dataclasses.field(default_factory=list)
    parts: list[score_table.AnyPart] = dataclasses.field(default_factory=list)

    def known(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return intp (f,) `rows`, as the object of the last time where that saves something."""
        if rows is self.rows or not (self.compares or self.added):
            return rows
        if self.rows is None or not np.array_equal(rows, self.rows):
            self.rows, self.stamp = rows, None
        return self.rows

    def give_again(self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]) -> None:
        """Take note of what plugins give to the feasible `rows`, intp (f,)."""
        self.rows, self.stamp = rows, None
        self.parts = [given.again(cycle, rows) for given in self.given]
        self.same, self.added = 0, []
        for part in self.parts:
            if isinstance(part, score_table.SamePart):
                self.same += part.weighted
            elif isinstance(part, score_table.Part):
                self.added.append(part.weighted)
        if self.shared:
            self.kept = cycle.answers.shared(
                cycle.pod.shape, f"totals {self.same}", self.shared, self.kept.made_anew
            )


def of_acting(acting: Sequence[scorers.Scorer], cycle: filtering.Cycle) -> Plan:
    """Add up what can be added up before it is known which nodes are feasible."""
    summed: dict[tuple[interface.Reads, bool], list[scorers.Scorer]] = {}
    for scorer in acting:
        if scorer.adds_up:
            has_key = shape_answers.has_key(scorer.plugin)
            key = (scorer.plugin.reads, has_key)
            summed.setdefault(key, []).append(scorer)
    sums = [_sums_of(alike, cycle) for alike in summed.values()]
    given = [s for s in acting if s.gives_again]
    asked = [s for s in acting if not (s.adds_up or s.gives_again or s.compares)]
    points = _points_of([s for s in acting if s.compares], cycle)
    numbered = [(s.number, s.plugin) for s in acting if s.adds_up]
    has_keys = all(shape_answers.has_key(plugin) for _, plugin in numbered)
    return Plan(
        kept_totals.KeptTotals(sums, points),
        numbered if points is None and has_keys else (),
        list(map(_Given, given)),
        asked,
        compares=points is not None,
        follows_pods=any(interface.Reads.USAGE in s.plugin.reads for s in given),
    )


def _sums_of(alike: Sequence[scorers.Scorer], cycle: filtering.Cycle) -> kept_sums.KeptSums:
    def make() -> kept_sums.KeptSums:
        names = tuple(scorer.score_name for scorer in alike)
        version = shape_answers.Version(alike[0].plugin.reads)
        return kept_sums.KeptSums(
            version, names, scorers.parts_of(alike), scorers.row_parts_of(alike)
        )

    numbered = [(scorer.number, scorer.plugin) for scorer in alike]
    return cycle.answers.shared(cycle.pod.shape, "score", numbered, make)


def _points_of(
    comparing_ones: Sequence[scorers.Scorer], cycle: filtering.Cycle
) -> kept_points.KeptPoints | None:
    """Return the points of plugins that compare nodes; `plugin_scores.kept` knows nothing of them.

    None where there is no such plugin.
    """
    if not comparing_ones:
        return None
    asked: list[tuple[kept_points.Numbers, Sequence[kept_points.Member]]] = []
    by_row: dict[interface.Reads, list[scorers.Scorer]] = {}
    for scorer in comparing_ones:
        if scorer.scores_domains:
            plugin = cast("kept_points.DomainScorePlugin", scorer.plugin)
            by_domain = plugin.by_domain(cycle.answers.state, cycle.pod, cycle.snap)
            asked.append((by_domain, [_member(scorer)]))
        else:
            by_row.setdefault(scorer.plugin.reads, []).append(scorer)
    row_slots = row_numbers.RowSlots()
    for reads, alike in by_row.items():
        plugins = [scorer.plugin for scorer in alike]
        numbers = row_numbers.RowNumbers(shape_answers.Version(reads), plugins, row_slots)
        asked.append((numbers, list(map(_member, alike))))
    return kept_points.KeptPoints(asked)


def _member(scorer: scorers.Scorer) -> kept_points.Member:
    frame = cast("comparing.ComparingPlugin", scorer.plugin).frame()
    return kept_points.Member(scorer.score_name, frame, scorer.factor)
