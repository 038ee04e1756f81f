"""Track which devices, counters and capacities are left while a search chooses devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from policysched.cluster.devices import allocated_devices, amounts, pools
from policysched.cluster.devices.slice_devices import DeviceId, PoolId, SliceDevice
from policysched.plugins.dynamic_resources.allocation.pool_counters import PoolCounters


@dataclasses.dataclass(slots=True)
class _NewShares:
    """The shares of a device that the search has chosen."""

    count: int = 0
    consumed: dict[str, amounts.Number] = dataclasses.field(default_factory=dict)

    def change(self, consumed: Mapping[str, amounts.Amount], sign: int) -> None:
        self.count += sign
        for name, amount in consumed.items():
            self.consumed[name] = self.consumed.get(name, 0) + sign * amount.number


class DevicesInUse:
    """The devices of allocated claims, and those that the search has chosen so far.

    A device for multiple allocations is never in use as a whole: each allocation is a share, which
    consumes capacity. Its counters are consumed once, with its first share.
    """

    def __init__(
        self,
        allocated: allocated_devices.DeviceUses,
        node_pools: Iterable[pools.NodePool],
    ) -> None:
        """Start with the devices of allocated claims."""
        self._allocated = allocated
        self._pools = {pool.id: pool for pool in node_pools}
        self._counters: dict[PoolId, PoolCounters] = {}
        self._choosers: dict[DeviceId, list[int]] = {}
        self._new_shares: dict[DeviceId, _NewShares] = {}

    @property
    def owned(self) -> AbstractSet[DeviceId]:
        """The devices that an allocated claim does not share."""
        return self._allocated.owned

    def is_in_use(self, device: DeviceId) -> bool:
        """Return whether a claim has the device and does not share it."""
        use = self._allocated.get_use(device)
        return bool((use is not None and use.owners) or self._choosers.get(device))

    def is_chosen_for(self, device: DeviceId, claim_index: int) -> bool:
        """Return whether the search has chosen the device for a claim."""
        return claim_index in self._choosers.get(device, ())

    def has_counters(self, device: SliceDevice) -> bool:
        """Return whether enough of the counters is left that the device consumes."""
        return not self._needs_counters(device) or self._get_counters(device).suffice_for(device)

    def has_capacity(self, device: SliceDevice, needed: Mapping[str, amounts.Amount]) -> bool:
        """Return whether enough is left of each capacity of the device."""
        use = self._allocated.get_use(device.id)
        new = self._new_shares.get(device.id)
        for name, amount in needed.items():
            number = amount.number
            if use is not None:
                number += use.consumed.get(name, 0)
            if new is not None:
                number += new.consumed.get(name, 0)
            if number > device.capacity[name].value.number:
                return False
        return True

    def is_shared(self, device: DeviceId) -> bool:
        """Return whether allocated claims have shares of the device."""
        use = self._allocated.get_use(device)
        return use is not None and use.shares > 0

    def find_begun_sets(self, pool: pools.NodePool) -> set[str]:
        """Return the counter sets of a pool of which anything has been consumed."""
        return self._get_pool_counters(pool.id).find_begun_sets()

    def count_excluded(self, device: SliceDevice, others: Iterable[SliceDevice]) -> int:
        """Return how many of `others`, which fit now, would not fit after the device is taken.

        The device itself is not counted.
        """
        if not self._needs_counters(device):
            return 0
        counters = self._get_counters(device)
        return sum(
            each is not device and self._needs_counters(each) and counters.exclude(device, each)
            for each in others
        )

    def take(
        self, device: SliceDevice, claim_index: int, needed: Mapping[str, amounts.Amount]
    ) -> bool:
        """Choose a device for a claim; return whether it now consumes counters."""
        consumes_counters = self._needs_counters(device)
        if consumes_counters:
            self._get_counters(device).take(device)
        if device.device.allow_multiple_allocations:
            self._new_shares.setdefault(device.id, _NewShares()).change(needed, 1)
        else:
            self._choosers.setdefault(device.id, []).append(claim_index)
        return consumes_counters

    def give_back(
        self,
        device: SliceDevice,
        needed: Mapping[str, amounts.Amount],
        *,
        consumes_counters: bool,
    ) -> None:
        """Undo the choice of a device, which was the last one."""
        if device.device.allow_multiple_allocations:
            shares = self._new_shares[device.id]
            shares.change(needed, -1)
            if not shares.count:
                del self._new_shares[device.id]
        else:
            self._choosers[device.id].pop()
        if consumes_counters:
            self._get_counters(device).give_back(device)

    def _needs_counters(self, device: SliceDevice) -> bool:
        """Return whether another use of the device consumes counters."""
        if not device.device.consumes_counters:
            return False
        return not (device.device.allow_multiple_allocations and self._has_shares(device.id))

    def _has_shares(self, device: DeviceId) -> bool:
        use = self._allocated.get_use(device)
        return device in self._new_shares or (use is not None and use.measured_shares > 0)

    def _get_counters(self, device: SliceDevice) -> PoolCounters:
        return self._get_pool_counters(PoolId(device.id.driver, device.id.pool))

    def _get_pool_counters(self, pool: PoolId) -> PoolCounters:
        counters = self._counters.get(pool)
        if counters is None:
            counters = self._counters[pool] = PoolCounters(self._pools[pool], self._allocated)
        return counters
