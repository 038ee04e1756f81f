"""Store hysteresis state: for each rule, the nodes that stay rejected until they are released.

It is stored with the samples, so that it survives changes to the policies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

_Bools = npt.NDArray[np.bool_]


class HeldNodes:
    """The names of held nodes, stored under keys that the callers choose."""

    def __init__(self) -> None:
        """Start without held nodes."""
        self._held: dict[str, set[str]] = {}
        self._generation = 0
        self._columns: dict[str, tuple[tuple[int, int], _Bools]] = {}

    def find_held_nodes(self, key: str, names: Sequence[str], nodes_generation: int) -> _Bools:
        """Return bool (N,): the nodes that are held for `key`; do not write to it.

        `nodes_generation` identifies the assignment of nodes to rows; a new value invalidates the
        cached array.
        """
        version = (self._generation, nodes_generation)
        kept = self._columns.get(key)
        if kept is None or kept[0] != version:
            held = self._held.get(key, set())
            column = np.array([name in held for name in names], np.bool_)
            kept = self._columns[key] = (version, column)
        return kept[1]

    def update_held_nodes(
        self, key: str, names: Sequence[str], holds: _Bools, lets_go: _Bools
    ) -> None:
        """Release the nodes in `lets_go`, then hold the nodes in `holds`; both masks are (N,)."""
        held = self._held.setdefault(key, set())
        held.difference_update(names[row] for row in np.flatnonzero(lets_go).tolist())
        held.update(names[row] for row in np.flatnonzero(holds).tolist())
        self._generation += 1

    def forget_node(self, name: str) -> None:
        """Release a node that was removed, because a new node can have the same name."""
        for held in self._held.values():
            held.discard(name)
        self._generation += 1

    def keep_only(self, keys: Collection[str]) -> None:
        """Drop the state of all keys except `keys`; the other rules no longer exist."""
        self._held = {key: held for key, held in self._held.items() if key in keys}
        self._columns.clear()
