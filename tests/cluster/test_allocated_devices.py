"""Uses of devices by allocated claims."""

from __future__ import annotations

from typing import Any

from policysched.cluster.devices import allocated_devices
from policysched.cluster.devices.slice_devices import DeviceId, PoolId
from policysched.cluster.objects import device_objects
from tests.device_builders import DRIVER, make_claim, make_result

DEVICE = DeviceId(DRIVER, "pool", "a")


def _allocate(*results: dict[str, Any]) -> device_objects.AllocationResult | None:
    return make_claim("c", results=results).status.allocation


def test_a_claim_owns_its_device() -> None:
    """Until it has no allocation any more."""
    known = allocated_devices.AllocatedDevices()
    known.set("one", _allocate(make_result("a")))
    assert known.get_use(DEVICE) == allocated_devices.DeviceUse(owners=1)
    known.set("one", None)
    known.set("one", None)
    assert known.get_use(DEVICE) is None


def test_a_claim_counts_once() -> None:
    """Its allocation replaces the one that was known, such as the one of a binding cycle."""
    known = allocated_devices.AllocatedDevices()
    allocation = _allocate(make_result("a"))
    for each in (allocation, allocation, _allocate(make_result("a"))):
        known.set("one", each)
    assert known.get_use(DEVICE) == allocated_devices.DeviceUse(owners=1)
    known.set("one", _allocate(make_result("b")))
    assert known.get_use(DEVICE) is None


def test_a_conflict_ends_with_its_last_owner() -> None:
    """Two claims with one device are a conflict, but neither frees the device of the other."""
    known = allocated_devices.AllocatedDevices()
    known.set("one", _allocate(make_result("a")))
    known.set("two", _allocate(make_result("a")))
    known.set("one", None)
    assert known.get_use(DEVICE) == allocated_devices.DeviceUse(owners=1)


def test_admin_access_leaves_a_device_free() -> None:
    """Other claims can get it."""
    known = allocated_devices.AllocatedDevices()
    known.set("one", _allocate(make_result("a", adminAccess=True)))
    assert known.get_use(DEVICE) is None


def test_shares_add_up() -> None:
    """Each consumes its own amounts, or nothing."""
    known = allocated_devices.AllocatedDevices()
    small = make_result("a", shareID="1", consumedCapacity={"memory": "1Gi"})
    large = make_result("a", shareID="2", consumedCapacity={"memory": "500m", "slots": 2})
    known.set("one", _allocate(small, large))
    known.set("two", _allocate(make_result("a", shareID="3")))
    use = known.get_use(DEVICE)
    assert use is not None
    assert (use.owners, use.shares, use.measured_shares) == (0, 3, 2)
    assert use.consumed == {"memory": 2**30 + 0.5, "slots": 2}
    known.set("one", None)
    assert use.consumed == {"memory": 0, "slots": 0}
    assert (use.shares, use.measured_shares) == (1, 0)


def test_pools_of_changed_devices_are_logged() -> None:
    """Of the devices before and of those after; nothing is logged if they stay."""
    known = allocated_devices.AllocatedDevices()
    start = known.changes.generation
    known.set("one", _allocate(make_result("a"), make_result("a", pool="other")))
    assert known.changes.list_changes_since(start) == [
        PoolId(DRIVER, "pool"),
        PoolId(DRIVER, "other"),
    ]
    start = known.changes.generation
    known.set("one", _allocate(make_result("a"), make_result("a", pool="other")))
    known.set("two", _allocate(make_result("a", adminAccess=True)))
    assert known.changes.list_changes_since(start) == []
    known.set("one", _allocate(make_result("a", pool="third")))
    assert known.changes.list_changes_since(start) == [
        PoolId(DRIVER, "pool"),
        PoolId(DRIVER, "other"),
        PoolId(DRIVER, "third"),
    ]
