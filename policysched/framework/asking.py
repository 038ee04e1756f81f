"""Calls plugins. An exception or an invalid answer of a third-party plugin names the plugin.

Built-in plugins are called without these checks: a fault of theirs is a bug, which shows its
traceback. Only the range of their final scores is checked, in `scoring`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    answer_checks,
    cycle_state,
    interface,
    plugin_watch,
    queued_pod,
    status,
)

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
    """Return an optional attribute of a built-in plugin or a rule; None if it has none.

    Third-party plugins have none. One that inherits from a built-in plugin may override `filter` or
    `score`, and an inherited attribute would give the answers of the base class.
    """
    return None if is_third_party(plugin) else getattr(plugin, name, None)


def ask(
    plugin: interface.Plugin,
    point: str,
    method: Callable[ParamsT, AnswerT],
    *args: ParamsT.args,
    **kwargs: ParamsT.kwargs,
) -> AnswerT:
    """Return what `method` of `plugin` answers at an extension point.

    Raises:
        PluginFailure: a third-party plugin raised, which is the cause, or its answer is invalid.
    """
    watch = plugin_watch.CURRENT.get()
    if _is_foreign(type(plugin)):
        find_problem = answer_checks.PROBLEM_FINDERS.get(point, _has_no_problem)
        method = _checked(plugin, point, method, find_problem)
    if watch is not None:
        return watch.timed(plugin, point, lambda: method(*args, **kwargs))
    return method(*args, **kwargs)


def _checked(
    plugin: interface.Plugin,
    point: str,
    method: Callable[ParamsT, AnswerT],
    find_problem: answer_checks.ProblemFinder,
) -> Callable[ParamsT, AnswerT]:
    """Return `method` of a third-party plugin, with every fault as a PluginFailure."""

    def answer(*args: ParamsT.args, **kwargs: ParamsT.kwargs) -> AnswerT:
        try:
            answered = method(*args, **kwargs)
        except Exception as error:
            raise _failure(plugin, point, error) from error
        _refuse(plugin, point, find_problem(answered))
        return answered

    return answer


async def ask_async(
    plugin: interface.Plugin,
    point: str,
    method: Callable[ParamsT, Coroutine[Any, Any, AnswerT]],
    *args: ParamsT.args,
    **kwargs: ParamsT.kwargs,
) -> AnswerT:
    """Do the same where the answer is to be awaited.

    Raises:
        PluginFailure: as above.
    """
    if not _is_foreign(type(plugin)):
        return await method(*args, **kwargs)
    waiting = _checked(plugin, point, method, _find_coroutine_problem)(*args, **kwargs)
    try:
        answer = await waiting
    except Exception as error:
        raise _failure(plugin, point, error) from error
    _refuse(plugin, point, answer_checks.PROBLEM_FINDERS[point](answer))
    return answer


def ask_sort_key(
    plugin: interface.QueueSortPlugin, queued: queued_pod.QueuedPodInfo
) -> tuple[object, ...]:
    """Return the activeQ key of a pod.

    A key of a third-party plugin begins with the kinds of its parts, so that any two of them can be
    compared, also those in which a text and a number are at the same position.

    Raises:
        PluginFailure: a third-party plugin raised, or answered something else.
    """
    key = ask(plugin, "QueueSort", plugin.sort_key, queued)
    if not is_third_party(plugin):
        return key
    return ("".join("t" if isinstance(part, str) else "n" for part in key), *key)


def _find_coroutine_problem(answer: object) -> str:
    return "" if inspect.isawaitable(answer) else "its method must be an `async def`"


def _has_no_problem(answer: object) -> str:
    """Accept an answer that the caller checks, because it must have as many items as nodes."""
    del answer
    return ""


def _failure(plugin: interface.Plugin, point: str, error: Exception) -> errors.PluginFailure:
    return errors.PluginFailure(plugin.name, point, f"{type(error).__name__}: {error}")


def _refuse(plugin: interface.Plugin, point: str, problem: str) -> None:
    if problem:
        raise errors.PluginFailure(plugin.name, point, problem)


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
        problem = answer_checks.find_node_statuses_problem(answers, len(nodes))
        _refuse(plugin, "Filter", problem)
    return answers


def ask_score(
    plugin: interface.ScorePlugin,
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    nodes: snapshot.NodeView,
) -> interface.RawScores:
    """Return (n,) raw scores; those of a third-party plugin are a copy, which can be updated.

    Raises:
        PluginFailure: a third-party plugin raised, or answered something else.
    """
    raw = ask(plugin, "Score", plugin.score, state, pod, nodes)
    if not is_third_party(plugin):
        return raw
    _refuse(plugin, "Score", answer_checks.find_array_problem(raw, len(nodes), "if"))
    return np.array(raw, np.int64 if raw.dtype.kind == "i" else np.float64)


def checked_final_scores(
    plugin: interface.ScorePlugin, scores: columns.IntArray, count: int, units_per_point: int
) -> columns.IntArray:
    """Return the scores of a third-party plugin for the `count` feasible nodes, as int64 (f,).

    Source: runtime/framework.go, RunScorePlugins.

    Raises:
        PluginFailure: they are something else than whole points of 0 to 100.
    """
    point = "NormalizeScore" if hasattr(plugin, "normalize_score") else "Score"
    _refuse(plugin, point, answer_checks.find_array_problem(scores, count, "i"))
    _refuse(plugin, point, _range_problem(scores, units_per_point))
    return scores.astype(np.int64, copy=False)


def _range_problem(scores: npt.NDArray[np.int64], units_per_point: int) -> str:
    highest = interface.MAX_NODE_SCORE * units_per_point
    if len(scores) == 0 or (scores.min() >= 0 and scores.max() <= highest):
        return ""
    wrong = int(scores.min() if scores.min() < 0 else scores.max())
    return f"invalid score {wrong}, it should be in the range of [0, {highest}] after normalizing"
