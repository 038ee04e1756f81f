"""The devices that a pod would get are shown as scores and conditions read them."""

from __future__ import annotations

from typing import Any

import msgspec

from tests import device_builders
from tests.cli import clusters
from tests.explaining import desk

NODES = ("n1", "n2")
SCORES = """
policy gpus {
  for pods
  score takenDevices(whole) prefer low as taken
  score deviceAttribute(place) prefer high missing score 0 as place
  score deviceCapacity("gpu.example.com/memory") prefer low missing score 0 as memory
  score freeDevices(part) prefer low as parts
}
profile default-scheduler { policies gpus }
"""
CONDITION = """
policy gpus {
  for pods
  reject when freeDevices(whole) < 1 as room
}
profile default-scheduler { policies gpus }
"""


def _make_slices(node: str) -> list[Any]:
    """Return a GPU that is a device as a whole, and two partitions of it."""
    devices = [
        device_builders.make_device(
            name,
            attributes={"place": {"int": place}},
            capacity={"memory": {"value": f"{size}Gi"}},
            consumesCounters=device_builders.consume_counters(memory=f"{size}Gi"),
        )
        for name, place, size in (("whole", 0, 40), ("part-1", 1, 20), ("part-2", 2, 20))
    ]
    counters = [device_builders.make_counters(memory="40Gi")]
    return [
        device_builders.make_slice(node, *devices, pool=node, count=2, nodeName=node),
        device_builders.make_slice(
            f"{node}-counters", pool=node, count=2, nodeName=node, sharedCounters=counters
        ),
    ]


def _dump(kind: str, item: Any) -> desk.Object:
    api_version = "resource.k8s.io/v1"
    return {"apiVersion": api_version, "kind": kind, **msgspec.to_builtins(item)}


def _make_items() -> list[desk.Object]:
    """Return two nodes, a pod that waits for a partition, and one partition in use on n1."""
    is_large = 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("30Gi"))'
    classes = {"whole": is_large, "part": f"!{is_large}"}
    request = device_builders.make_request("r", "part")
    used = [device_builders.make_result("part-1", pool="n1")]
    claims = [
        device_builders.make_claim("own", [request]),
        device_builders.make_claim("other", [request], results=used),
    ]
    pod = clusters.pod("p", resourceClaims=[{"name": "r", "resourceClaimName": "own"}])
    pod["metadata"] |= {"namespace": "default", "uid": "uid-p"}
    return [
        *(_dump("ResourceSlice", each) for name in NODES for each in _make_slices(name)),
        *(
            _dump("DeviceClass", device_builders.make_class(name, expression))
            for name, expression in classes.items()
        ),
        *(_dump("ResourceClaim", each) for each in claims),
        *map(clusters.node, NODES),
        pod,
    ]


def test_scores_show_the_devices_that_the_pod_would_get() -> None:
    """The raw numbers are those of the partition that the pod would get on each node."""
    report = desk.study_pod(_make_items(), SCORES, pod="default/p")
    winner, runner_up = report["ranking"]
    assert (winner["node"], runner_up["node"]) == ("n1", "n2")
    assert _get_raw(winner) == {"taken": 0, "place": 2, "memory": 20 * 2**30, "parts": 1}
    assert _get_raw(runner_up) == {"taken": 1, "place": 1, "memory": 20 * 2**30, "parts": 2}


def _get_raw(ranked: desk.Report) -> dict[str, float]:
    names = ((each["rule"].removeprefix("gpus/"), each["raw"]) for each in ranked["rules"])
    return {name: raw for name, raw in names if name in ("taken", "place", "memory", "parts")}


def test_a_condition_shows_the_devices_that_are_free() -> None:
    """Nodes are rejected by the number of devices that a claim could get."""
    report = desk.study_pod(_make_items(), CONDITION, pod="default/p")
    assert {name: each["ok"] for name, each in report["nodes"].items()} == {"n1": False, "n2": True}
    assert "freeDevices(whole) 0 < 1" in str(report)
