"""Read attributes and capacities of the devices that a pod gets on a node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from policysched.cluster.devices import node_pools
from policysched.cluster.devices.slice_devices import DeviceId, SliceDevice
from policysched.cluster.objects import device_objects

KnownDevices: TypeAlias = tuple[DeviceId, ...]
"""The devices of claims that are allocated."""
_Allocations: TypeAlias = Sequence[device_objects.AllocationResult]
ReadDevices: TypeAlias = Callable[[node_pools.PoolSet, KnownDevices, _Allocations], float]
"""Returns the smallest value of known devices and of allocations; NaN if none has a value."""


def list_known_devices(claims: Sequence[device_objects.ResourceClaim]) -> KnownDevices:
    """Return the devices of those claims that are allocated."""
    return tuple(_iterate_ids(each.allocation for each in claims if each.allocation is not None))


ReadDevice: TypeAlias = Callable[[SliceDevice, str], float | None]
"""Returns the value of a device by name; None if it has none."""


def make_reader(name: str, read: ReadDevice) -> ReadDevices:
    """Return the function that reads the smallest of the values that `read` returns for `name`."""

    def read_devices(
        pools: node_pools.PoolSet, known: KnownDevices, allocations: _Allocations
    ) -> float:
        by_id = {each.id: each for each in pools.list_devices()}
        ids = (*known, *_iterate_ids(allocations))
        values = (read(by_id[each], name) for each in ids if each in by_id)
        return min((each for each in values if each is not None), default=math.nan)

    return read_devices


def _iterate_ids(allocations: Iterable[device_objects.AllocationResult]) -> Iterator[DeviceId]:
    for allocation in allocations:
        for each in allocation.devices.results:
            yield DeviceId(each.driver, each.pool, each.device)


def read_attribute(device: SliceDevice, key: str) -> float | None:
    """Return an attribute that is a whole number, else None."""
    for name in _list_names(device, key):
        attribute = device.device.attributes.get(name)
        if attribute is not None and attribute.int_value is not None:
            return float(attribute.int_value)
    return None


def read_capacity(device: SliceDevice, key: str) -> float | None:
    """Return a capacity, else None."""
    for name in _list_names(device, key):
        capacity = device.capacity.get(name)
        if capacity is not None:
            return float(capacity.value.number)
    return None


def _list_names(device: SliceDevice, key: str) -> tuple[str, ...]:
    """Return how a slice may write a key: in the domain of the driver, also without a domain."""
    driver = device.id.driver
    domain, slash, identifier = key.rpartition("/")
    if not slash:
        return key, f"{driver}/{key}"
    return (key, identifier) if domain == driver else (key,)
