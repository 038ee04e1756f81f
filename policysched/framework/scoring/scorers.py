"""One Score plugin as a profile uses it: what it declares, and what its scores come to."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, status
from policysched.framework.answers import shape_answers, together
from policysched.framework.scoring import kept_sums

INVALID = -(2**58)
"""Weighted sum of a row with a score out of range, below what others could make up for."""


AtOnce: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeView, int],
    columns.IntArray | int | status.Status,
]


@dataclasses.dataclass(frozen=True, slots=True)
class Scorer:
    """A Score plugin as a profile uses it.

    Attributes:
        factor: what one unit of its final scores adds to the total, in hundredths of a point.
        keeps: whether its raw scores are kept for equal pods.
        is_prepared: whether what it says at PreScore is, too.
        normalizes: whether they depend on which nodes are feasible.
        has_pre_score: whether it may have nothing to say about a pod.
        is_third_party: whether its final scores are checked as `asking` says.
        at_once: gives weighted final scores in one go, None where the plugin cannot.
    """

    number: int
    plugin: interface.ScorePlugin
    score_name: str
    factor: int
    keeps: bool
    is_prepared: bool
    normalizes: bool
    has_pre_score: bool
    is_third_party: bool
    at_once: AtOnce | None

    @property
    def adds_up(self) -> bool:
        """Whether scores are summed up on all rows; those of others are asked when feasible."""
        return self.keeps and not self.normalizes and not self.is_third_party

    @property
    def compares(self) -> bool:
        """Whether final scores are patched where raw ones or feasible nodes changed."""
        return self.keeps and not self.is_third_party and hasattr(self.plugin, "comparison")

    @property
    def scores_domains(self) -> bool:
        """Whether they are, and raw scores are those of a node's domain."""
        return self.compares and hasattr(self.plugin, "by_domain")

    @property
    def units_per_point(self) -> int:
        """How many units of a final score make a point."""
        return units_per_point(self.plugin)

    @property
    def highest(self) -> int:
        """The highest final score, in units."""
        return interface.MAX_NODE_SCORE * self.units_per_point


def score_name(plugin: interface.Plugin) -> str:
    """Return the key of a plugin in weights and score tables."""
    name: str = getattr(plugin, "score_name", plugin.name)
    return name


def units_per_point(plugin: interface.ScorePlugin) -> int:
    """Return how many units of a plugin's final score make a point."""
    units: int = getattr(plugin, "units_per_point", 1)
    return units


def at_once(plugin: interface.ScorePlugin) -> AtOnce | None:
    """Return how a plugin answers three extension points at once (`interface.AtOnceScorePlugin`).

    One of somebody else may have inherited that and answer otherwise at one of them.
    """
    if asking.is_third_party(plugin):
        return None
    found: AtOnce | None = getattr(plugin, "score_at_once", None)
    return found


def parts_of(scorers: Sequence[Scorer]) -> shape_answers.ScoreFn:
    """Return a function that gives the weighted scores of k plugins, int64 (k, n)."""

    def ask(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        parts = np.empty((len(scorers), len(nodes)), np.int64)
        is_invalid: columns.BoolArray | None = None
        for index, scorer in enumerate(scorers):
            plugin = scorer.plugin
            scores = asking.ask(plugin, "Score", plugin.score, state, pod, nodes)
            if not is_in_range(scores, scorer):
                is_wrong = (scores < 0) | (scores > scorer.highest)
                is_invalid = is_wrong if is_invalid is None else is_invalid | is_wrong
            np.multiply(scores, scorer.factor, out=parts[index])
        if is_invalid is not None:
            parts[:, is_invalid] = 0
            parts[0, is_invalid] = INVALID
        return parts

    return ask


def row_parts_of(scorers: Sequence[Scorer]) -> kept_sums.RowPartsFn | None:
    """Return a function that gives the same of one node, None where arrays are faster."""
    if not any(together.scores_rows(scorer.plugin) for scorer in scorers):
        return None
    asked = together.score_rows([scorer.plugin for scorer in scorers])
    limits = [[s.highest for s in scorers], [s.factor for s in scorers]]

    def ask(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> list[int]:
        scores = [int(score) for each in asked for score in each(state, pod, node)]
        return _weighted(scores, *limits)

    return ask


def _weighted(scores: Sequence[int], highest: Sequence[int], factors: Sequence[int]) -> list[int]:
    """Return the weighted scores of one node, by the highest score and the factor of each.

    See `INVALID`.
    """
    if min(scores) < 0 or any(map(operator.gt, scores, highest)):
        return [INVALID, *(0 for _ in scores[1:])]
    return list(map(operator.mul, scores, factors))


def is_in_range(scores: interface.RawScores, scorer: Scorer) -> bool:
    """Tell in one pass: a negative int64 read as uint64 is above every possible score."""
    if len(scores) == 0:
        return True
    unsigned = scores.view(np.uint64)
    return bool(unsigned.item(unsigned.argmax()) <= scorer.highest)  # faster than `max`


def out_of_range(scores: columns.IntArray, scorer: Scorer) -> status.Status:
    """Return the error about the first score out of range (runtime/framework.go, RunScorePlugins).

    Amounts near 2⁶³ bytes make the scores of built-in plugins overflow, as kube-scheduler's do.
    """
    highest = scorer.highest
    wrong = scores[(scores < 0) | (scores > highest)]
    reason = (
        "applying score defaultWeights on Score plugins: "
        f'plugin "{scorer.plugin.name}" returns an invalid score {int(wrong[0])}, '
        f"it should in the range of [0, {highest}] after normalizing"
    )
    return status.Status(status.Code.ERROR, (reason,))
