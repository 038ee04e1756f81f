"""Count devices as amounts of the extended resources that their classes provide, for scores.

Source: `noderesources/resource_allocation.go`, calculateDRAResourceTotals.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import cluster_devices, node_pools, node_selection
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import objects
from policysched.plugins.kernels import allocation
from policysched.plugins.shared import selector_cache, set_numbers


class ScoredDevices:
    """Counts devices for a plugin that scores nodes by extended resources."""

    def __init__(self) -> None:
        """Start without numbers."""
        selectors = selector_cache.SelectorCache()
        self._find_devices = functools.cache(lambda name: _ResourceDevices(name, selectors))

    def select_provided(
        self, snap: snapshot.Snapshot, resources: Iterable[str], requested: Mapping[str, int]
    ) -> ProvidedDevices | None:
        """Return the devices for those of `resources` that classes provide; None if none is.

        Only resources with an amount in `requested`, the requests of a pod, count.
        """
        find_class = snap.devices.classes.find_class_of_resource
        found = {
            name: self._find_devices(name)
            for name in resources
            if requested.get(name, 0) and find_class(name)
        }
        return ProvidedDevices(found, snap.nodes.allocatable.shape[1]) if found else None


@dataclasses.dataclass(frozen=True, slots=True)
class ProvidedDevices:
    """The devices of some resources; they have columns after the columns of the nodes.

    Attributes:
        devices: the devices by resource.
        column_count: number of columns of the nodes.
    """

    devices: Mapping[str, _ResourceDevices]
    column_count: int

    def count(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]
    ) -> allocation.ScoredAmounts:
        """Return the amounts of `rows`, in which devices count if a node has none of a resource."""
        nodes = snap.nodes
        added = np.zeros((len(nodes.allocatable), len(self.devices)), np.int64)
        allocatable = np.hstack((nodes.allocatable, added))
        requested = np.hstack((nodes.requested, added))
        for column, (name, devices) in enumerate(self.devices.items(), self.column_count):
            of_plugins = nodes.get_resource_column_index(name)
            allocatable[:, column] = nodes.allocatable[:, of_plugins]
            requested[:, column] = nodes.requested[:, of_plugins]
            without = rows[allocatable[rows, column] == 0]
            allocatable[without, column] = devices.count_all(snap, without)
            requested[without, column] = devices.count_in_use(snap, without)
        return allocation.ScoredAmounts(allocatable, requested, nodes.nonzero_requested)


def find_columns(
    snap: snapshot.Snapshot, resources: Iterable[str], provided: ProvidedDevices | None
) -> list[int]:
    """Return the column of each of some resources in the amounts that are scored."""
    if provided is None:
        return [snap.nodes.get_resource_column_index(name) for name in resources]
    own = {name: column for column, name in enumerate(provided.devices, provided.column_count)}
    return [
        own[name] if name in own else snap.nodes.get_resource_column_index(name)
        for name in resources
    ]


class _ResourceDevices:
    """Counts the devices that provide one resource.

    All published devices that the class selects count, also those of outdated slices and those with
    taints. So the score does not guarantee that a device can be allocated.
    """

    def __init__(self, resource: str, selectors: selector_cache.SelectorCache) -> None:
        """Count devices for `resource`."""
        self._resource = resource
        self._selectors = selectors
        self._all = set_numbers.SetNumbers(0.0)
        self._in_use = set_numbers.SetNumbers(0.0)

    def count_all(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number of devices on each of `rows`."""

        def compute(node: objects.Node, pools: node_pools.PoolSet) -> float:
            return float(len(self._list_devices(snap.devices, node, pools)))

        return self._all.read(snap, rows, compute)

    def count_in_use(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]
    ) -> columns.FloatArray:
        """Return float64 (n,): the number of those that claims have, as a whole or in part."""
        get_use = snap.devices.allocated.get_use

        def compute(node: objects.Node, pools: node_pools.PoolSet) -> float:
            devices = self._list_devices(snap.devices, node, pools)
            return float(sum(get_use(each.id) is not None for each in devices))

        return self._in_use.read(snap, rows, compute)

    def _list_devices(
        self,
        devices: cluster_devices.ClusterDevices,
        node: objects.Node,
        pools: node_pools.PoolSet,
    ) -> list[SliceDevice]:
        """Return the devices on a node; none if a selector fails for any of them."""
        provider = devices.classes.find_class_of_resource(self._resource)
        if provider is None:
            return []
        try:
            published = pools.list_published_devices()
            return [each for each in published if self._selectors.selects(provider, node, each)]
        except (selector_cache.SelectorError, node_selection.NodeSelectionError):
            return []
