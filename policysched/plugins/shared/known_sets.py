"""Track for which sets of pools a table of results is up to date."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log
from policysched.cluster.columns import columns
from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.objects import objects


class KnownSets:
    """The sets of pools whose results are known; their owner keeps the results by set number.

    A result becomes unknown when the use of a pool in its set changes. All results do when classes
    change or sets are numbered anew.
    """

    def __init__(self) -> None:
        """Start without known sets."""
        self._is_known: columns.BoolArray = np.zeros(0, np.bool_)
        self._epoch = self._class_generation = -1
        self._uses = change_log.ChangeLogCursor()

    def refresh(self, pools: node_pools.NodePools, devices: cluster_devices.ClusterDevices) -> None:
        """Drop outdated results and add the new sets of `pools`, which has been refreshed."""
        changed = self._uses.read_changes(devices.allocated.changes)
        inputs = pools.epoch, devices.classes.generation
        if changed is None or inputs != (self._epoch, self._class_generation):
            self._epoch, self._class_generation = inputs
            self._is_known = np.zeros(len(pools.sets), np.bool_)
            return
        missing = len(pools.sets) - len(self._is_known)
        if missing:
            self._is_known = np.concatenate([self._is_known, np.zeros(missing, np.bool_)])
        self.set_unknown(pools.list_sets_with(set(changed)))

    def list_unknown(
        self,
        pools: node_pools.NodePools,
        rows: npt.NDArray[np.intp],
        nodes: columns.NodeColumns,
    ) -> list[tuple[int, objects.Node]]:
        """Return the unknown sets of `rows`, intp (n,), of existing nodes; each set with a node."""
        sets = pools.set_of_row[rows]
        is_unknown = ~self._is_known[sets]
        if not is_unknown.any():
            return []
        numbers, first = np.unique(sets[is_unknown], return_index=True)
        found = zip(numbers.tolist(), rows[is_unknown][first].tolist(), strict=True)
        with_nodes = ((number, nodes.nodes[row]) for number, row in found)
        return [(number, node) for number, node in with_nodes if node is not None]

    def is_known(self, number: int) -> bool:
        """Return whether the result of a set has been computed and still holds."""
        return bool(self._is_known[number])

    def set_known(self, number: int) -> None:
        """Record that the result of a set has been computed."""
        self._is_known[number] = True

    def set_unknown(self, numbers: Iterable[int]) -> None:
        """Record that the results of some sets no longer hold."""
        self._is_known[list(numbers)] = False
