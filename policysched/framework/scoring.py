"""PreScore, Score and NormalizeScore for the feasible nodes of one pod."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import (
    asking,
    cycle_state,
    filtering,
    interface,
    score_table,
    shape_answers,
    status,
)

_INVALID = -(2**58)
"""Weighted sum of a row with a score out of range, below what others could make up for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scorer:
    """A Score plugin as a profile uses it.

    Attributes:
        factor: what one unit of its final scores adds to the total, in hundredths of a point.
        keeps: whether its raw scores are kept for equal pods.
        normalizes: whether they depend on which nodes are feasible.
        is_third_party: whether its final scores are checked as `asking` says.
    """

    number: int
    plugin: interface.ScorePlugin
    score_name: str
    factor: int
    keeps: bool
    normalizes: bool
    is_third_party: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """How the totals of equal pods are made.

    Attributes:
        sums: kept sums of the scores that follow from the node's own row.
        others: what is scored for each pod.
    """

    sums: Sequence[shape_answers.KeptScores]
    others: Sequence[Scorer]


class _ScoringError(Exception):
    """What ends scoring from within; it does not leave this module."""

    def __init__(self, answer: status.Status) -> None:
        super().__init__(answer.message)
        self.answer = answer


class ScoreRunner:
    """Runs the Score plugins of a profile."""

    def __init__(
        self, plugins: Sequence[tuple[int, interface.ScorePlugin]], weights: Mapping[str, int]
    ) -> None:
        """Take numbered plugins; those without a weight do not score."""
        named = [(n, p, score_name(p)) for n, p in plugins]
        self._scorers = [
            Scorer(
                number=n,
                plugin=p,
                score_name=name,
                factor=weights[name] * _hundredths_per_unit(p),
                keeps=filtering.keeps_answers(p),
                normalizes=hasattr(p, "normalize_score"),
                is_third_party=asking.is_third_party(p),
            )
            for n, p, name in named
            if weights.get(name, 0)
        ]

    def score(
        self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]
    ) -> score_table.ScoreTable | status.Status:
        """Return the totals of the feasible `rows`, intp (f,), and nothing about plugins.

        An error that a plugin answers at PreScore comes in place of them, or the one about a final
        score out of range.
        """
        try:
            return self._totals(cycle, rows)
        except _ScoringError as error:
            return error.answer

    def explain(
        self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]
    ) -> score_table.ScoreTable | status.Status:
        """Return the points of the feasible `rows`, plugin by plugin, or an error as above."""
        try:
            return self._points(cycle, rows)
        except _ScoringError as error:
            return error.answer

    def _totals(self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]) -> score_table.ScoreTable:
        feasible = cycle.snap.at_rows(rows)
        (plan,) = cycle.answers.planned("score", lambda _: [self._plan(cycle)])
        totals = np.zeros(cycle.snap.size, np.int64)
        for kept in plan.sums:
            totals += kept.scores(cycle.answers.state, cycle.pod, cycle.snap)
        totals = totals[rows]
        if totals.min(initial=0) < 0:
            return self._points(cycle, rows)  # which knows whose score it is
        for scorer in plan.others:
            weighted = self._weighted(scorer, cycle, feasible)
            if weighted is not None:
                totals += weighted
        return score_table.ScoreTable(rows, {}, totals)

    def _points(self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]) -> score_table.ScoreTable:
        feasible = cycle.snap.at_rows(rows)
        totals = np.zeros(len(rows), np.int64)
        by_plugin: dict[str, columns.IntArray] = {}
        for scorer in self._acting(cycle):
            weighted = self._weighted(scorer, cycle, feasible)
            if weighted is not None:
                by_plugin[scorer.score_name] = weighted
                totals += weighted
        return score_table.ScoreTable(rows, by_plugin, totals)

    def _plan(self, cycle: filtering.Cycle) -> Plan:
        """Add up what can be added up before it is known which nodes are feasible."""
        acting = self._acting(cycle)
        summed: dict[interface.Reads, list[Scorer]] = {}
        for scorer in acting:
            if _adds_up(scorer):
                summed.setdefault(scorer.plugin.reads, []).append(scorer)
        sums = [
            shape_answers.KeptScores(reads, _sum_of(scorers)) for reads, scorers in summed.items()
        ]
        return Plan(sums, [s for s in acting if not _adds_up(s)])

    def _acting(self, cycle: filtering.Cycle) -> Sequence[Scorer]:
        """Return the plugins that score pods of this shape: PreScore of kept ones is asked once."""

        def acting(left_out: frozenset[int]) -> Sequence[Scorer]:
            every = cycle.snap.all_rows()
            asked = (s for s in self._scorers if s.number not in left_out)
            return [s for s in asked if not (s.keeps and _pre_score_skips(s.plugin, cycle, every))]

        return cycle.answers.planned("acting scores", acting)

    def _weighted(
        self, scorer: Scorer, cycle: filtering.Cycle, feasible: snapshot.NodeView
    ) -> columns.IntArray | None:
        """Return int64 (f,) hundredths, None when the plugin has nothing to say about the pod."""
        if scorer.keeps:
            raw = _kept_scores(scorer, cycle)[feasible.rows]
        elif _pre_score_skips(scorer.plugin, cycle, feasible):
            return None
        else:
            raw = asking.ask_score(scorer.plugin, cycle.state, cycle.pod, feasible)
        final = _normalized(scorer, cycle, raw)
        if scorer.is_third_party:
            units = _units_per_point(scorer.plugin)
            asking.check_final_scores(scorer.plugin, final, len(feasible), units)
        elif not _is_in_range(final, scorer):
            raise _ScoringError(_out_of_range(final, scorer))
        return final * scorer.factor


def _adds_up(scorer: Scorer) -> bool:
    """Return whether scores are summed up on all rows; those of others are asked when feasible."""
    return scorer.keeps and not scorer.normalizes and not scorer.is_third_party


def _sum_of(scorers: Sequence[Scorer]) -> shape_answers.ScoreFn:
    """Return a function that adds up weighted scores."""

    def add_up(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        totals = np.zeros(len(nodes), np.int64)
        is_invalid = np.zeros(len(nodes), np.bool_)
        for scorer in scorers:
            scores = scorer.plugin.score(state, pod, nodes)
            if not _is_in_range(scores, scorer):
                is_invalid |= (scores < 0) | (scores > _highest(scorer))
            totals += scores * scorer.factor
        totals[is_invalid] = _INVALID
        return totals

    return add_up


def _highest(scorer: Scorer) -> int:
    return interface.MAX_NODE_SCORE * _units_per_point(scorer.plugin)


def _is_in_range(scores: interface.RawScores, scorer: Scorer) -> bool:
    return not len(scores) or bool(scores.min() >= 0 and scores.max() <= _highest(scorer))


def _out_of_range(scores: columns.IntArray, scorer: Scorer) -> status.Status:
    """Return the error about the first score out of range (runtime/framework.go, RunScorePlugins).

    Amounts near 2⁶³ bytes make the scores of built-in plugins overflow, as kube-scheduler's do.
    """
    highest = _highest(scorer)
    wrong = scores[(scores < 0) | (scores > highest)]
    reason = (
        "applying score defaultWeights on Score plugins: "
        f'plugin "{scorer.plugin.name}" returns an invalid score {int(wrong[0])}, '
        f"it should in the range of [0, {highest}] after normalizing"
    )
    return status.Status(status.Code.ERROR, (reason,))


def score_name(plugin: interface.Plugin) -> str:
    """Return the key of a plugin in weights and score tables."""
    name: str = getattr(plugin, "score_name", plugin.name)
    return name


def _kept_scores(scorer: Scorer, cycle: filtering.Cycle) -> interface.RawScores:
    kept = cycle.answers.scores.get(scorer.number)
    if kept is None:
        plugin = scorer.plugin
        kept = shape_answers.KeptScores(plugin.reads, functools.partial(asking.ask_score, plugin))
        cycle.answers.scores[scorer.number] = kept
    return kept.scores(cycle.answers.state, cycle.pod, cycle.snap)


def _pre_score_skips(
    plugin: interface.ScorePlugin, cycle: filtering.Cycle, nodes: snapshot.NodeView
) -> bool:
    if not hasattr(plugin, "pre_score"):
        return False
    with_pre_score = cast("interface.PreScorePlugin", plugin)
    answer = asking.ask(
        plugin, "PreScore", with_pre_score.pre_score, cycle.state_of(plugin), cycle.pod, nodes
    )
    if not (answer.is_skip or answer.is_success):
        doing = f'running PreScore plugin "{plugin.name}"'
        raise _ScoringError(status.error(plugin.name, doing, answer))
    return answer.is_skip


def _normalized(
    scorer: Scorer, cycle: filtering.Cycle, raw: interface.RawScores
) -> columns.IntArray:
    if not scorer.normalizes:
        return raw
    normalizing = cast("interface.NormalizeScorePlugin", scorer.plugin)
    state = cycle.answers.state if scorer.keeps else cycle.state
    return asking.ask(
        normalizing, "NormalizeScore", normalizing.normalize_score, state, cycle.pod, raw
    )


def _hundredths_per_unit(plugin: interface.ScorePlugin) -> int:
    return score_table.HUNDREDTHS // _units_per_point(plugin)


def _units_per_point(plugin: interface.ScorePlugin) -> int:
    units_per_point: int = getattr(plugin, "units_per_point", 1)
    return units_per_point
