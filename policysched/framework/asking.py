"""Asks plugins, and answers for those of others: what breaks or makes no sense names its plugin.

Plugins of this package are asked without ceremony: a fault of theirs is a bug that shows its
traceback. So these checks cost third-party plugins alone; the range of the others' final scores is
looked at in `scoring`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import cycle_state, interface, plugin_watch, status

ParamsT = ParamSpec("ParamsT")
AnswerT = TypeVar("AnswerT")

_OWN_PACKAGE = __name__.partition(".")[0]


def is_third_party(plugin: interface.Plugin) -> bool:
    """Return whether a plugin comes from another package."""
    return _is_foreign(type(plugin))


@functools.cache
def _is_foreign(kind: type) -> bool:
    return kind.__module__.partition(".")[0] != _OWN_PACKAGE


def shortcut(plugin: interface.Plugin, name: str) -> Any:  # noqa: ANN401 - any attribute
    """Return what spares a plugin questions, by the name of its attribute; None for nothing.

    A third-party plugin that inherits from one of this package may answer the questions otherwise;
    what it has inherited beside them knows nothing of that, and is left out.
    """
    if is_third_party(plugin):
        makers = (kind for kind in type(plugin).__mro__ if name in vars(kind))
        if not _is_foreign(next(makers, type(plugin))):
            return None
    return getattr(plugin, name, None)


def ask(
    plugin: interface.Plugin,
    point: str,
    method: Callable[ParamsT, AnswerT],
    *args: ParamsT.args,
    **kwargs: ParamsT.kwargs,
) -> AnswerT:
    """Return what `method` of `plugin` answers at an extension point.

    Raises:
        PluginFailure: a third-party plugin raised; that is the cause.
    """
    try:
        watch = plugin_watch.CURRENT.get()
        if watch is not None:
            return watch.timed(plugin, point, lambda: method(*args, **kwargs))
        return method(*args, **kwargs)
    except Exception as error:
        if not is_third_party(plugin):
            raise
        raise _failure(plugin, point, error) from error


async def ask_async(
    plugin: interface.Plugin,
    point: str,
    method: Callable[ParamsT, Coroutine[Any, Any, AnswerT]],
    *args: ParamsT.args,
    **kwargs: ParamsT.kwargs,
) -> AnswerT:
    """Do the same where the answer is to be awaited.

    Raises:
        PluginFailure: a third-party plugin raised; that is the cause.
    """
    try:
        return await method(*args, **kwargs)
    except Exception as error:
        if not is_third_party(plugin):
            raise
        raise _failure(plugin, point, error) from error


def _failure(plugin: interface.Plugin, point: str, error: Exception) -> errors.PluginFailure:
    return errors.PluginFailure(plugin.name, point, f"{type(error).__name__}: {error}")


def ask_filter(
    plugin: interface.FilterPlugin,
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    nodes: snapshot.NodeView,
) -> status.NodeStatuses:
    """Return one answer for each of the n nodes.

    Raises:
        PluginFailure: a third-party plugin raised, or answered something else.
    """
    answers = ask(plugin, "Filter", plugin.filter, state, pod, nodes)
    if is_third_party(plugin):
        problem = _filter_problem(answers, len(nodes))
        if problem:
            raise errors.PluginFailure(plugin.name, "Filter", problem)
    return answers


def ask_score(
    plugin: interface.ScorePlugin,
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    nodes: snapshot.NodeView,
) -> interface.RawScores:
    """Return (n,) raw scores.

    Raises:
        PluginFailure: a third-party plugin raised, or answered something else.
    """
    raw = ask(plugin, "Score", plugin.score, state, pod, nodes)
    if is_third_party(plugin):
        problem = _array_problem(raw, len(nodes), "if")
        if problem:
            raise errors.PluginFailure(plugin.name, "Score", problem)
    return raw


def check_final_scores(
    plugin: interface.ScorePlugin, scores: columns.IntArray, count: int, units_per_point: int
) -> None:
    """Check what goes into the total of the `count` feasible nodes.

    Source: runtime/framework.go, RunScorePlugins.

    Raises:
        PluginFailure: a third-party plugin gave something else than whole points of 0 to 100.
    """
    if not is_third_party(plugin):
        return
    point = "NormalizeScore" if hasattr(plugin, "normalize_score") else "Score"
    problem = _array_problem(scores, count, "i") or _range_problem(scores, units_per_point)
    if problem:
        raise errors.PluginFailure(plugin.name, point, problem)


def _filter_problem(answers: Any, count: int) -> str:  # noqa: ANN401 - whatever a plugin returns
    if not isinstance(answers, status.NodeStatuses):
        return f"it must answer NodeStatuses, not {type(answers).__name__}"
    problem = _array_problem(answers.ids, count, "i")
    if problem:
        return problem
    if count and not (answers.ids.min() >= 0 and answers.ids.max() < len(answers.statuses)):
        return f"its ids must be in the range of its {len(answers.statuses)} statuses"
    return ""


def _array_problem(array: Any, count: int, kinds: str) -> str:  # noqa: ANN401 - whatever a plugin returns
    if not isinstance(array, np.ndarray):
        return f"it must answer an array, not {type(array).__name__}"
    if array.shape != (count,):
        return f"it must answer an array of shape ({count},), not {array.shape}"
    if array.dtype.kind not in kinds:
        words = " or ".join({"i": "int64", "f": "float64"}[kind] for kind in kinds)
        return f"its array must be of {words}, not {array.dtype}"
    return ""


def _range_problem(scores: npt.NDArray[np.int64], units_per_point: int) -> str:
    highest = interface.MAX_NODE_SCORE * units_per_point
    if len(scores) == 0 or (scores.min() >= 0 and scores.max() <= highest):
        return ""
    wrong = int(scores.min() if scores.min() < 0 else scores.max())
    return f"invalid score {wrong}, it should be in the range of [0, {highest}] after normalizing"
