"""How large a volume of a class can be on each node, by what CSI drivers have told.

Source: `plugins/volumebinding/binder.go`, hasEnoughCapacity, capacitySufficient, nodeHasAccess.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from policysched import quantity
from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import selectors, storage_objects
from policysched.cluster.pods import node_terms
from policysched.plugins.kernels import node_rows

Capacity: TypeAlias = storage_objects.CSIStorageCapacity

_UNKNOWN = -1


class ClassCapacity:
    """The CSIStorageCapacities of one class."""

    def __init__(self) -> None:
        """Start with no capacity anywhere."""
        self._rows_of: dict[tuple[str, str], tuple[Capacity, node_rows.Rows]] = {}
        self._capacities: tuple[Capacity, ...] = ()
        self._version = -1
        self._largest: columns.IntArray = np.zeros(0, np.int64)

    def largest(
        self,
        capacities: tuple[Capacity, ...],
        rows: node_rows.NodeRows,
        snap: snapshot.Snapshot,
    ) -> columns.IntArray:
        """Return int64 (N,): the size in bytes of the largest volume on each row, -1 for none.

        Args:
            capacities: all there are for the class.
            rows: finds the rows of selectors; refreshed.
            snap: the nodes.
        """
        if rows.version != self._version:
            self._rows_of.clear()
        elif capacities == self._capacities:
            return self._largest
        self._version, self._capacities = rows.version, capacities
        self._rows_of = {_key(c): self._with_rows(c, rows, snap) for c in capacities}
        self._largest = self._compute(snap.size)
        return self._largest

    def _with_rows(
        self, capacity: Capacity, rows: node_rows.NodeRows, snap: snapshot.Snapshot
    ) -> tuple[Capacity, node_rows.Rows]:
        known = self._rows_of.get(_key(capacity))
        if known is not None and known[0].node_topology == capacity.node_topology:
            return capacity, known[1]
        return capacity, rows.rows(_accessible_from(capacity), snap)

    def _compute(self, size: int) -> columns.IntArray:
        both = self._rows_of.values()
        edges = node_rows.Edges.of([rows for _, rows in both])
        limits = np.array([limit(capacity) for capacity, _ in both], np.int64)
        largest = np.full(size, _UNKNOWN, np.int64)
        np.maximum.at(largest, edges.rows, np.repeat(limits, np.diff(edges.starts)))
        return largest


def limit(capacity: Capacity) -> int:
    """Return the size in bytes of the largest volume that a capacity allows, -1 where it is unsaid.

    maximumVolumeSize is more precise than capacity (`binder.go`, volumeLimit).
    """
    told = capacity.maximum_volume_size
    if told is None:
        told = capacity.capacity
    return _UNKNOWN if told is None else quantity.parse_whole_units(told)


def _accessible_from(capacity: Capacity) -> node_rows.Terms:
    """Return the terms of the nodes that a capacity is for; without a topology there are none."""
    if capacity.node_topology is None:
        return ()
    return (node_terms.NodeTerm(selectors.from_label_selector(capacity.node_topology)),)


def _key(capacity: Capacity) -> tuple[str, str]:
    return capacity.metadata.namespace, capacity.metadata.name
