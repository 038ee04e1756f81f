"""The check that no device has two owners finds what it is for."""

from __future__ import annotations

from typing import Any

from tests.e2e.checker import device_owners


def _claim(name: str, *devices: str, version: int = 1) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "uid": name, "resourceVersion": str(version)}
    results = [{"driver": "d", "pool": "p", "device": device} for device in devices]
    status = {"allocation": {"devices": {"results": results}}} if devices else {}
    return {"metadata": metadata, "status": status}


def test_a_device_that_is_free_again_may_have_another_owner() -> None:
    """After a deallocation, or after the end of the claim."""
    owners = device_owners.DeviceOwners()
    owners.take("ADDED", _claim("a", "x"))
    owners.take("ADDED", _claim("b"))
    owners.take("MODIFIED", _claim("a", version=2))
    owners.take("MODIFIED", _claim("b", "x", version=3))
    owners.take("DELETED", _claim("b", "x", version=4))
    owners.take("MODIFIED", _claim("a", "x", "y", version=5))
    assert owners.conflicts == []
    assert owners.allocations == 3
    assert owners.has_newest([_claim("a", "x", "y")])
    assert not owners.has_newest([_claim("a", "x")])
    assert not owners.has_newest([_claim("a", "x", "y"), _claim("b")])


def test_a_device_with_two_owners_is_found() -> None:
    """Also if one of several devices is shared."""
    owners = device_owners.DeviceOwners()
    owners.take("ADDED", _claim("a", "x", "y"))
    owners.take("ADDED", _claim("b", "y", "z", version=7))
    assert owners.conflicts == ["n/b in version 7 and a have ['d/p/y']"]


def test_an_allocation_that_changes_is_found() -> None:
    """The API server permits no such change."""
    owners = device_owners.DeviceOwners()
    owners.take("ADDED", _claim("a", "x"))
    owners.take("MODIFIED", _claim("a", "y", version=2))
    assert owners.conflicts == ["n/a in version 2: other devices without deallocation"]
