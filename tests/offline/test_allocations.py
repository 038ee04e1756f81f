"""What pods hold of resources that device classes provide."""

from __future__ import annotations

import msgspec

from policysched.cluster.objects import device_objects
from policysched.offline import allocations
from tests import builders

GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def _make_slice(name: str, count: int, **nodes: object) -> device_objects.ResourceSlice:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"d{i}"} for i in range(count)]
    spec = {"driver": "gpu.example.com", "pool": pool, "devices": devices, **nodes}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, device_objects.ResourceSlice)


def _make_cluster(expression: str) -> builders.Cluster:
    """Return a cluster with three GPUs in the network, two of `own`, and eight of a plugin."""
    plugin = builders.make_node("plugin").capacity({GPU: "8"})
    pods = [
        builders.make_pod("by-plugin").requests({GPU: "2"}).node("plugin"),
        builders.make_pod("by-class").requests({GPU: "1"}).node("own"),
        builders.make_pod("by-class-name").requests({IMPLICIT: "1"}).node("own"),
    ]
    cluster = builders.make_cache(
        [builders.make_node("own"), builders.make_node("n"), plugin], pods
    )
    devices = cluster.cache.devices
    devices.slices.set(_make_slice("network", 3, allNodes=True))
    devices.slices.set(_make_slice("own", 2, nodeName="own"))
    devices.slices.set(_make_slice("plugin", 8, nodeName="plugin"))
    selector = {"cel": {"expression": expression}}
    spec = {"extendedResourceName": GPU, "selectors": [selector]}
    gpu = {"metadata": {"name": "gpu"}, "spec": spec}
    devices.classes.set(msgspec.convert(gpu, device_objects.DeviceClass))
    for pool in ("network", "own"):
        result = {"request": "r", "driver": "gpu.example.com", "pool": pool, "device": "d0"}
        claim = {
            "metadata": {"name": pool, "namespace": "default", "uid": pool},
            "spec": {},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }
        devices.claims.set(msgspec.convert(claim, device_objects.ResourceClaim))
    return cluster


def _list(expression: str) -> dict[str, tuple[int, int]]:
    found = allocations.list_allocations(_make_cluster(expression).cache)
    return {each.resource: (each.requested, each.allocatable) for each in found}


def test_devices_count_once() -> None:
    """Also those of the network; on the node of the plugin, its amounts count instead."""
    found = _list('device.driver == "gpu.example.com"')
    assert found[GPU] == (2 + 2, 3 + 2 + 8)
    # The plugin does not have the resource by the name of the class, so its node has devices.
    assert found[IMPLICIT] == (2, 3 + 2 + 8)


def test_a_resource_is_left_out_if_its_devices_are_unknown() -> None:
    """A selector that fails does not say whether the device counts."""
    assert not {GPU, IMPLICIT} & _list('device.attributes["gpu.example.com"].absent').keys()
