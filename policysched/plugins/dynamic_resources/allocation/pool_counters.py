"""Track how much is left of the counters that the devices of a pool share."""

from __future__ import annotations

from policysched.cluster.devices import allocated_devices, amounts, pools
from policysched.cluster.devices.slice_devices import CounterId, SliceDevice


class PoolCounters:
    """The counters of one pool, without what allocated and chosen devices consume."""

    def __init__(self, pool: pools.NodePool, allocated: allocated_devices.DeviceUses) -> None:
        """Subtract what all allocated devices of the pool consume, also those for other nodes."""
        self._totals = pool.counters
        self._left: dict[CounterId, amounts.Number] = dict(pool.counters)
        for device in (*pool.devices, *pool.devices_elsewhere):
            if device.counters and allocated.get_use(device.id) is not None:
                self.take(device)
        self._is_overdrawn = any(left < 0 for left in self._left.values())

    def suffice_for(self, device: SliceDevice) -> bool:
        """Return whether enough is left; it never is if allocated devices overdraw any counter."""
        return not self._is_overdrawn and all(
            amount <= self._left[counter] for counter, amount in device.counters.items()
        )

    def find_short_counter(self, device: SliceDevice) -> tuple[CounterId, amounts.Number] | None:
        """Return a counter of which too little is left for a device, and what is left, or None."""
        for counter, left in self._left.items():
            if left < max(0, device.counters.get(counter, 0)):
                return counter, left
        return None

    def find_begun_sets(self) -> set[str]:
        """Return the counter sets of which anything has been consumed."""
        return {
            counter.counter_set
            for counter, left in self._left.items()
            if left != self._totals[counter]
        }

    def exclude(self, device: SliceDevice, other: SliceDevice) -> bool:
        """Return whether a device would leave too little for another device that fits now."""
        return any(
            self._left[counter] - amount < other.counters.get(counter, 0)
            for counter, amount in device.counters.items()
        )

    def take(self, device: SliceDevice) -> None:
        """Subtract what a device consumes."""
        for counter, amount in device.counters.items():
            self._left[counter] -= amount

    def give_back(self, device: SliceDevice) -> None:
        """Add what a device consumed."""
        for counter, amount in device.counters.items():
            self._left[counter] += amount
