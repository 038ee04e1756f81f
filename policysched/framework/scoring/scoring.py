"""PreScore, Score and NormalizeScore for the feasible nodes of one pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.framework import asking, cycles, interface, plugin_watch, status
from policysched.framework.answers import first_failures, shape_answers
from policysched.framework.scoring import plugin_scores, score_plan, score_table, scorers


class ScoreRunner:
    """Runs the Score plugins of a profile."""

    def __init__(
        self, plugins: Sequence[tuple[int, interface.ScorePlugin]], weights: Mapping[str, int]
    ) -> None:
        """Take numbered plugins; those without a weight do not score."""
        named = [(n, p, scorers.score_name(p)) for n, p in plugins]
        self._scorers = [
            scorers.Scorer(
                number=n,
                plugin=p,
                score_name=name,
                factor=weights[name] * (score_table.HUNDREDTHS // scorers.units_per_point(p)),
                keeps=shape_answers.keeps_answers(p),
                is_prepared=shape_answers.keeps_preparation(p),
                normalizes=hasattr(p, "normalize_score"),
                has_pre_score=hasattr(p, "pre_score"),
                is_third_party=asking.is_third_party(p),
                keeps_scores=asking.shortcut(p, "keeps_scores"),
                at_once=scorers.at_once(p),
            )
            for n, p, name in named
            if weights.get(name, 0)
        ]

    def score(
        self, cycle: cycles.Cycle, failures: first_failures.FirstFailures
    ) -> score_table.ScoreTable | status.Status:
        """Return the totals of the feasible rows, and nothing about plugins.

        An error that a plugin answers at PreScore comes in place of them, or the one about a final
        score out of range.
        """
        try:
            return self._totals(cycle, failures)
        except plugin_scores.ScoringError as error:
            return error.answer

    def explain(
        self, cycle: cycles.Cycle, rows: npt.NDArray[np.intp]
    ) -> score_table.ScoreTable | status.Status:
        """Return the points of the feasible `rows`, plugin by plugin, or an error as above."""
        try:
            return self._points(cycle, rows)
        except plugin_scores.ScoringError as error:
            return error.answer

    def _totals(
        self, cycle: cycles.Cycle, failures: first_failures.FirstFailures
    ) -> score_table.ScoreTable:
        rows = failures.get_feasible_rows()
        plan = cycle.answers.planned(
            "score", lambda _: score_plan.of_acting(self._acting(cycle), cycle)
        )
        totals = plan.add_up(cycle, failures)
        if totals is None:
            return self._points(cycle, rows)  # which knows whose score comes first
        parts = plan.parts()
        if plan.asked:
            totals = _add_asked(plan.asked, cycle, rows, totals, parts)
        return score_table.ScoreTable(rows, {}, totals, parts)

    def _points(self, cycle: cycles.Cycle, rows: npt.NDArray[np.intp]) -> score_table.ScoreTable:
        feasible = cycle.snap.view_rows(rows)
        totals = np.zeros(len(rows), np.int64)
        by_plugin: dict[str, columns.IntArray] = {}
        details: dict[str, score_table.Detail] = {}
        for scorer in self._acting(cycle):
            detail = plugin_scores.detail(scorer, cycle, feasible)
            if detail is not None:
                weighted = by_plugin[scorer.score_name] = detail.final * scorer.factor
                details[scorer.score_name] = detail
                totals += weighted
        parts = [score_table.Part((n,), w) for n, w in by_plugin.items()]
        return score_table.ScoreTable(rows, by_plugin, totals, parts, details)

    def _acting(self, cycle: cycles.Cycle) -> Sequence[scorers.Scorer]:
        """Return the plugins that score pods of this shape, as far as that is known for all."""

        def acting(left_out: frozenset[int]) -> Sequence[scorers.Scorer]:
            every = cycle.snap.view_all_rows()
            shape = cycle.pod.shape
            asked = (
                scorers.adapt_to_shape(s, shape, cycle.snap)
                if s.number not in left_out
                else scorers.make_no_scorer(s)
                for s in self._scorers
                if s.number not in left_out or s.is_always_shown
            )
            return [
                s
                for s in asked
                if not (s.is_prepared and plugin_scores.pre_score_skips(s, cycle, every))
            ]

        return cycle.answers.planned("acting scores", acting)


def _add_asked(
    asked: Sequence[scorers.Scorer],
    cycle: cycles.Cycle,
    rows: npt.NDArray[np.intp],
    totals: columns.IntArray,
    parts: list[score_table.AnyPart],
) -> columns.IntArray:
    """Return `totals`, int64 (f,), and what `asked` give; add that to `parts`."""
    snap = cycle.snap
    feasible = snap.view_all_rows() if len(rows) == snap.size else snap.view_rows(rows)
    is_measured = plugin_watch.CURRENT.get() is not None
    weighted: columns.IntArray | int | status.Status | None
    for scorer in asked:
        if scorer.at_once is None or is_measured:
            weighted = _weighted(scorer, cycle, feasible)
        else:
            weighted = scorer.at_once(cycle.state, cycle.pod, feasible, scorer.factor)
        if weighted is None or weighted is status.SKIP:
            continue
        if isinstance(weighted, status.Status):
            plugin_scores.skips(scorer, weighted)
            continue
        if isinstance(weighted, int):
            parts.append(score_table.SamePart((scorer.score_name,), np.array([[weighted]])))
        else:
            parts.append(score_table.Part((scorer.score_name,), weighted))
        totals = totals + weighted
    return totals


def _weighted(
    scorer: scorers.Scorer, cycle: cycles.Cycle, feasible: snapshot.NodeView
) -> columns.IntArray | None:
    """Return int64 (f,) hundredths, None when the plugin has nothing to say about the pod."""
    detail = plugin_scores.detail(scorer, cycle, feasible)
    return None if detail is None else detail.final * scorer.factor
