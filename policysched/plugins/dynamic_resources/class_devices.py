"""Count the devices of a class on a node: all, the free ones, and those that a pod would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policysched.cluster.devices import allocated_devices, cluster_devices, node_pools
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources import (
    device_requests,
    device_taints,
    devices_in_use,
)
from policysched.plugins.dynamic_resources.allocation_errors import AllocationError
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
        self._devices = devices
        self._selectors = selectors
        ask = device_objects.ExactDeviceRequest(device_class_name=class_name)
        self._ask = ask
        self._request = device_objects.DeviceRequest(name="device", exactly=ask)

    def count(self, node: objects.Node, pools: node_pools.PoolSet) -> float:
        """Return the number of devices that the node can use, in use or not."""
        in_use = devices_in_use.DevicesInUse(self._devices.allocated, pools.pools)
        alternative = self._make_alternative(node, pools, in_use)
        if alternative is None:
            return 0.0
        return float(sum(_is_selected(alternative, each) for each in pools.list_devices()))

    def count_free(self, node: objects.Node, pools: node_pools.PoolSet) -> float:
        """Return the number of devices that are free."""
        return float(len(list(self._iterate_free(node, pools, self._devices.allocated))))

    def count_taken(
        self,
        node: objects.Node,
        pools: node_pools.PoolSet,
        allocations: Sequence[device_objects.AllocationResult],
    ) -> float:
        """Return the number of devices that are free, but not beside `allocations`."""
        allocated = self._devices.allocated
        before = self._iterate_free(node, pools, allocated)
        supposed = allocated_devices.SupposedDevices(allocated, allocations)
        return float(len(set(before).difference(self._iterate_free(node, pools, supposed))))

    def _iterate_free(
        self,
        node: objects.Node,
        pools: node_pools.PoolSet,
        allocated: allocated_devices.DeviceUses,
    ) -> Iterator[SliceDevice]:
        in_use = devices_in_use.DevicesInUse(allocated, pools.pools)
        alternative = self._make_alternative(node, pools, in_use)
        if alternative is None:
            return
        for device in pools.list_devices():
            if (
                not in_use.is_in_use(device.id)
                and _is_selected(alternative, device)
                and alternative.has_capacity(device)
                and in_use.has_counters(device)
                and device_taints.tolerates_taints(device.device.taints, ())
            ):
                yield device

    def _make_alternative(
        self,
        node: objects.Node,
        pools: node_pools.PoolSet,
        in_use: devices_in_use.DevicesInUse,
    ) -> device_requests.Alternative | None:
        situation = device_requests.Situation(
            node, pools.pools, self._devices.classes, self._selectors, in_use
        )
        try:
            return device_requests.Alternative(_NO_CLAIM, self._request, self._ask, situation)
        except AllocationError:
            return None


_NO_CLAIM = device_objects.ResourceClaim(objects.ObjectMeta())


def _is_selected(alternative: device_requests.Alternative, device: SliceDevice) -> bool:
    """Return whether the class selects a device; it does not if a selector fails."""
    try:
        return alternative.selects(device)
    except AllocationError:
        return False
