"""Add and remove pods hypothetically, in the live columns, and undo the changes afterwards.

    with what_if.WhatIf(snap) as world:
        world.remove_pods([(victim, row)])
        …call plugins…
    # everything is as before

Both the changes and their reversal are recorded in the change logs. Caches are therefore updated
afterwards and never keep results of a hypothetical state.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Self

from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape


class WhatIf:
    """Hypothetical changes to the pods of rows, undone at the end of a `with` block."""

    def __init__(self, snap: snapshot.Snapshot) -> None:
        """Start without changes."""
        self._placed = snap.placed
        self._ports = snap.nodes.ports
        self._before: dict[int, list[pod_shape.PodInfo]] = {}
        self._shapes: set[pod_shape.PodShape] = set()
        self._free_ports = {key: set(rows) for key, rows in self._ports.supposed_free.items()}

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        """Undo all changes."""
        del kind, error, traceback
        self.undo()

    def remove_pods(self, pods: Sequence[tuple[pod_shape.PodInfo, int]]) -> None:
        """Remove (pod, row) pairs until `undo`."""
        self._suppose_pods(pods, -1)

    def add_pods(self, pods: Sequence[tuple[pod_shape.PodInfo, int]]) -> None:
        """Add (pod, row) pairs until `undo`."""
        self._suppose_pods(pods, 1)

    def undo(self) -> None:
        """Restore the previous state, including the order of the pods on each row."""
        missing, strange = [], []
        for row, infos in self._before.items():
            now = {id(info): info for info in self._placed.get_pods(row)}  # faster than by uid
            missing += [(info, row) for info in infos if now.pop(id(info), None) is None]
            strange += [(info, row) for info in now.values()]
        self._placed.suppose_placed_pods(strange, -1)
        self._placed.suppose_placed_pods(missing, 1)
        self._ports.supposed_free = self._free_ports
        for row, infos in self._before.items():
            self._placed.reorder(row, infos)
        for shape in self._shapes:
            self._placed.counts.forget_unplaced_shape(shape)
        self._before.clear()
        self._shapes.clear()

    def _suppose_pods(self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int) -> None:
        for info, row in pods:
            if row not in self._before:
                self._before[row] = list(self._placed.get_pods(row))
            self._shapes.add(info.shape)
        self._placed.suppose_placed_pods(pods, change)
