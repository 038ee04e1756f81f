"""PreScore, Score and NormalizeScore for the feasible nodes of one pod."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, snapshot
from policysched.framework import (
    asking,
    comparing,
    filtering,
    interface,
    kept_points,
    kept_sums,
    kept_totals,
    plugin_watch,
    row_numbers,
    score_table,
    scorers,
    shape_answers,
    status,
)


@dataclasses.dataclass(slots=True)
class Plan:
    """How the totals of equal pods are made.

    Attributes:
        kept: adds up what is kept.
        shared: whose scores these are where shapes that plugins cannot tell apart may share them.
        given: plugins that may give again what they gave the last time.
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
    given: Sequence[tuple[scorers.Scorer, _Given]]
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


@dataclasses.dataclass(slots=True)
class _Given:
    """Weighted scores of a plugin that follow from its kept raw ones on the feasible nodes.

    Attributes:
        changes: of the raw scores.
        same: what all nodes get, whichever are feasible, None where they differ.
        rows: intp (f,), the feasible nodes, compared by identity.
        part: what each of them gets, where they differ.
    """

    changes: int = 0
    same: score_table.SamePart | None = None
    rows: npt.NDArray[np.intp] | None = None
    part: score_table.Part | None = None


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
        named = [(n, p, scorers.score_name(p)) for n, p in plugins]
        self._scorers = [
            scorers.Scorer(
                number=n,
                plugin=p,
                score_name=name,
                factor=weights[name] * (score_table.HUNDREDTHS // scorers.units_per_point(p)),
                keeps=filtering.keeps_answers(p),
                is_prepared=filtering.keeps_preparation(p),
                normalizes=hasattr(p, "normalize_score"),
                has_pre_score=hasattr(p, "pre_score"),
                is_third_party=asking.is_third_party(p),
                at_once=scorers.at_once(p),
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
        snap, state = cycle.snap, cycle.answers.state
        (plan,) = cycle.answers.planned("score", lambda _: [self._plan(cycle)])
        rows = plan.known(rows)
        stamp = (snap.nodes.node_changes.generation, snap.metrics.generation)
        try:
            if stamp != plan.stamp or plan.follows_pods:
                self._give_again(plan, cycle, rows)
                plan.stamp = stamp
            totals = plan.kept.totals(state, cycle.pod, snap, rows, plan.same, cycle.filtered)
        except _ScoringError:
            totals = None
        if totals is None:
            return self._points(cycle, rows)  # which knows whose score comes first
        for weighted in plan.added:
            totals = totals + weighted
        parts = [*plan.kept.parts(), *plan.parts]
        if plan.asked:
            totals = self._add_asked(plan.asked, cycle, rows, totals, parts)
        return score_table.ScoreTable(rows, {}, totals, parts)

    def _give_again(self, plan: Plan, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]) -> None:
        """Note in the plan what plugins give to the feasible `rows`, intp (f,)."""
        plan.rows, plan.stamp = rows, None
        plan.parts = [self._given(given, scorer, cycle, rows) for scorer, given in plan.given]
        plan.same, plan.added = 0, []
        for part in plan.parts:
            if isinstance(part, score_table.SamePart):
                plan.same += part.weighted
            elif isinstance(part, score_table.Part):
                plan.added.append(part.weighted)
        if plan.shared:
            plan.kept = cycle.answers.shared(
                cycle.pod.shape, f"totals {plan.same}", plan.shared, plan.kept.made_anew
            )

    def _add_asked(
        self,
        asked: Sequence[scorers.Scorer],
        cycle: filtering.Cycle,
        rows: npt.NDArray[np.intp],
        totals: columns.IntArray,
        parts: list[score_table.AnyPart],
    ) -> columns.IntArray:
        """Return `totals`, int64 (f,), and what `asked` give; add that to `parts`."""
        snap = cycle.snap
        feasible = snap.all_rows() if len(rows) == snap.size else snap.at_rows(rows)
        is_measured = plugin_watch.CURRENT.get() is not None
        weighted: columns.IntArray | int | status.Status | None
        for scorer in asked:
            if scorer.at_once is None or is_measured:
                weighted = self._weighted(scorer, cycle, feasible)
            else:
                weighted = scorer.at_once(cycle.state, cycle.pod, feasible, scorer.factor)
            if weighted is None or weighted is status.SKIP:
                continue
            if isinstance(weighted, status.Status):
                _skips(scorer, weighted)
                continue
            parts.append(_part(scorer, weighted))
            totals = totals + weighted
        return totals

    def _points(self, cycle: filtering.Cycle, rows: npt.NDArray[np.intp]) -> score_table.ScoreTable:
        feasible = cycle.snap.at_rows(rows)
        totals = np.zeros(len(rows), np.int64)
        by_plugin: dict[str, columns.IntArray] = {}
        details: dict[str, score_table.Detail] = {}
        for scorer in self._acting(cycle):
            detail = self._detail(scorer, cycle, feasible)
            if detail is not None:
                weighted = by_plugin[scorer.score_name] = detail.final * scorer.factor
                details[scorer.score_name] = detail
                totals += weighted
        parts = [score_table.Part((n,), w, is_by_row=False) for n, w in by_plugin.items()]
        return score_table.ScoreTable(rows, by_plugin, totals, parts, details)

    def _plan(self, cycle: filtering.Cycle) -> Plan:
        """Add up what can be added up before it is known which nodes are feasible."""
        acting = self._acting(cycle)
        summed: dict[tuple[interface.Reads, bool, bool], list[scorers.Scorer]] = {}
        for scorer in acting:
            if scorer.adds_up:
                has_key = shape_answers.has_key(scorer.plugin)
                key = (scorer.plugin.reads, scorer.ignores_usage is not None, has_key)
                summed.setdefault(key, []).append(scorer)
        sums = [_sums_of(alike, cycle) for alike in summed.values()]
        given = [s for s in acting if s.gives_again]
        asked = [s for s in acting if not (s.adds_up or s.gives_again or s.compares)]
        points = _points_of([s for s in acting if s.compares], cycle)
        kept = kept_totals.KeptTotals(sums, points)
        numbered = [(s.number, s.plugin) for s in acting if s.adds_up]
        has_keys = all(shape_answers.has_key(plugin) for _, plugin in numbered)

        return Plan(
            kept,
            numbered if points is None and has_keys else (),
            [(s, _Given()) for s in given],
            asked,
            compares=points is not None,
            follows_pods=any(interface.Reads.USAGE in s.plugin.reads for s in given),
        )

    def _acting(self, cycle: filtering.Cycle) -> Sequence[scorers.Scorer]:
        """Return the plugins that score pods of this shape, as far as that is known for all."""

        def acting(left_out: frozenset[int]) -> Sequence[scorers.Scorer]:
            every = cycle.snap.all_rows()
            asked = (s for s in self._scorers if s.number not in left_out)
            return [s for s in asked if not (s.is_prepared and _pre_score_skips(s, cycle, every))]

        return cycle.answers.planned("acting scores", acting)

    def _given(
        self,
        given: _Given,
        scorer: scorers.Scorer,
        cycle: filtering.Cycle,
        rows: npt.NDArray[np.intp],
    ) -> score_table.SamePart | score_table.Part:
        """Return scores, made anew where raw ones changed or other nodes are feasible."""
        kept = _kept(scorer, cycle)
        raw = kept.scores(cycle.answers.state, cycle.pod, cycle.snap)
        if given.changes != kept.changes:
            given.changes = kept.changes
            given.same = given.rows = None
            if raw.min() == raw.max():  # not where there is a NaN
                final = _checked(scorer, _normalized(scorer, cycle, raw[:1]))
                same = final.item(0) * scorer.factor
                given.same = score_table.SamePart((scorer.score_name,), same)
        if given.same is not None:
            return given.same
        if given.part is None or given.rows is not rows:
            final = _checked(scorer, _normalized(scorer, cycle, raw[rows]))
            weighted = final * scorer.factor
            given.part = score_table.Part((scorer.score_name,), weighted, is_by_row=False)
            given.rows = rows
        return given.part

    def _weighted(
        self, scorer: scorers.Scorer, cycle: filtering.Cycle, feasible: snapshot.NodeView
    ) -> columns.IntArray | None:
        """Return int64 (f,) hundredths, None when the plugin has nothing to say about the pod."""
        detail = self._detail(scorer, cycle, feasible)
        return None if detail is None else detail.final * scorer.factor

    def _detail(
        self, scorer: scorers.Scorer, cycle: filtering.Cycle, feasible: snapshot.NodeView
    ) -> score_table.Detail | None:
        """Return raw and final scores, None when the plugin has nothing to say about the pod."""
        if scorer.scores_domains:
            raw = asking.ask_score(scorer.plugin, cycle.answers.state, cycle.pod, feasible)
        elif scorer.keeps:
            if not scorer.is_prepared and _pre_score_skips(scorer, cycle, cycle.snap.all_rows()):
                return None
            kept = _kept(scorer, cycle)
            raw = kept.scores(cycle.answers.state, cycle.pod, cycle.snap)[feasible.rows]
        elif _pre_score_skips(scorer, cycle, feasible):
            return None
        else:
            raw = asking.ask_score(scorer.plugin, cycle.state, cycle.pod, feasible)
        final = _normalized(scorer, cycle, raw)
        if scorer.is_third_party:
            units = scorer.units_per_point
            asking.check_final_scores(scorer.plugin, final, len(feasible), units)
        else:
            _checked(scorer, final)
        return score_table.Detail(raw, final, scorer.units_per_point)


def _part(
    scorer: scorers.Scorer, weighted: columns.IntArray | int
) -> score_table.SamePart | score_table.Part:
    if isinstance(weighted, int):
        return score_table.SamePart((scorer.score_name,), weighted)
    return score_table.Part((scorer.score_name,), weighted, is_by_row=False)


def _sums_of(alike: Sequence[scorers.Scorer], cycle: filtering.Cycle) -> kept_sums.KeptSums:
    def make() -> kept_sums.KeptSums:
        names = tuple(scorer.score_name for scorer in alike)
        return kept_sums.KeptSums(
            scorers.version(alike), names, scorers.parts_of(alike), scorers.row_parts_of(alike)
        )

    numbered = [(scorer.number, scorer.plugin) for scorer in alike]
    return cycle.answers.shared(cycle.pod.shape, "score", numbered, make)


def _checked(scorer: scorers.Scorer, final: columns.IntArray) -> columns.IntArray:
    if not scorers.is_in_range(final, scorer):
        raise _ScoringError(scorers.out_of_range(final, scorer))
    return final


def _kept(scorer: scorers.Scorer, cycle: filtering.Cycle) -> shape_answers.KeptScores:
    kept = cycle.answers.scores.get(scorer.number)
    if kept is None:
        kept = _raw_scores(scorer)
        cycle.answers.scores[scorer.number] = kept
    return kept


def _raw_scores(scorer: scorers.Scorer) -> shape_answers.KeptScores:
    plugin = scorer.plugin
    compute = functools.partial(asking.ask_score, plugin)
    by_row = getattr(plugin, "score_row", None)
    at_row = functools.partial(asking.ask, plugin, "Score", by_row) if by_row else None
    return shape_answers.KeptScores(scorers.version([scorer]), compute, at_row)


def _points_of(
    comparing_ones: Sequence[scorers.Scorer], cycle: filtering.Cycle
) -> kept_points.KeptPoints | None:
    """Return the points of plugins that compare nodes; they share nothing with `_kept`."""
    if not comparing_ones:
        return None
    asked: list[tuple[kept_points.Numbers, Sequence[kept_points.Member]]] = []
    by_row: dict[object, list[scorers.Scorer]] = {}
    for scorer in comparing_ones:
        if scorer.scores_domains:
            plugin = cast("kept_points.DomainScorePlugin", scorer.plugin)
            by_domain = plugin.by_domain(cycle.answers.state, cycle.pod, cycle.snap)
            asked.append((by_domain, [_member(scorer)]))
        else:
            key = (scorer.plugin.reads, scorer.ignores_usage is not None)
            by_row.setdefault(key, []).append(scorer)
    row_slots = row_numbers.RowSlots()
    for alike in by_row.values():
        plugins = [scorer.plugin for scorer in alike]
        numbers = row_numbers.RowNumbers(scorers.version(alike), plugins, row_slots)
        asked.append((numbers, list(map(_member, alike))))
    return kept_points.KeptPoints(asked)


def _member(scorer: scorers.Scorer) -> kept_points.Member:
    frame = cast("comparing.ComparingPlugin", scorer.plugin).frame()
    return kept_points.Member(scorer.score_name, frame, scorer.factor)


def _pre_score_skips(
    scorer: scorers.Scorer, cycle: filtering.Cycle, nodes: snapshot.NodeView
) -> bool:
    if not scorer.has_pre_score:
        return False
    plugin = cast("interface.PreScorePlugin", scorer.plugin)
    state = cycle.answers.state if scorer.keeps else cycle.state
    answer = asking.ask(plugin, "PreScore", plugin.pre_score, state, cycle.pod, nodes)
    return _skips(scorer, answer)


def _skips(scorer: scorers.Scorer, answer: status.Status) -> bool:
    """Return whether an answer at PreScore leaves Score out; an error ends scoring."""
    if not (answer.is_skip or answer.is_success):
        doing = f'running PreScore plugin "{scorer.plugin.name}"'
        raise _ScoringError(status.error(scorer.plugin.name, doing, answer))
    return answer.is_skip


def _normalized(
    scorer: scorers.Scorer, cycle: filtering.Cycle, raw: interface.RawScores
) -> columns.IntArray:
    if not scorer.normalizes:
        return raw
    normalizing = cast("interface.NormalizeScorePlugin", scorer.plugin)
    state = cycle.answers.state if scorer.keeps else cycle.state
    return asking.ask(
        normalizing, "NormalizeScore", normalizing.normalize_score, state, cycle.pod, raw
    )
