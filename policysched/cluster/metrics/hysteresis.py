"""Store hysteresis state: for each rule, the nodes that stay rejected until they are released.

It is stored with the samples, so that it survives changes to the policies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

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
        self._unknown_at_start: frozenset[str] = frozenset()
        self._unknown: dict[str, set[str]] = {}

    def find_held_nodes(self, key: str, names: Sequence[str], nodes_generation: int) -> _Bools:
        """Return bool (N,): the nodes that are held for `key`; do not write to it.

        `nodes_generation` identifies the assignment of nodes to rows; a new value invalidates the
        cached array.
        """
        held: AbstractSet[str] = self._held.get(key, frozenset())
        return self._find_column(f"held/{key}", held, names, nodes_generation)

    def find_unknown_nodes(self, key: str, names: Sequence[str], nodes_generation: int) -> _Bools:
        """Return bool (N,): the nodes of which it is unknown whether they are held for `key`.

        The rest is as for `find_held_nodes`.
        """
        unknown = self._unknown.get(key, self._unknown_at_start)
        return self._find_column(f"unknown/{key}", unknown, names, nodes_generation)

    def begin_unknown(self, names: Collection[str]) -> None:
        """Forget which nodes are held; this is unknown until one of the two conditions holds.

        For the past of a cluster: `run` begins without held nodes.
        """
        self._held.clear()
        self._unknown_at_start = frozenset(names)
        self._unknown.clear()
        self._generation += 1

    def update_held_nodes(
        self, key: str, names: Sequence[str], holds: _Bools, lets_go: _Bools
    ) -> None:
        """Release the nodes in `lets_go`, then hold the nodes in `holds`; both masks are (N,)."""
        held = self._held.setdefault(key, set())
        held.difference_update(names[row] for row in np.flatnonzero(lets_go).tolist())
        held.update(names[row] for row in np.flatnonzero(holds).tolist())
        if self._unknown_at_start:
            unknown = self._unknown.setdefault(key, set(self._unknown_at_start))
            unknown.difference_update(
                names[row] for row in np.flatnonzero(holds | lets_go).tolist()
            )
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

    def _find_column(
        self, key: str, selected: AbstractSet[str], names: Sequence[str], nodes_generation: int
    ) -> _Bools:
        """Return the cached array of the selected nodes."""
        version = (self._generation, nodes_generation)
        kept = self._columns.get(key)
        if kept is None or kept[0] != version:
            column = np.array([name in selected for name in names], np.bool_)
            kept = self._columns[key] = (version, column)
        return kept[1]
