"""The devices that a pod would get on a node, with their attributes and capacities."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from policysched.cluster import snapshot
from policysched.cluster.devices import node_pools
from policysched.cluster.devices.slice_devices import DeviceId, SliceDevice
from policysched.cluster.objects import device_names, device_objects, objects

ReadDevice: TypeAlias = Callable[[SliceDevice, str], float | None]
"""Returns the value of a device by name; None if it has none."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodDevices:
    """The devices of a pod on a node.

    Attributes:
        pools: the pools of the node.
        known: the devices of claims that are allocated.
        new: the allocations that the other claims would get.
    """

    snap: snapshot.Snapshot
    node: objects.Node
    pools: node_pools.PoolSet
    known: tuple[DeviceId, ...]
    new: Sequence[device_objects.AllocationResult]

    def find_smallest(self, name: str, read: ReadDevice) -> float:
        """Return the smallest value that `read` returns for `name`; NaN without values."""
        by_id = {each.id: each for each in self.pools.list_devices()}
        ids = (*self.known, *list_device_ids(self.new))
        values = (read(by_id[each], name) for each in ids if each in by_id)
        return min((each for each in values if each is not None), default=math.nan)


def list_device_ids(
    allocations: Iterable[device_objects.AllocationResult],
) -> tuple[DeviceId, ...]:
    """Return the devices of some allocations."""
    return tuple(
        DeviceId(each.driver, each.pool, each.device)
        for allocation in allocations
        for each in allocation.devices.results
    )


def read_attribute(device: SliceDevice, name: str) -> float | None:
    """Return an attribute that is a whole number, else None."""
    for form in device_names.list_name_forms(name, device.id.driver):
        attribute = device.device.attributes.get(form)
        if attribute is not None and attribute.int_value is not None:
            return float(attribute.int_value)
    return None


def read_capacity(device: SliceDevice, name: str) -> float | None:
    """Return a capacity, else None."""
    for form in device_names.list_name_forms(name, device.id.driver):
        capacity = device.capacity.get(form)
        if capacity is not None:
            return float(capacity.value.number)
    return None
