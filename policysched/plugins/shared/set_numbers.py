"""Cache a number about the devices of each node, computed once for all nodes with equal pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import node_pools
from policysched.cluster.objects import objects
from policysched.plugins.shared import known_sets

ComputeNumber: TypeAlias = Callable[[objects.Node, node_pools.PoolSet], float | None]
"""Computes the number of a set of pools, for any node that has it; None if there is none now."""


class SetNumbers:
    """A number for each set of pools, computed when it is read for a node with the set."""

    def __init__(self, default: float) -> None:
        """Start without numbers; `default` stands for a number that does not exist."""
        self._default = default
        self._known = known_sets.KnownSets()
        self._numbers: columns.FloatArray = np.zeros(0)

    def read(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], compute: ComputeNumber
    ) -> columns.FloatArray:
        """Return float64 (n,): the number of each of `rows`, intp (n,)."""
        pools = snap.devices.node_pools
        pools.refresh(snap.nodes)
        self._known.refresh(pools, snap.devices)
        if len(self._numbers) != len(pools.sets):
            self._numbers = np.resize(self._numbers, len(pools.sets))
        numbers: columns.FloatArray = np.full(len(rows), self._default)
        is_alive = snap.is_alive[rows]
        living = rows[is_alive]
        for number, node in self._known.list_unknown(pools, living, snap.nodes):
            computed = compute(node, pools.sets[number])
            self._numbers[number] = self._default if computed is None else computed
            if computed is not None:
                self._known.set_known(number)
        numbers[is_alive] = self._numbers[pools.set_of_row[living]]
        return numbers
