"""One Score plugin as a profile uses it: what it declares, and what its scores come to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import ClassVar, TypeAlias

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, status

INVALID = -(2**58)
"""Marks a row with a score out of range: valid points cannot raise its total to 0."""

KeepsScores: TypeAlias = Callable[[pod_shape.PodShape, snapshot.Snapshot], bool]

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
        keeps_scores: whether raw scores of a shape are kept; None if those of all shapes are alike.
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
    keeps_scores: KeepsScores | None
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
    def is_always_shown(self) -> bool:
        """Whether tables show the plugin for pods to which it does not apply.

        They show plugins that kube-scheduler asks about every pod, and no rules of policies.
        """
        return not self.has_pre_score and self.score_name == self.plugin.name

    @property
    def units_per_point(self) -> int:
        """How many units of a final score make a point."""
        return units_per_point(self.plugin)

    @property
    def highest(self) -> int:
        """The highest final score, in units."""
        return interface.MAX_NODE_SCORE * self.units_per_point


class NoScore:
    """Stands for a plugin that does not apply to a pod: 0 on every node, in tables too."""

    reads: ClassVar = interface.Reads.NODE
    """It reads nothing, but a plugin that names nothing would be asked in every cycle."""

    def __init__(self, name: str) -> None:
        """Take the place of a plugin of this name."""
        self.name = name

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): zeros."""
        del state, pod
        return np.zeros(len(nodes), np.int64)

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return None as the key, because all pods get the same scores."""
        del shape
        return None


def make_no_scorer(scorer: Scorer) -> Scorer:
    """Return the stand-in for a plugin that does not apply to a pod."""
    return Scorer(
        number=scorer.number,
        plugin=NoScore(scorer.plugin.name),
        score_name=scorer.score_name,
        factor=scorer.factor,
        keeps=True,
        is_prepared=True,
        normalizes=False,
        has_pre_score=False,
        is_third_party=False,
        keeps_scores=None,
        at_once=None,
    )


def adapt_to_shape(scorer: Scorer, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> Scorer:
    """Return the scorer for pods of a shape (`interface.PartlyKeptScorePlugin`)."""
    if scorer.keeps_scores is None or scorer.keeps_scores(shape, snap):
        return scorer
    return dataclasses.replace(scorer, keeps=False, is_prepared=False)


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
