"""Scores by extended resources that device classes provide: devices count as their amounts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies

from policysched.cluster.devices import node_selection, slice_devices
from policysched.cluster.objects import device_objects, objects
from policysched.framework import interface, profile, runtime
from policysched.plugins import (
    node_resources_balanced_allocation,
    node_resources_fit,
)
from policysched.plugins.kernels import allocation
from policysched.plugins.shared import selector_cache
from tests import builders
from tests.compiler import desk
from tests.devices import changing_cluster, generate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.cluster.devices import cluster_devices

CHANGES = 12
GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/"
RESOURCES = tuple(f"{IMPLICIT}{name}" for name in generate.CLASSES)


def _make_fit(
    cluster: builders.Cluster,
    resources: Sequence[str],
    strategy: allocation.Strategy = allocation.MOST_ALLOCATED,
) -> node_resources_fit.NodeResourcesFit:
    return node_resources_fit.NodeResourcesFit(
        strategy,
        [(name, 1) for name in resources],
        device_classes=cluster.cache.devices.classes,
    )


def _make_framework(*plugins: interface.Plugin) -> runtime.Framework:
    weights = {plugin.name: 1 for plugin in plugins}
    return runtime.Framework(profile.Profile("test", plugins, weights), None)


def _score(
    framework: runtime.Framework, cluster: builders.Cluster, pod: builders.PodBuilder
) -> dict[str, int]:
    """Return the total points of each node, from kept answers if the framework keeps them."""
    snap = cluster.cache.snapshot()
    scores = framework.schedule_pod(cluster.info(pod), snap).scores
    assert scores is not None
    nodes = [snap.nodes.names[row] for row in scores.rows.tolist()]
    return dict(zip(nodes, (scores.totals // 100).tolist(), strict=True))


# --- against counts that keep nothing -------------------------------------------------------------


def _count(
    devices: cluster_devices.ClusterDevices, node: objects.Node, resource: str
) -> tuple[int, int]:
    """Return the devices of a node that provide a resource, and those in use."""
    provider = devices.classes.find_class_of_resource(resource)
    if provider is None:
        return 0, 0
    selectors, found = selector_cache.SelectorCache(), []
    try:
        for source in devices.slices:
            indexed = slice_devices.index_slice(source)
            if indexed.nodes.is_set and not indexed.counter_sets:
                indexed.nodes.matches(node)
            for each in indexed.devices:
                if (indexed.counter_sets and not each.own_nodes) or each.nodes.matches(node):
                    expressions = [s.cel.expression for s in provider.spec.selectors if s.cel]
                    if all(selectors.matches(text, each) for text in expressions):
                        found.append(each)
    except (node_selection.NodeSelectionError, selector_cache.SelectorError):
        return 0, 0
    used = [each for each in found if devices.allocated.get_use(each.id) is not None]
    return len(found), len(used)


def _expect_points(counted: list[tuple[int, int]], wanted: int) -> int:
    """Return the points of MostAllocated."""
    points = [min(in_use + wanted, total) * 100 // total for total, in_use in counted if total]
    return sum(points) // len(points) if points else 0


@hypothesis.given(seed=strategies.integers(0, 2**32))
def test_scores_follow_all_changes(seed: int) -> None:
    """After changes of nodes, slices, classes and claims, nodes get the points of their devices."""
    rng = random.Random(seed)
    world = changing_cluster.ChangingCluster(rng)
    framework = _make_framework(_make_fit(world.cluster, RESOURCES))
    for _ in range(CHANGES):
        world.change()
        nodes = [node for node in world.cluster.cache.nodes.nodes if node is not None]
        if len(nodes) < 2:
            continue
        wanted = rng.choice((1, 2))
        requested = rng.sample(RESOURCES, 2)
        pod = builders.make_pod("asks").requests(dict.fromkeys(requested, str(wanted)))
        if any(not world.devices.classes.find_class_of_resource(name) for name in requested):
            continue  # no node has it
        expected = {
            node.name: _expect_points(
                [_count(world.devices, node, name) for name in requested], wanted
            )
            for node in nodes
        }
        assert _score(framework, world.cluster, pod) == expected


# --- examples -------------------------------------------------------------------------------------


def _make_slice(
    node_name: str, count: int, pool: dict[str, Any] | None = None
) -> device_objects.ResourceSlice:
    devices = [{"name": f"d{i}", "attributes": {"index": {"int": i}}} for i in range(count)]
    spec = {"driver": "gpu.example.com", "nodeName": node_name, "devices": devices}
    shared = {"name": node_name, "generation": 2, "resourceSliceCount": 1, **(pool or {})}
    name = "-".join([node_name, *map(str, shared.values())])
    return msgspec.convert(
        {"metadata": {"name": name}, "spec": {**spec, "pool": shared}}, device_objects.ResourceSlice
    )


def _list_nodes() -> list[builders.NodeBuilder]:
    """Return nodes without GPUs of a device plugin, and one with 8 of them."""
    pods: objects.ResourceList = {"pods": "110"}
    return [
        builders.make_node("four").capacity(pods),
        builders.make_node("two").capacity(pods),
        builders.make_node("plugin").capacity({GPU: "8", **pods}),
    ]


def _publish(devices: cluster_devices.ClusterDevices, *expressions: str) -> None:
    """Publish GPUs on all nodes, and a class with these selectors that provides the resource."""
    spec = device_objects.DeviceClassSpec(
        selectors=tuple(
            device_objects.DeviceSelector(device_objects.CELDeviceSelector(each))
            for each in expressions
        ),
        extended_resource_name=GPU,
    )
    devices.classes.set(device_objects.DeviceClass(objects.ObjectMeta(name="gpu"), spec))
    for name, count in (("four", 4), ("two", 2), ("plugin", 5)):
        devices.slices.set(_make_slice(name, count))


def _make_cluster(*expressions: str) -> builders.Cluster:
    cluster = builders.make_cache(_list_nodes())
    _publish(cluster.cache.devices, *expressions)
    return cluster


def _use_device(devices: cluster_devices.ClusterDevices, pool: str, fields: dict[str, Any]) -> None:
    """Let a claim have device `d0` of a pool."""
    result = {"request": "r", "driver": "gpu.example.com", "pool": pool, "device": "d0", **fields}
    claim = {
        "metadata": {"name": "c", "namespace": "default", "uid": "c"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    devices.claims.set(msgspec.convert(claim, device_objects.ResourceClaim))


POD = builders.make_pod("asks").requests({GPU: "1"})


@pytest.mark.parametrize(
    "strategy, expected",
    [
        pytest.param(allocation.LEAST_ALLOCATED, {"four": 75, "two": 50, "plugin": 87}, id="least"),
        pytest.param(allocation.MOST_ALLOCATED, {"four": 25, "two": 50, "plugin": 12}, id="most"),
        pytest.param(
            allocation.RequestedToCapacityRatio([(0, 0), (100, 50)]),
            {"four": 12, "two": 25, "plugin": 6},
            id="ratio",
        ),
    ],
)
def test_each_strategy_counts_devices(
    strategy: allocation.Strategy, expected: dict[str, int]
) -> None:
    """On a node with a device plugin for the resource, the amounts of the plugin count."""
    cluster = _make_cluster()
    framework = _make_framework(_make_fit(cluster, [GPU], strategy))
    assert _score(framework, cluster, POD) == expected


def test_balance_counts_devices() -> None:
    """One of two CPUs and one of two devices are in balance; one of four devices is not."""
    cluster = _make_cluster()
    for name in ("four", "two"):
        cluster.cache.set_node(builders.make_node(name).capacity(cpu="2", pods="110").build())
    cluster.cache.remove_node("plugin")
    balanced = node_resources_balanced_allocation.NodeResourcesBalancedAllocation(("cpu", GPU))
    framework = _make_framework(_make_fit(cluster, []), balanced)
    pod = builders.make_pod("asks").requests({GPU: "1", "cpu": "1"})
    assert _score(framework, cluster, pod) == {"four": 68, "two": 75}


@pytest.mark.parametrize(
    "fields, points",
    [
        pytest.param({}, 50, id="whole"),
        pytest.param({"shareID": "s"}, 50, id="a share"),
        pytest.param({"adminAccess": True}, 25, id="admin access"),
    ],
)
def test_devices_in_use_count_as_requested(fields: dict[str, Any], points: int) -> None:
    """Also if they become so between equal pods."""
    cluster = _make_cluster()
    framework = _make_framework(_make_fit(cluster, [GPU]))
    assert _score(framework, cluster, POD)["four"] == 25
    _use_device(cluster.cache.devices, "four", fields)
    assert _score(framework, cluster, POD) == {"four": points, "two": 50, "plugin": 12}


def test_outdated_and_incomplete_pools_count() -> None:
    """As in kube-scheduler, whatever can be allocated."""
    cluster = _make_cluster()
    cluster.cache.devices.slices.set(_make_slice("two", 1, {"generation": 1}))
    cluster.cache.devices.slices.set(
        _make_slice("four", 1, {"name": "other", "resourceSliceCount": 2})
    )
    framework = _make_framework(_make_fit(cluster, [GPU]))
    assert _score(framework, cluster, POD) == {"four": 20, "two": 33, "plugin": 12}


@pytest.mark.parametrize(
    "expressions, points",
    [
        pytest.param(['device.attributes["gpu.example.com"].index < 2'], 50, id="some"),
        pytest.param(["true", 'device.attributes["gpu.example.com"].index < 1'], 100, id="all"),
        pytest.param(['device.attributes["gpu.example.com"].absent < 1'], 0, id="failing"),
        pytest.param(["false"], 0, id="none"),
    ],
)
def test_selectors_of_the_class_choose_devices(expressions: list[str], points: int) -> None:
    """If one fails, no device of the node counts."""
    cluster = _make_cluster(*expressions)
    framework = _make_framework(_make_fit(cluster, [GPU]))
    assert _score(framework, cluster, POD)["four"] == points


def test_a_class_that_comes_later_counts() -> None:
    """Scores that were cached without it are dropped."""
    cluster = _make_cluster()
    gpu_class = cluster.cache.devices.classes.remove("gpu")
    assert gpu_class is not None
    cluster.cache.set_node(builders.make_node("plugin").capacity({GPU: "8", "pods": "110"}).build())
    cluster.cache.set_node(builders.make_node("other").capacity({GPU: "4", "pods": "110"}).build())
    framework = _make_framework(_make_fit(cluster, [GPU]))
    assert _score(framework, cluster, POD) == {"plugin": 12, "other": 25}
    cluster.cache.devices.classes.set(gpu_class)
    assert _score(framework, cluster, POD) == {"four": 25, "two": 50, "plugin": 12, "other": 25}


def test_rules_of_policies_count_devices() -> None:
    """`score MostAllocated(…)` gives the points of the plugin, also after a change."""
    text = f'policy p {{ for pods score MostAllocated("{GPU}": 1) as packed }}'
    there = desk.Desk(text, _list_nodes())
    _publish(there.cache.devices)
    assert there.points(POD, "p/packed") == {"four": 25, "two": 50, "plugin": 12}
    _use_device(there.cache.devices, "four", {})
    assert there.points(POD, "p/packed") == {"four": 50, "two": 50, "plugin": 12}
