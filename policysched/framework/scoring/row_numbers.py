"""Numbers of plugins that compare nodes by what is on the node's own row, asked together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import asking, cycle_state, interface
from policysched.framework.answers import shape_answers, together
from policysched.framework.scoring import compared_scores


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
    """Raw scores of plugins that read the same, of every row (`compared_scores.Numbers`)."""

    def __init__(
        self,
        version: shape_answers.Version,
        plugins: Sequence[interface.ScorePlugin],
        slots: RowSlots,
    ) -> None:
        """Tell what `plugins` say of rows; `version` tells when to ask them again."""
        self._version = version
        self._plugins = plugins
        self._slots = slots
        self._told_of = slots.of(0)
        self._asked = together.score_rows(plugins)

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> compared_scores.Everything | compared_scores.Changes:
        """Return what has changed."""
        slots = self._slots.of(snap.size)
        rows = self._version.changed(snap)
        if rows is None or slots is not self._told_of:
            numbers = self._ask(state, pod, snap.view_all_rows())
            self._told_of = slots
            return compared_scores.Everything(numbers, slots)
        if len(rows) <= shape_answers.FEW_ROWS:
            return [(row, self._ask_one(state, pod, snap.view_row(row))) for row in rows]
        new = np.array(self._ask(state, pod, snap.view_rows(np.array(rows, np.intp))))
        return list(zip(rows, new.T.tolist(), strict=True))

    def _ask(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> list[interface.RawScores]:
        return [asking.ask_score(plugin, state, pod, nodes) for plugin in self._plugins]

    def _ask_one(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> list[float]:
        return [number for ask in self._asked for number in ask(state, pod, node)]
