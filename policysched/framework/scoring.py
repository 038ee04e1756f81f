"""PreScore, Score and NormalizeScore for the feasible nodes of one pod."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, snapshot
from policysched.framework import filtering, interface, score_table, shape_answers


@dataclasses.dataclass(frozen=True, slots=True)
class Scorer:
    """A Score plugin as a profile uses it.

    `factor` is what one unit of its final scores adds to the total, in hundredths of a point,
    `keeps` whether its raw scores are kept for equal pods.
    """

    number: int
    plugin: interface.ScorePlugin
    score_name: str
    factor: int
    keeps: bool


class ScoreRunner:
    """Runs the Score plugins of a profile."""

    def __init__(
        self, plugins: Sequence[tuple[int, interface.ScorePlugin]], weights: Mapping[str, int]
    ) -> None:
        """Take numbered plugins; those without a weight do not score."""
        named = [(n, p, score_name(p)) for n, p in plugins]
        self._scorers = [
            Scorer(n, p, name, weights[name] * _hundredths_per_unit(p), filtering.keeps_answers(p))
            for n, p, name in named
            if weights.get(name, 0)
        ]

    def score(self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]) -> score_table.ScoreTable:
        """Return the points of the feasible `rows`, intp (f,)."""
        feasible = cycle.snap.at_rows(rows)
        totals = np.zeros(len(rows), np.int64)
        by_plugin: dict[str, columns.IntArray] = {}
        for scorer in cycle.answers.planned("score", self._acting):
            raw = self._raw_scores(scorer, cycle, feasible)
            if raw is not None:
                weighted = _normalized(scorer, cycle, raw) * scorer.factor
                by_plugin[scorer.score_name] = weighted
                totals += weighted
        return score_table.ScoreTable(rows, by_plugin, totals)

    def _acting(self, left_out: frozenset[int]) -> Sequence[Scorer]:
        return [scorer for scorer in self._scorers if scorer.number not in left_out]

    def _raw_scores(
        self, scorer: Scorer, cycle: filtering.Cycle, feasible: snapshot.NodeView
    ) -> interface.RawScores | None:
        """Return (f,) raw scores, None when the plugin has nothing to say about the pod."""
        if scorer.keeps:
            kept = _kept_score(scorer, cycle)
            if kept is None:
                return None
            return kept.scores(cycle.answers.state, cycle.pod, cycle.snap)[feasible.rows]
        if _pre_score_skips(scorer.plugin, cycle, feasible):
            return None
        return scorer.plugin.score(cycle.state, cycle.pod, feasible)


def score_name(plugin: interface.Plugin) -> str:
    """Return the key of a plugin in weights and score tables."""
    name: str = getattr(plugin, "score_name", plugin.name)
    return name


def _kept_score(scorer: Scorer, cycle: filtering.Cycle) -> shape_answers.KeptScore | None:
    scores = cycle.answers.scores
    if scorer.number not in scores:
        skips = _pre_score_skips(scorer.plugin, cycle, cycle.snap.all_rows())
        scores[scorer.number] = None if skips else shape_answers.KeptScore(scorer.plugin)
    return scores[scorer.number]


def _pre_score_skips(
    plugin: interface.ScorePlugin, cycle: filtering.Cycle, nodes: snapshot.NodeView
) -> bool:
    if not hasattr(plugin, "pre_score"):
        return False
    with_pre_score = cast("interface.PreScorePlugin", plugin)
    return with_pre_score.pre_score(cycle.state_of(plugin), cycle.pod, nodes).is_skip


def _normalized(
    scorer: Scorer, cycle: filtering.Cycle, raw: interface.RawScores
) -> columns.IntArray:
    if not hasattr(scorer.plugin, "normalize_score"):
        return raw
    normalizing = cast("interface.NormalizeScorePlugin", scorer.plugin)
    state = cycle.answers.state if scorer.keeps else cycle.state
    return normalizing.normalize_score(state, cycle.pod, raw)


def _hundredths_per_unit(plugin: interface.ScorePlugin) -> int:
    units_per_point: int = getattr(plugin, "units_per_point", 1)
    return score_table.HUNDREDTHS // units_per_point
