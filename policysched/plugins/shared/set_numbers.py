"""Keep a number about the devices of each node, calculated once for all nodes with equal pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import node_pools
from policysched.cluster.objects import objects
from policysched.plugins.shared import outdated_sets

ComputeNumber: TypeAlias = Callable[[objects.Node, node_pools.PoolSet], float | None]
"""Calculates the number for a set of pools; None if there is none now. Any node has the set."""


class SetNumbers:
    """A number for each set of pools; it is calculated when a node with the set is asked about."""

    def __init__(self, default: float) -> None:
        """Start without numbers; where there is none, the number is `default`."""
        self._default = default
        self._outdated = outdated_sets.OutdatedSets()
        self._numbers: columns.FloatArray = np.zeros(0)
        self._is_known: columns.BoolArray = np.zeros(0, np.bool_)

    def read(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], compute: ComputeNumber
    ) -> columns.FloatArray:
        """Return float64 (n,): the number of each of `rows`, intp (n,)."""
        pools = snap.devices.node_pools
        pools.refresh(snap.nodes)
        self._drop_outdated(snap)
        numbers: columns.FloatArray = np.full(len(rows), self._default)
        is_alive = snap.is_alive[rows]
        living = rows[is_alive]
        sets = pools.set_of_row[living]
        unknown = ~self._is_known[sets]
        if unknown.any():
            found, first = np.unique(sets[unknown], return_index=True)
            for number, row in zip(found.tolist(), living[unknown][first].tolist(), strict=True):
                node = snap.nodes.nodes[row]
                computed = None if node is None else compute(node, pools.sets[number])
                self._numbers[number] = self._default if computed is None else computed
                self._is_known[number] = computed is not None
        numbers[is_alive] = self._numbers[sets]
        return numbers

    def _drop_outdated(self, snap: snapshot.Snapshot) -> None:
        pools = snap.devices.node_pools
        outdated = self._outdated.find(pools, snap.devices)
        if outdated is None:
            self._is_known = np.zeros(0, np.bool_)
        missing = len(pools.sets) - len(self._is_known)
        if missing:
            self._is_known = np.concatenate([self._is_known, np.zeros(missing, np.bool_)])
            self._numbers = np.resize(self._numbers, len(pools.sets))
        if outdated:
            self._is_known[list(outdated)] = False
