"""The devices of all claims over time: no two claims may have one device at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class DeviceOwners:
    """Follows the versions of all claims in their order.

    Attributes:
        conflicts: a text for each version of a claim with a device that another claim had.
        allocations: how often a claim got devices.
    """

    def __init__(self) -> None:
        self.conflicts: list[str] = []
        self.allocations = 0
        self._devices: dict[str, frozenset[str]] = {}

    def take(self, change: str, claim: Mapping[str, Any]) -> None:
        """Take a change as a watch tells it: `ADDED`, `MODIFIED` or `DELETED`."""
        before = self._devices.pop(_uid(claim), frozenset())
        if change == "DELETED":
            return
        devices = _list_devices(claim)
        self.allocations += bool(devices and not before)
        if before and devices and before != devices:
            self.conflicts.append(f"{_describe(claim)}: other devices without deallocation")
        for other, others in self._devices.items():
            if shared := devices & others:
                self.conflicts.append(f"{_describe(claim)} and {other} have {sorted(shared)}")
        self._devices[_uid(claim)] = devices

    def has_newest(self, claims: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether these are all claims, with the devices that they have."""
        return self._devices == {_uid(claim): _list_devices(claim) for claim in claims}


def _list_devices(claim: Mapping[str, Any]) -> frozenset[str]:
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", [])
    return frozenset(f"{one['driver']}/{one['pool']}/{one['device']}" for one in results)


def _uid(claim: Mapping[str, Any]) -> str:
    return str(claim["metadata"]["uid"])


def _describe(claim: Mapping[str, Any]) -> str:
    meta = claim["metadata"]
    return f"{meta['namespace']}/{meta['name']} in version {meta['resourceVersion']}"
