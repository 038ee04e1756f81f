"""How the totals of equal pods are made: what is kept, what is compared, whom to ask."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np

from policysched.cluster.columns import columns
from policysched.framework import comparison, cycles, interface
from policysched.framework.answers import derived, first_failures, shape_answers, together
from policysched.framework.scoring import (
    compared_scores,
    ranked_scores,
    row_points,
    score_table,
    scorers,
)

_NODES = interface.Reads.NODE | interface.Reads.ALL_NODES
_Compared: TypeAlias = compared_scores.ComparedScores | ranked_scores.RankedScores


@dataclasses.dataclass(slots=True)
class Plan:
    """How the totals of equal pods are made.

    Attributes:
        points: of plugins that do not compare nodes.
        summed: these plugins.
        compared: the scores of plugins that do.
        asked: the plugins that are asked in every cycle.
        follows_pods: whether compared numbers change where pods come and go.
        feasible: the rows that are compared.
        stamp: of the nodes and metrics that compared numbers are about.
        alike: compared scores that are the same for all nodes.
        same: their sum.
        totals: of `points` and `alike`; None before the first cycle.
        varying: the other compared scores.
    """

    points: Sequence[row_points.RowPoints]
    summed: Sequence[tuple[int, interface.ScorePlugin]]
    compared: Sequence[_Compared]
    asked: Sequence[scorers.Scorer]
    follows_pods: bool
    feasible: compared_scores.FeasibleRows = dataclasses.field(
        default_factory=compared_scores.FeasibleRows
    )
    stamp: tuple[int, int] | None = None
    alike: Sequence[score_table.SamePart] = ()
    same: int = 0
    totals: row_points.RowTotals | None = None
    varying: Sequence[_Compared] = ()

    def add_up(
        self, cycle: cycles.Cycle, failures: first_failures.FirstFailures
    ) -> columns.IntArray | None:
        """Return int64 (f,) totals of the feasible rows; not to be written to.

        They are without those of `asked`. None if a score is out of range.
        """
        snap = cycle.snap
        stamp = (snap.nodes.node_changes.generation, snap.metrics.generation)
        if stamp != self.stamp or self.follows_pods:
            self._refresh_numbers(cycle)
            self.stamp = stamp
        kept = self.totals
        assert kept is not None, "made with the first numbers"  # noqa: S101 - for the type checker
        kept.by_row.refresh(snap)
        totals = kept.by_row.values
        if self.varying:
            self.feasible.refresh(failures)
            totals = totals.copy()
            for scores in self.varying:
                scores.add_to(totals, self.feasible)
        rows = failures.get_feasible_rows()
        if len(rows) != snap.size:
            totals = totals.take(rows)
        return None if kept.may_be_invalid and totals.min(initial=0) < 0 else totals

    def parts(self) -> list[score_table.AnyPart]:
        """Return what each plugin gave; it is valid until the next cycle."""
        parts: list[score_table.AnyPart] = [*[each.part() for each in self.points], *self.alike]
        if self.varying:
            names = itertools.chain.from_iterable([scores.names for scores in self.varying])
            tables = [scores.table for scores in self.varying]
            parts.append(score_table.SlotPart(tuple(names), tables))
        return parts

    def _refresh_numbers(self, cycle: cycles.Cycle) -> None:
        self.stamp = None
        for scores in self.compared:
            scores.refresh(cycle.snap)
        self.varying = [scores for scores in self.compared if scores.same is None]
        self.alike = [
            score_table.SamePart(scores.names, scores.same)
            for scores in self.compared
            if scores.same is not None
        ]
        same = sum(int(part.weighted.sum()) for part in self.alike)
        if self.totals is None or same != self.same:
            # The same object for shapes that the plugins cannot tell apart.
            make = functools.partial(row_points.RowTotals, self.points, same)
            self.totals = cycle.answers.shared(cycle.pod.shape, f"totals {same}", self.summed, make)
            self.same = same


def of_acting(acting: Sequence[scorers.Scorer], cycle: cycles.Cycle) -> Plan:
    """Add up what can be added up before it is known which nodes are feasible."""
    summed: dict[tuple[interface.Reads, bool], list[scorers.Scorer]] = {}
    for scorer in acting:
        if scorer.adds_up:
            reads = scorer.plugin.reads
            reads = reads if reads & ~_NODES else _NODES
            key = (reads, shape_answers.has_key(scorer.plugin))
            summed.setdefault(key, []).append(scorer)
    points = [_keep_points(alike, cycle) for alike in summed.values()]
    compared = [s for s in acting if s.compares]
    numbered = [(s.number, s.plugin) for s in acting if s.adds_up]
    return Plan(
        points,
        numbered,
        _compared_of(compared, cycle),
        [s for s in acting if not (s.adds_up or s.compares)],
        follows_pods=any(s.plugin.reads.has_placed_pods for s in compared),
    )


def _keep_points(alike: Sequence[scorers.Scorer], cycle: cycles.Cycle) -> row_points.RowPoints:
    numbered = [(scorer.number, scorer.plugin) for scorer in alike]
    make = functools.partial(row_points.RowPoints, alike, cycle)
    return cycle.answers.shared(cycle.pod.shape, "score", numbered, make)


def _compared_of(compared: Sequence[scorers.Scorer], cycle: cycles.Cycle) -> list[_Compared]:
    found: list[_Compared] = []
    by_row: dict[interface.Reads, list[scorers.Scorer]] = {}
    for scorer in compared:
        member = _member(scorer)
        if scorer.scores_domains:
            plugin = cast("compared_scores.DomainScorePlugin", scorer.plugin)
            by_domain = plugin.by_domain(cycle.answers.state, cycle.pod, cycle.snap)
            if member.comparison.kind is comparison.ComparisonKind.RANK:
                found.append(ranked_scores.RankedScores(by_domain, member))
            else:
                found.append(compared_scores.ComparedScores(by_domain, [member]))
        elif member.comparison.kind is comparison.ComparisonKind.RANK:
            found.append(ranked_scores.RankedScores(_derive_numbers([scorer], cycle), member))
        else:
            by_row.setdefault(scorer.plugin.reads, []).append(scorer)
    for alike in by_row.values():
        members = list(map(_member, alike))
        numbers = _derive_numbers(alike, cycle)
        found.append(compared_scores.ComparedScores(numbers, members))
    return found


def _derive_numbers(alike: Sequence[scorers.Scorer], cycle: cycles.Cycle) -> derived.Derived:
    """Return the raw scores, float64 (k, N), of plugins that read the same."""
    answers, plugins = cycle.answers, [scorer.plugin for scorer in alike]

    def make() -> derived.Derived:
        writer = together.ScoreWriter(plugins, answers.state, answers.example, cycle.snap)
        inputs = derived.SnapshotInputs(plugins[0].reads)
        return derived.Derived(inputs, writer.write, np.float64, len(plugins))

    numbered = [(scorer.number, scorer.plugin) for scorer in alike]
    return answers.shared(cycle.pod.shape, "numbers", numbered, make)


def _member(scorer: scorers.Scorer) -> compared_scores.Member:
    plugin = cast("interface.ComparingPlugin", scorer.plugin)
    return compared_scores.Member(scorer.score_name, plugin.comparison, scorer.factor)
