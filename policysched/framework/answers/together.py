"""The contract of plugins of which many answer about a single node faster together.

Mostly one node has changed since the last equal pod. A hundred rules that are each asked about it
are some hundreds of calls; those with the same `together` are one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, plugin_watch, status

FilterRow: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeRow], status.Status
]
ScoreRow: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeRow], Sequence[float]
]
_Params = ParamSpec("_Params")
_AnswerT = TypeVar("_AnswerT")


class Together(Protocol):
    """Answers for plugins that have it as their attribute `together`, about a single node."""

    def filter_row(self, plugins: Sequence[Any]) -> FilterRow:
        """Return what gives the first rejection by `plugins`, in order, or success."""
        ...

    def score_row(self, plugins: Sequence[Any]) -> ScoreRow:
        """Return what gives the scores of `plugins`, in order."""
        ...


def filters_rows(plugin: interface.FilterPlugin) -> bool:
    """Return whether a plugin filters a single node faster than by arrays of one."""
    return _together(plugin) is not None or asking.shortcut(plugin, "filter_row") is not None


def scores_rows(plugin: interface.ScorePlugin) -> bool:
    """Return whether a plugin scores a single node faster than by arrays of one."""
    return _together(plugin) is not None or _has_row_scorer(plugin)


def filter_rows(
    plugins: Sequence[interface.FilterPlugin], *, is_measured: bool
) -> list[tuple[interface.FilterPlugin, FilterRow]]:
    """Return who is asked about a single node, in order, and how; as few as there can be.

    Where nothing `is_measured`, plugins of this package are asked without anything in between.
    """
    asked: list[tuple[interface.FilterPlugin, FilterRow]] = []
    for shared, group in itertools.groupby(plugins, _together):
        members = list(group)
        if shared is None:
            asked.extend((plugin, _filter_row(plugin, is_measured)) for plugin in members)
        else:
            first, question = members[0], shared.filter_row(members)
            is_plain = not (is_measured or asking.is_third_party(first))
            asked.append((first, question if is_plain else _timed(first, "Filter", question)))
    return asked


def score_rows(plugins: Sequence[interface.ScorePlugin]) -> list[ScoreRow]:
    """Return the same of Score for plugins of this package; scores are in the order of these.

    All pods that they are asked about must be equal to the plugins.
    """
    asked: list[ScoreRow] = []
    for (shared, has_row_scorer), group in itertools.groupby(plugins, _how_scored):
        members = list(group)
        if shared is not None:
            asked.append(_timed(members[0], "Score", shared.score_row(members)))
        elif has_row_scorer:
            asked.append(_ask_row_scorers(cast("list[interface.RowScorePlugin]", members)))
        else:
            asked.extend(map(_score_row, members))
    return asked


def _how_scored(plugin: interface.ScorePlugin) -> tuple[Together | None, bool]:
    return _together(plugin), _has_row_scorer(plugin)


def _has_row_scorer(plugin: interface.ScorePlugin) -> bool:
    return asking.shortcut(plugin, "make_row_scorer") is not None


def _timed(
    plugin: interface.Plugin, point: str, question: Callable[_Params, _AnswerT]
) -> Callable[_Params, _AnswerT]:
    def ask(*args: _Params.args, **kwargs: _Params.kwargs) -> _AnswerT:
        return asking.ask(plugin, point, question, *args, **kwargs)

    return ask


def _together(plugin: interface.Plugin) -> Together | None:
    found: Together | None = asking.shortcut(plugin, "together")
    return found


def _filter_row(plugin: interface.FilterPlugin, is_measured: bool) -> FilterRow:  # noqa: FBT001 - as in `filter_rows`
    at_row: FilterRow | None = asking.shortcut(plugin, "filter_row")
    if at_row is not None:
        is_plain = not (is_measured or asking.is_third_party(plugin))
        return at_row if is_plain else _timed(plugin, "Filter", at_row)

    def ask(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> status.Status:
        answers = asking.ask_filter(plugin, state, pod, _alone(node))
        return answers.statuses[answers.ids.item(0)]

    return ask


def _ask_row_scorers(plugins: Sequence[interface.RowScorePlugin]) -> ScoreRow:
    made: list[interface.RowScorer] = []

    def ask(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> Sequence[float]:
        del state
        if not made:
            made.extend(plugin.make_row_scorer(pod, node.snapshot) for plugin in plugins)
        if plugin_watch.CURRENT.get() is None:
            return [score(node) for score in made]
        timed = zip(plugins, made, strict=True)
        return [asking.ask(plugin, "Score", score, node) for plugin, score in timed]

    return ask


def _score_row(plugin: interface.ScorePlugin) -> ScoreRow:
    def ask(
        state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> Sequence[float]:
        found: list[float] = asking.ask_score(plugin, state, pod, _alone(node)).tolist()
        return found

    return ask


def _alone(node: snapshot.NodeRow) -> snapshot.NodeView:
    return node.snapshot.view_rows(np.array([node.row]))
