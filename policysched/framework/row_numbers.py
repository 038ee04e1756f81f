"""Numbers of plugins that compare nodes by what is on the node's own row, asked together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import pod_shape, snapshot
from policysched.framework import (
    asking,
    cycle_state,
    interface,
    kept_points,
    shape_answers,
    together,
)


class RowSlots:
    """The slots of plugins that read single rows, one object for all of them."""

    def __init__(self) -> None:
        """Start without rows."""
        self._slots: npt.NDArray[np.intp] = np.zeros(0, np.intp)

    def of(self, size: int) -> npt.NDArray[np.intp]:
        """Return intp (N,): each row is a slot."""
        if len(self._slots) != size:
            self._slots = np.arange(size)
        return self._slots


class RowNumbers:
    """Raw scores of plugins that read the same, of every row."""

    def __init__(
        self,
        version: shape_answers.Version,
        plugins: Sequence[interface.ScorePlugin],
        slots: RowSlots,
    ) -> None:
        """Keep what `plugins` say of rows; `version` tells when to ask them again."""
        self._version = version
        self._plugins = plugins
        self._slots = slots
        self._asked = together.score_rows(plugins)
        self._numbers: list[interface.RawScores] = []

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> kept_points.Refreshed:
        """Bring the numbers up to date."""
        slots = self._slots.of(snap.size)
        rows = self._version.changed_rows(snap)
        if rows is None:
            self._numbers = self._ask(state, pod, snap.all_rows())
            return self._numbers, slots, None
        if len(rows) == 0:
            return self._numbers, slots, []
        self._numbers = [shape_answers.lengthened(each, snap.size) for each in self._numbers]
        changed: list[int] = rows.tolist()
        if len(changed) <= shape_answers.FEW_ROWS:
            for row in changed:
                self._ask_one(state, pod, snap.at_row(row))
        else:
            new = self._ask(state, pod, snap.at_rows(rows))
            for numbers, some in zip(self._numbers, new, strict=True):
                numbers[rows] = some
        return self._numbers, slots, changed

    def _ask(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> list[interface.RawScores]:
        return [asking.ask_score(plugin, state, pod, nodes) for plugin in self._plugins]

    def _ask_one(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> None:
        found = [number for ask in self._asked for number in ask(state, pod, node)]
        for numbers, number in zip(self._numbers, found, strict=True):
            numbers[node.row] = number
