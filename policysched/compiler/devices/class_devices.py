"""Count the devices of a class on a node: all, the free ones, and those that a pod would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.cluster.devices import (
    allocated_devices,
    cluster_devices,
    node_pools,
    node_selection,
)
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    device_taints,
    devices_in_use,
    requested_capacity,
)
from policysched.plugins.shared import selector_cache


class ClassDevices:
    """Counts the devices of one class; a class that does not exist has none.

    A device is free if a request for one device of the class, without other conditions and without
    tolerations, could get it.
    """

    def __init__(
        self,
        class_name: str,
        devices: cluster_devices.ClusterDevices,
        selectors: selector_cache.SelectorCache,
    ) -> None:
        """Count devices of the class `class_name` among `devices`."""
        self._class = devices.classes.get(class_name)
        self._allocated = devices.allocated
        self._selectors = selectors

    def count(self, node: objects.Node, pools: node_pools.PoolSet) -> float:
        """Return the number of devices that the node can use, in use or not."""
        return float(sum(self._is_selected(node, each) for each in pools.list_devices()))

    def count_free(self, node: objects.Node, pools: node_pools.PoolSet) -> float:
        """Return the number of devices that are free."""
        return float(len(list(self._iterate_free(node, pools, self._allocated))))

    def count_taken(
        self,
        node: objects.Node,
        pools: node_pools.PoolSet,
        allocations: Sequence[device_objects.AllocationResult],
    ) -> float:
        """Return the number of devices that are free, but not beside `allocations`."""
        before = self._iterate_free(node, pools, self._allocated)
        supposed = allocated_devices.SupposedDevices(self._allocated, allocations)
        return float(len(set(before).difference(self._iterate_free(node, pools, supposed))))

    def _iterate_free(
        self,
        node: objects.Node,
        pools: node_pools.PoolSet,
        allocated: allocated_devices.DeviceUses,
    ) -> Iterator[SliceDevice]:
        in_use = devices_in_use.DevicesInUse(allocated, pools.pools)
        for device in pools.list_devices():
            if (
                not in_use.is_in_use(device.id)
                and self._is_selected(node, device)
                and _has_capacity(in_use, device)
                and in_use.has_counters(device)
                and device_taints.tolerates_taints(device.device.taints, ())
            ):
                yield device

    def _is_selected(self, node: objects.Node, device: SliceDevice) -> bool:
        """Return whether the class selects a device; it does not if a selector fails."""
        if self._class is None:
            return False
        try:
            return self._selectors.selects(self._class, node, device)
        except (selector_cache.SelectorError, node_selection.NodeSelectionError):
            return False


def _has_capacity(in_use: devices_in_use.DevicesInUse, device: SliceDevice) -> bool:
    """Return whether a request without amounts gets enough of each capacity of a device."""
    needs = requested_capacity.compute_amounts({}, device.capacity)
    return needs is not None and in_use.has_capacity(device, needs)
