"""PreScore, Score and NormalizeScore for the feasible nodes of one pod."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from policysched.cluster import columns, pod_shape, snapshot
from policysched.framework import (
    asking,
    comparing,
    cycle_state,
    filtering,
    interface,
    kept_points,
    kept_sums,
    kept_totals,
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


@dataclasses.dataclass(slots=True)
class Plan:
    """How the totals of equal pods are made.

    Attributes:
        kept: adds up what is kept.
        given: plugins that may give again what they gave the last time.
        asked: the rest.
    """

    kept: kept_totals.KeptTotals
    given: Sequence[tuple[Scorer, _Given]]
    asked: Sequence[Scorer]


@dataclasses.dataclass(slots=True)
class _Given:
    """Weighted scores of a plugin that follow from its kept raw ones on the feasible nodes.

    Attributes:
        rows: intp (f,), the feasible nodes, compared by identity.
        changes: of the raw scores.
        weighted: int64 (f,) hundredths; not to be written to.
    """

    rows: npt.NDArray[np.intp] | None
    changes: int
    weighted: columns.IntArray


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
        snap = cycle.snap
        (plan,) = cycle.answers.planned("score", lambda _: [self._plan(cycle)])
        rows = plan.kept.known(rows)
        changed = plan.kept.refresh(cycle.answers.state, cycle.pod, snap, rows)
        try:
            given = [self._given(each, scorer, cycle, rows) for scorer, each in plan.given]
        except _ScoringError:
            return self._points(cycle, rows)  # which knows whose score comes first
        totals = plan.kept.totals(rows, changed, given, snap.size)
        if totals is None:
            return self._points(cycle, rows)
        parts = plan.kept.parts()
        if plan.asked:
            feasible = snap.all_rows() if len(rows) == snap.size else snap.at_rows(rows)
            for scorer in plan.asked:
                weighted = self._weighted(scorer, cycle, feasible)
                if weighted is not None:
                    totals = totals + weighted
                    one = score_table.Part((scorer.score_name,), weighted, is_by_row=False)
                    parts = (*parts, one)
        return score_table.ScoreTable(rows, {}, totals, parts)

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
        summed: dict[tuple[interface.Reads, bool], list[Scorer]] = {}
        for scorer in acting:
            if _adds_up(scorer):
                key = (scorer.plugin.reads, _ignores_usage(scorer) is not None)
                summed.setdefault(key, []).append(scorer)
        sums = [
            kept_sums.KeptSums(
                _version(scorers), tuple(s.score_name for s in scorers), _parts_of(scorers)
            )
            for scorers in summed.values()
        ]
        given = [s for s in acting if _gives_again(s)]
        asked = [s for s in acting if not (_adds_up(s) or _gives_again(s) or _compares(s))]
        points = _points_of([s for s in acting if _compares(s)], cycle)
        return Plan(
            kept_totals.KeptTotals(sums, [s.score_name for s in given], points),
            [(s, _Given(None, 0, np.zeros(0, np.int64))) for s in given],
            asked,
        )

    def _acting(self, cycle: filtering.Cycle) -> Sequence[Scorer]:
        """Return the plugins that score pods of this shape: PreScore of kept ones is asked once."""

        def acting(left_out: frozenset[int]) -> Sequence[Scorer]:
            every = cycle.snap.all_rows()
            asked = (s for s in self._scorers if s.number not in left_out)
            return [s for s in asked if not (s.keeps and _pre_score_skips(s.plugin, cycle, every))]

        return cycle.answers.planned("acting scores", acting)

    def _given(
        self,
        given: _Given,
        scorer: Scorer,
        cycle: filtering.Cycle,
        rows: npt.NDArray[np.intp],
    ) -> columns.IntArray:
        """Return int64 (f,) hundredths, made anew when raw scores or the feasible nodes changed."""
        kept = _kept(scorer, cycle)
        raw = kept.scores(cycle.answers.state, cycle.pod, cycle.snap)
        if given.rows is not rows or given.changes != kept.changes:
            final = _checked(scorer, _normalized(scorer, cycle, raw[rows]))
            given.weighted = final * scorer.factor
            given.rows, given.changes = rows, kept.changes
        return given.weighted

    def _weighted(
        self, scorer: Scorer, cycle: filtering.Cycle, feasible: snapshot.NodeView
    ) -> columns.IntArray | None:
        """Return int64 (f,) hundredths, None when the plugin has nothing to say about the pod."""
        detail = self._detail(scorer, cycle, feasible)
        return None if detail is None else detail.final * scorer.factor

    def _detail(
        self, scorer: Scorer, cycle: filtering.Cycle, feasible: snapshot.NodeView
    ) -> score_table.Detail | None:
        """Return raw and final scores, None when the plugin has nothing to say about the pod."""
        if _scores_domains(scorer):
            raw = asking.ask_score(scorer.plugin, cycle.answers.state, cycle.pod, feasible)
        elif scorer.keeps:
            kept = _kept(scorer, cycle)
            raw = kept.scores(cycle.answers.state, cycle.pod, cycle.snap)[feasible.rows]
        elif _pre_score_skips(scorer.plugin, cycle, feasible):
            return None
        else:
            raw = asking.ask_score(scorer.plugin, cycle.state, cycle.pod, feasible)
        final = _normalized(scorer, cycle, raw)
        if scorer.is_third_party:
            units = _units_per_point(scorer.plugin)
            asking.check_final_scores(scorer.plugin, final, len(feasible), units)
        else:
            _checked(scorer, final)
        return score_table.Detail(raw, final, _units_per_point(scorer.plugin))


def _adds_up(scorer: Scorer) -> bool:
    """Return whether scores are summed up on all rows; those of others are asked when feasible."""
    return scorer.keeps and not scorer.normalizes and not scorer.is_third_party


def _gives_again(scorer: Scorer) -> bool:
    """Return whether final scores follow from kept raw ones and the feasible nodes alone."""
    is_alike = scorer.keeps and scorer.normalizes and not scorer.is_third_party
    return is_alike and not _compares(scorer)


def _compares(scorer: Scorer) -> bool:
    """Return whether final scores are patched where raw ones or feasible nodes changed."""
    return scorer.keeps and not scorer.is_third_party and hasattr(scorer.plugin, "frame")


def _scores_domains(scorer: Scorer) -> bool:
    return _compares(scorer) and hasattr(scorer.plugin, "by_domain")


def _ignores_usage(scorer: Scorer) -> Callable[[snapshot.Snapshot], bool] | None:
    return getattr(scorer.plugin, "ignores_usage", None)


def _version(scorers: Sequence[Scorer]) -> shape_answers.Version:
    """Return a version of the scores of plugins that read the same and ignore the same."""
    ignoring = [tells for tells in map(_ignores_usage, scorers) if tells is not None]
    return shape_answers.Version(
        scorers[0].plugin.reads,
        (lambda snap: all(ignores(snap) for ignores in ignoring)) if ignoring else None,
    )


def _parts_of(scorers: Sequence[Scorer]) -> shape_answers.ScoreFn:
    """Return a function that gives the weighted scores of k plugins, int64 (k, n)."""
    knows_rows = any(hasattr(scorer.plugin, "score_row") for scorer in scorers)

    def ask(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        parts = np.empty((len(scorers), len(nodes)), np.int64)
        if knows_rows and len(nodes) <= shape_answers.FEW_ROWS:
            for index, row in enumerate(nodes.row_numbers.tolist()):
                node = nodes.snapshot.at_row(row)
                parts[:, index] = _weighted_at(scorers, state, pod, node)
            return parts
        is_invalid: columns.BoolArray | None = None
        for index, scorer in enumerate(scorers):
            plugin = scorer.plugin
            scores = asking.ask(plugin, "Score", plugin.score, state, pod, nodes)
            if not _is_in_range(scores, scorer):
                is_wrong = (scores < 0) | (scores > _highest(scorer))
                is_invalid = is_wrong if is_invalid is None else is_invalid | is_wrong
            np.multiply(scores, scorer.factor, out=parts[index])
        if is_invalid is not None:
            parts[:, is_invalid] = 0
            parts[0, is_invalid] = _INVALID
        return parts

    return ask


def _weighted_at(
    scorers: Sequence[Scorer],
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    node: snapshot.NodeRow,
) -> list[int]:
    """Return the weighted scores of k plugins for one node; see `_INVALID`."""
    found = []
    nodes = node.snapshot.at_rows(np.array([node.row]))
    for scorer in scorers:
        plugin = scorer.plugin
        at_row = getattr(plugin, "score_row", None)
        if at_row is None:
            score = int(asking.ask(plugin, "Score", plugin.score, state, pod, nodes)[0])
        else:
            score = int(asking.ask(plugin, "Score", at_row, state, pod, node))
        if not 0 <= score <= _highest(scorer):
            return [_INVALID, *(0 for _ in scorers[1:])]
        found.append(score * scorer.factor)
    return found


def _highest(scorer: Scorer) -> int:
    return interface.MAX_NODE_SCORE * _units_per_point(scorer.plugin)


def _is_in_range(scores: interface.RawScores, scorer: Scorer) -> bool:
    """Tell in one pass: a negative int64 read as uint64 is above every possible score."""
    return int(np.maximum.reduce(scores.view(np.uint64), initial=0)) <= _highest(scorer)


def _checked(scorer: Scorer, final: columns.IntArray) -> columns.IntArray:
    if not _is_in_range(final, scorer):
        raise _ScoringError(_out_of_range(final, scorer))
    return final


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


def _kept(scorer: Scorer, cycle: filtering.Cycle) -> shape_answers.KeptScores:
    kept = cycle.answers.scores.get(scorer.number)
    if kept is None:
        kept = _raw_scores(scorer)
        cycle.answers.scores[scorer.number] = kept
    return kept


def _raw_scores(scorer: Scorer) -> shape_answers.KeptScores:
    plugin = scorer.plugin
    compute = functools.partial(asking.ask_score, plugin)
    by_row = getattr(plugin, "score_row", None)
    at_row = functools.partial(asking.ask, plugin, "Score", by_row) if by_row else None
    return shape_answers.KeptScores(_version([scorer]), compute, at_row)


def _points_of(scorers: Sequence[Scorer], cycle: filtering.Cycle) -> kept_points.KeptPoints | None:
    """Return the points of plugins that compare nodes; they share nothing with `_kept`."""
    if not scorers:
        return None
    row_slots = kept_points.RowSlots()
    compared = [
        kept_points.Compared(
            _by_domain(scorer, cycle)
            if _scores_domains(scorer)
            else _by_row(_raw_scores(scorer), row_slots),
            cast("comparing.ComparingPlugin", scorer.plugin).frame(),
            scorer.factor,
        )
        for scorer in scorers
    ]
    return kept_points.KeptPoints([s.score_name for s in scorers], compared)


def _by_row(kept: shape_answers.KeptScores, row_slots: kept_points.RowSlots) -> kept_points.Refresh:
    def refresh(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> kept_points.Refreshed:
        values = kept.scores(state, pod, snap)
        changed = None if kept.changed is None else kept.changed.tolist()
        return values[: snap.size], row_slots.of(snap.size), changed

    return refresh


def _by_domain(scorer: Scorer, cycle: filtering.Cycle) -> kept_points.Refresh:
    plugin = cast("comparing.DomainScorePlugin", scorer.plugin)
    domains = plugin.by_domain(cycle.answers.state, cycle.pod, cycle.snap)

    def refresh(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> kept_points.Refreshed:
        del state, pod
        changed = domains.refresh(snap)
        return domains.values, domains.slots, changed

    return refresh


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
