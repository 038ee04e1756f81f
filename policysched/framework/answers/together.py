"""How plugins are asked at Filter and Score: alone, or many that answer together.

A hundred rules of policies that are each asked are some hundreds of calls; those with the same
`together` are one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface, plugin_watch, status
from policysched.framework.answers import status_table

FilterFn: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeView], status.NodeStatuses
]
ScoreFn: TypeAlias = Callable[
    [cycle_state.CycleState, pod_shape.PodInfo, snapshot.NodeView], interface.RawScores
]
Rows: TypeAlias = npt.NDArray[np.intp]
_ParamsT = ParamSpec("_ParamsT")
_AnswerT = TypeVar("_AnswerT")


class Together(Protocol):
    """Answers for plugins that have it as their attribute `together`."""

    def make_filter(self, plugins: Sequence[Any]) -> FilterFn:
        """Return a function that returns the first rejection by `plugins`, in order."""
        ...

    def make_score(self, plugins: Sequence[Any]) -> ScoreFn:
        """Return a function that returns (k, n) scores by k `plugins`, in order."""
        ...


class FilterQuestion:
    """What plugins of one name are asked at Filter, for pods equal to one."""

    def __init__(
        self, plugin_name: str, ask: FilterFn, state: cycle_state.CycleState, pod: pod_shape.PodInfo
    ) -> None:
        """Ask `ask` about `pod`."""
        self._plugin_name = plugin_name
        self._ask = ask
        self._state = state
        self._pod = pod

    def find_ids(
        self, snap: snapshot.Snapshot, rows: Rows, table: status_table.StatusTable
    ) -> status_table.StatusIds | None:
        """Return int16 (m,) answers about `rows` in the numbers of `table`; None if all pass."""
        answers = self._ask(self._state, self._pod, snap.view_rows_or_all(rows))
        if len(answers.statuses) == 1 or not np.count_nonzero(answers.ids):
            return None  # and statuses that no row has are not numbered
        return table.translate(self._plugin_name, answers)


class CodeQuestion:
    """What a plugin with codes is asked at Filter, for pods equal to one."""

    def __init__(self, plugin: interface.FilterPlugin, writer: interface.CodeWriter) -> None:
        """Ask `writer`, which `plugin` made."""
        self._plugin = plugin
        self._writer = writer
        self._codes = np.zeros(0, np.int32)

    def find_ids(
        self, snap: snapshot.Snapshot, rows: Rows, table: status_table.StatusTable
    ) -> status_table.StatusIds | None:
        """Return int16 (m,) answers about `rows` in the numbers of `table`; None if all pass."""
        if len(self._codes) != snap.size:
            self._codes = np.zeros(snap.size, np.int32)
        if plugin_watch.CURRENT.get() is None:
            self._writer.write(snap, rows, self._codes)
        else:
            asking.ask(self._plugin, "Filter", self._writer.write, snap, rows, self._codes)
        codes = self._codes.take(rows)
        if len(rows) < snap.size and not np.count_nonzero(codes):
            return None
        return table.translate(self._plugin.name, self._writer.describe(snap, rows, codes))


Question: TypeAlias = FilterQuestion | CodeQuestion


def list_filter_questions(
    plugins: Sequence[interface.FilterPlugin],
    state: cycle_state.CycleState,
    pod: pod_shape.PodInfo,
    snap: snapshot.Snapshot,
) -> list[Question]:
    """Return the questions to `plugins` about `pod`, in order; as few as there can be."""
    questions: list[Question] = []
    for shared, group in itertools.groupby(plugins, _together):
        members = list(group)
        if shared is not None:
            ask = _ask_first(members[0], "Filter", shared.make_filter(members))
            questions.append(FilterQuestion(members[0].name, ask, state, pod))
            continue
        for plugin in members:
            make = asking.shortcut(plugin, "make_filter_writer")
            if make is None:
                asked = functools.partial(asking.ask_filter, plugin)
                questions.append(FilterQuestion(plugin.name, asked, state, pod))
            else:
                questions.append(CodeQuestion(plugin, make(pod, snap)))
    return questions


class ScoreWriter:
    """Writes the raw scores of k plugins for pods equal to one."""

    def __init__(
        self,
        plugins: Sequence[interface.ScorePlugin],
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
    ) -> None:
        """Ask `plugins`, of this package, about `pod`; `state` is theirs."""
        self._asked: list[tuple[slice | int, interface.Plugin | None, interface.RowWriter]] = []
        place = 0
        for shared, group in itertools.groupby(plugins, _together):
            members = list(group)
            if shared is not None:
                several = slice(place, place + len(members))
                ask = _ask_first(members[0], "Score", shared.make_score(members))
                self._asked.append((several, None, _AskedScores(ask, state, pod)))
                place = several.stop
                continue
            for plugin in members:
                make = asking.shortcut(plugin, "make_score_writer")
                if make is None:
                    ask = functools.partial(asking.ask_score, plugin)
                    self._asked.append((place, None, _AskedScores(ask, state, pod)))
                else:
                    self._asked.append((place, plugin, make(pod, snap)))
                place += 1

    def write(self, snap: snapshot.Snapshot, rows: Rows, out: npt.NDArray[Any]) -> None:
        """Write (k, N) `out[:, rows]`."""
        is_measured = plugin_watch.CURRENT.get() is not None
        for places, plugin, writer in self._asked:
            if is_measured and plugin is not None:
                asking.ask(plugin, "Score", writer.write, snap, rows, out[places])
            else:
                writer.write(snap, rows, out[places])


class _AskedScores:
    """Writes what a plugin says at Score."""

    def __init__(self, ask: ScoreFn, state: cycle_state.CycleState, pod: pod_shape.PodInfo) -> None:
        self._ask = ask
        self._state = state
        self._pod = pod

    def write(self, snap: snapshot.Snapshot, rows: Rows, out: npt.NDArray[Any]) -> None:
        out[..., rows] = self._ask(self._state, self._pod, snap.view_rows_or_all(rows))


def _ask_first(
    first: interface.Plugin, point: str, question: Callable[_ParamsT, _AnswerT]
) -> Callable[_ParamsT, _AnswerT]:
    """Return `question` to several plugins, asked as if it were one to the first of them."""

    def ask(*args: _ParamsT.args, **kwargs: _ParamsT.kwargs) -> _AnswerT:
        return asking.ask(first, point, question, *args, **kwargs)

    return ask


def _together(plugin: interface.Plugin) -> Together | None:
    found: Together | None = asking.shortcut(plugin, "together")
    return found
