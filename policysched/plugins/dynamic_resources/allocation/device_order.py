"""Order the devices of a node for a search: as published, or packed.

kube-scheduler has only the published order.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from policysched.cel import meter
from policysched.cluster.devices import pools
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.plugins.dynamic_resources.allocation import devices_in_use


class DeviceOrder(enum.Enum):
    """The order in which a search tries the devices of a node; the first solution wins."""

    PUBLISHED = "Published"
    """The order of pools, slices and devices."""
    PACKED = "Packed"
    """First devices that begin nothing new; among them, those that exclude the fewest others.

    A device begins something new if one of its counter sets is unused, or if it would get its first
    share. It excludes the devices for which it leaves too little of the shared counters.
    """


_Rank: TypeAlias = tuple[bool, bool, int]


def list_candidates(
    node_pools: Sequence[pools.NodePool],
    in_use: devices_in_use.DevicesInUse,
    order: DeviceOrder,
    check_time: meter.CheckTime,
) -> list[SliceDevice]:
    """Return all devices of pools in the order in which they are tried.

    Devices of equal rank stay in the published order, and pools with binding conditions come last.
    `check_time` raises an error if the time is over.
    """
    if order is DeviceOrder.PUBLISHED:
        return [device for pool in node_pools for device in pool.devices]
    ranked = [each for pool in node_pools for each in _rank_devices(pool, in_use, check_time)]
    ranked.sort(key=lambda each: each[0])
    return [device for _, device in ranked]


def _rank_devices(
    pool: pools.NodePool, in_use: devices_in_use.DevicesInUse, check_time: meter.CheckTime
) -> Iterator[tuple[_Rank, SliceDevice]]:
    """Yield all devices of a pool with their ranks; those that do not fit exclude none."""
    fitting = {
        each for each in pool.devices if not in_use.is_in_use(each.id) and in_use.has_counters(each)
    }
    by_counter_set = collections.defaultdict[str, set[SliceDevice]](set)
    for device in fitting:
        for counter in device.counters:
            by_counter_set[counter.counter_set].add(device)
    begun = in_use.find_begun_sets(pool)
    for device in pool.devices:
        check_time()
        counter_sets = {each.counter_set for each in device.counters}
        begins_new = not counter_sets <= begun
        if device.device.allow_multiple_allocations:
            begins_new = not in_use.is_shared(device.id)
        excluded = 0
        if device in fitting:
            others = set[SliceDevice]().union(*map(by_counter_set.__getitem__, counter_sets))
            excluded = in_use.count_excluded(device, others)
        yield (pool.has_binding_conditions, begins_new, excluded), device
