"""Short spellings of slices, devices, classes and claims for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from policysched.cluster.objects import device_objects

DRIVER = "gpu.example.com"


def make_device(name: str, **fields: Any) -> dict[str, Any]:
    """Return a device of a slice, with fields as in manifests."""
    return {"name": name, **fields}


def make_slice(
    name: str,
    *devices: str | dict[str, Any],
    driver: str = DRIVER,
    pool: str = "pool",
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> device_objects.ResourceSlice:
    """Return a slice of so many of a pool, for the node `n1` unless fields say otherwise."""
    scopes = ("nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection")
    nodes = {} if any(each in spec for each in scopes) else {"nodeName": "n1"}
    made = [make_device(each) if isinstance(each, str) else each for each in devices]
    source = {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
        "devices": made,
        **nodes,
        **spec,
    }
    return msgspec.convert(
        {"metadata": {"name": name}, "spec": source}, device_objects.ResourceSlice
    )


def make_counters(name: str = "set", /, **values: str) -> dict[str, Any]:
    """Return an entry of `sharedCounters`."""
    return {"name": name, "counters": {key: {"value": each} for key, each in values.items()}}


def consume_counters(name: str = "set", /, **values: str) -> list[dict[str, Any]]:
    """Return the `consumesCounters` of a device."""
    return [{"counterSet": name, "counters": make_counters(name, **values)["counters"]}]


def make_class(name: str, *expressions: str, **spec: Any) -> device_objects.DeviceClass:
    """Return a class with selectors."""
    source = {"selectors": [{"cel": {"expression": each}} for each in expressions], **spec}
    return msgspec.convert({"metadata": {"name": name}, "spec": source}, device_objects.DeviceClass)


def make_request(name: str, class_name: str = "any", **fields: Any) -> dict[str, Any]:
    """Return a request of a claim for devices of a class."""
    return {"name": name, "exactly": {"deviceClassName": class_name, **fields}}


def make_claim(
    name: str,
    requests: Iterable[Mapping[str, Any]] = (),
    *,
    results: Iterable[Mapping[str, Any]] | None = None,
    **devices: Any,
) -> device_objects.ResourceClaim:
    """Return a claim; with results, it has been allocated."""
    status = {} if results is None else {"allocation": {"devices": {"results": list(results)}}}
    source = {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests), **devices}},
        "status": status,
    }
    return msgspec.convert(source, device_objects.ResourceClaim)


def make_result(
    device: str, *, driver: str = DRIVER, pool: str = "pool", **fields: Any
) -> dict[str, Any]:
    """Return a result of an allocation."""
    return {"request": "r", "driver": driver, "pool": pool, "device": device, **fields}
