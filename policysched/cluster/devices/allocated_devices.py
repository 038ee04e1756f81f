"""Count the uses of each device by allocated claims.

Source: `plugins/dynamicresources/allocateddevices.go`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Protocol

from policysched.cluster import change_log
from policysched.cluster.devices import amounts
from policysched.cluster.devices.slice_devices import DeviceId, PoolId
from policysched.cluster.objects import device_objects


@dataclasses.dataclass(slots=True)
class DeviceUse:
    """The use of one device by claims.

    Attributes:
        owners: number of claims that have the device and do not share it; two are a conflict.
        shares: number of shares.
        measured_shares: number of shares that consume capacity.
        consumed: the sum of what the shares consume of each capacity.
    """

    owners: int = 0
    shares: int = 0
    measured_shares: int = 0
    consumed: dict[str, amounts.Number] = dataclasses.field(default_factory=dict)

    def add(self, other: DeviceUse) -> DeviceUse:
        """Return the sum of two uses."""
        names = {*self.consumed, *other.consumed}
        return DeviceUse(
            self.owners + other.owners,
            self.shares + other.shares,
            self.measured_shares + other.measured_shares,
            {name: self.consumed.get(name, 0) + other.consumed.get(name, 0) for name in names},
        )


class DeviceUses(Protocol):
    """The uses of devices by claims."""

    @property
    def owned(self) -> AbstractSet[DeviceId]:
        """The devices that a claim has and does not share."""
        ...

    def get_use(self, device: DeviceId) -> DeviceUse | None:
        """Return the use of a device; None if it is free."""
        ...


class AllocatedDevices:
    """The devices of all allocated claims.

    An allocation in flight counts like a written one. A claim counts once, even if both are known.
    Devices with admin access are free for others.

    Attributes:
        owned: the devices that a claim has and does not share.
        changes: log of the pools of which the use of a device changed.
    """

    def __init__(self) -> None:
        """Start without allocations."""
        self.changes = change_log.ChangeLog[PoolId]()
        self._claims: dict[str, device_objects.DeviceAllocationResult] = {}
        self._uses: dict[DeviceId, DeviceUse] = {}
        self.owned: set[DeviceId] = set()

    def get_use(self, device: DeviceId) -> DeviceUse | None:
        """Return the use of a device; None if it is free."""
        return self._uses.get(device)

    def set(self, claim_uid: str, allocation: device_objects.AllocationResult | None) -> None:
        """Record the allocation of a claim, in place of its previous one; None if it has none.

        Raises:
            quantity.QuantityError: a consumed capacity is not a quantity.
        """
        devices = None if allocation is None else allocation.devices
        if devices == self._claims.get(claim_uid):
            return
        previous = self._claims.pop(claim_uid, None)
        if previous is not None:
            self._count(previous, -1)
        if devices is not None:
            self._claims[claim_uid] = devices
            self._count(devices, 1)

    def _count(self, devices: device_objects.DeviceAllocationResult, change: int) -> None:
        for result in devices.results:
            if not result.admin_access:
                self._count_result(result, change)
                self.changes.note_changed_item(PoolId(result.driver, result.pool))

    def _count_result(
        self, result: device_objects.DeviceRequestAllocationResult, change: int
    ) -> None:
        device = DeviceId(result.driver, result.pool, result.device)
        use = self._uses.setdefault(device, DeviceUse())
        if result.share_id is None:
            use.owners += change
            if use.owners:
                self.owned.add(device)
            else:
                self.owned.discard(device)
        else:
            use.shares += change
            if result.consumed_capacity:
                _count_share(use, result, change)
        if not use.owners and not use.shares:
            del self._uses[device]


def _count_share(
    use: DeviceUse, result: device_objects.DeviceRequestAllocationResult, change: int
) -> None:
    use.measured_shares += change
    for name, source in result.consumed_capacity.items():
        added = change * amounts.make_amount(source).number
        use.consumed[name] = use.consumed.get(name, 0) + added


class SupposedDevices:
    """The devices of all allocated claims, and of further allocations as if they were written."""

    def __init__(
        self, known: AllocatedDevices, allocations: Iterable[device_objects.AllocationResult]
    ) -> None:
        """Add `allocations` to `known`, which stays as it is."""
        self._known = known
        self._supposed = AllocatedDevices()
        for number, allocation in enumerate(allocations):
            self._supposed.set(str(number), allocation)

    @property
    def owned(self) -> AbstractSet[DeviceId]:
        """The devices that a claim has and does not share."""
        return self._known.owned | self._supposed.owned

    def get_use(self, device: DeviceId) -> DeviceUse | None:
        """Return the use of a device; None if it is free."""
        known, supposed = self._known.get_use(device), self._supposed.get_use(device)
        if known is None or supposed is None:
            return known or supposed
        return known.add(supposed)
