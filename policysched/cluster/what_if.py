"""What would be if pods came to nodes or left them: done on the live columns, and undone.

    with what_if.WhatIf(snap) as world:
        world.take_off(victim, row)
        …ask plugins…
    # everything is as before

Every change is noted in the change logs, the undoing too: what somebody keeps of a row is asked for
again afterwards and is never a remainder of something that was only supposed.
"""

from __future__ import annotations

import types
from typing import Self

from policysched.cluster import pod_shape, snapshot


class WhatIf:
    """Changes to the pods of some rows that end with a `with` block."""

    def __init__(self, snap: snapshot.Snapshot) -> None:
        """Suppose nothing yet."""
        self._placed = snap.placed
        self._supposed: dict[tuple[int, str], tuple[pod_shape.PodInfo, int, int]] = {}
        self._shapes: set[pod_shape.PodShape] = set()
        self._before: dict[int, list[pod_shape.PodInfo]] = {}

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        """Undo everything."""
        del kind, error, traceback
        self.undo()

    def take_off(self, info: pod_shape.PodInfo, row: int) -> None:
        """Suppose that a pod has left its row."""
        self._suppose(info, row, -1)

    def put_on(self, info: pod_shape.PodInfo, row: int) -> None:
        """Suppose that a pod is on a row."""
        self._suppose(info, row, 1)

    def undo(self) -> None:
        """Make everything as it was, the order of the pods on each row included."""
        for info, row, change in self._supposed.values():
            self._placed.suppose(info, row, -change)
        for row, infos in self._before.items():
            self._placed.reorder(row, infos)
        for shape in self._shapes:
            self._placed.counts.settle(shape)
        self._supposed.clear()
        self._before.clear()
        self._shapes.clear()

    def _suppose(self, info: pod_shape.PodInfo, row: int, change: int) -> None:
        if row not in self._before:
            self._before[row] = list(self._placed.on(row))
        self._placed.suppose(info, row, change)
        self._shapes.add(info.shape)
        key = row, info.uid
        if self._supposed.pop(key, None) is None:
            self._supposed[key] = info, row, change
