"""The devices of a workload, and the claims of its pods (dynamic resource allocation)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from benchmarks import options
from policysched.cluster.objects import device_objects

API = f"/apis/{device_objects.API_VERSION}"
DRIVER = "gpu.example.com"
CLASS_NAME = "gpu"
_DEVICES_PER_SLICE = 128

Object: TypeAlias = dict[str, Any]


class Devices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The devices of a cluster; all of them are equal.

    Attributes:
        per_node: number of devices, for each node.
        reached_from: `node` for devices in a node, `all` for devices that all nodes can use.
    """

    per_node: Annotated[int, msgspec.Meta(ge=1, le=_DEVICES_PER_SLICE)]
    reached_from: Literal["node", "all"] = "node"

    def slices(self, node_names: Iterable[str]) -> Iterator[Object]:
        """Yield the ResourceSlices: one for each node, or those of one pool."""
        names = list(node_names)
        if self.reached_from == "node":
            for name in names:
                yield _make_slice(name, name, range(self.per_node), 1, {"nodeName": name})
            return
        count = len(names) * self.per_node
        starts = range(0, count, _DEVICES_PER_SLICE)
        for start in starts:
            numbers = range(start, min(start + _DEVICES_PER_SLICE, count))
            yield _make_slice(f"shared-{start}", "shared", numbers, len(starts), {"allNodes": True})


def make_class() -> Object:
    """Return the DeviceClass of all devices."""
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "a100"'
    return {
        **_make_header("DeviceClass", CLASS_NAME),
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def make_claim(name: str, count: int) -> Object:
    """Return a ResourceClaim for a number of devices."""
    return {**_make_header("ResourceClaim", name), "spec": _make_claim_spec(count)}


def make_claim_template(name: str, count: int) -> Object:
    """Return a template of claims for a number of devices."""
    return {
        **_make_header("ResourceClaimTemplate", name),
        "spec": {"spec": _make_claim_spec(count)},
    }


def name_claim(name: str) -> Object:
    """Return the part of a pod's spec that names a claim."""
    return {"resourceClaims": [{"name": "gpu", "resourceClaimName": name}]}


def name_claim_template(name: str) -> Object:
    """Return the part of a pod's spec that names a template of claims."""
    return {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": name}]}


def _make_claim_spec(count: int) -> Object:
    request = {"name": "gpu", "exactly": {"deviceClassName": CLASS_NAME, "count": count}}
    return {"devices": {"requests": [request]}}


def _make_slice(
    name: str, pool: str, numbers: Iterable[int], slice_count: int, reach: Object
) -> Object:
    return {
        **_make_header("ResourceSlice", name),
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": slice_count},
            "devices": [_make_device(number) for number in numbers],
            **reach,
        },
    }


def _make_device(number: int) -> Object:
    return {
        "name": f"gpu-{number}",
        "attributes": {"model": {"string": "a100"}, "index": {"int": number}},
        "capacity": {"memory": {"value": "40Gi"}},
    }


def _make_header(kind: str, name: str) -> Object:
    return {
        "apiVersion": device_objects.API_VERSION,
        "kind": kind,
        "metadata": {"name": name},
    }


MOST_CLAIMED: int = min(options.MOST, 32)
"""Devices that a claim can have."""
