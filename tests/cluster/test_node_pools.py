"""Sets of pools: one for all nodes that can use the same devices."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis import strategies

from policysched.cluster.devices import node_pools, pools, slices
from policysched.cluster.objects import device_objects
from tests import builders
from tests.device_builders import make_device, make_slice
from tests.devices import changing_cluster
from tests.reference import resource_pools

if TYPE_CHECKING:
    from collections.abc import Iterable


class World:
    """Three nodes, with slices."""

    def __init__(self, *items: device_objects.ResourceSlice) -> None:
        self.cache = builders.make_cache(
            builders.make_node(name).labels(zone=zone)
            for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b"))
        ).cache
        self.slices = slices.ResourceSlices(items)
        self.pools = node_pools.NodePools(self.slices)

    def find(self, name: str) -> node_pools.PoolSet:
        """Return the set of a node, after all changes."""
        nodes = self.cache.snapshot().nodes
        self.pools.refresh(nodes)
        return self.pools.sets[int(self.pools.set_of_row[nodes.row_of[name]])]

    def list_devices(self, name: str) -> list[str]:
        """Return the devices of a node."""
        return [each.id.device for pool in self.find(name).pools for each in pool.devices]


def _zone(name: str) -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": [name]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def test_nodes_with_the_same_slices_share_a_set() -> None:
    """Devices of one node belong to a set of its own; nodes without devices share one, too."""
    world = World(make_slice("s", "a", **_zone("a")))
    assert world.find("n1") is world.find("n2")
    assert world.find("n3") is not world.find("n1")
    world.slices.set(make_slice("t", "b", pool="own"))
    assert world.list_devices("n1") == ["b", "a"]
    assert world.list_devices("n2") == ["a"]
    assert world.list_devices("n3") == []


def test_devices_that_select_nodes_themselves_make_a_difference() -> None:
    """The slice is the same for all nodes of which it has a device."""
    devices = [make_device("a", nodeName="n1"), make_device("b", nodeName="n2")]
    devices.append(make_device("c", **_zone("a")))
    world = World(make_slice("s", *devices, perDeviceNodeSelection=True))
    assert world.find("n1") is not world.find("n2")
    assert world.find("n3").pools == ()


@pytest.mark.parametrize("node, changed", [("n1", ["a"]), ("n3", [])])
def test_a_node_changes(node: str, changed: list[str]) -> None:
    """Its labels decide which slices it can use."""
    world = World(make_slice("s", "a", **_zone("c")))
    assert world.list_devices(node) == []
    zone = "c" if changed else "d"
    world.cache.set_node(builders.make_node(node).labels(zone=zone).build())
    assert world.list_devices(node) == changed


def test_a_slice_elsewhere_completes_a_pool() -> None:
    """Although the node cannot use it, and its own slices stay as they are."""
    own = make_slice("s", "a", count=2)
    world = World(own)
    assert [each.state for each in world.find("n1").pools] == [pools.PoolState.INCOMPLETE]
    world.slices.set(make_slice("t", "b", count=2, nodeName="n2"))
    assert world.list_devices("n1") == ["a"]
    world.slices.set(make_slice("t", "b", count=2, nodeName="n2", generation=2))
    assert world.list_devices("n1") == []
    world.slices.remove("t")
    assert [each.state for each in world.find("n1").pools] == [pools.PoolState.INCOMPLETE]


def test_a_selector_that_cannot_be_parsed() -> None:
    """Nodes for which it is read have no pools, but the reason."""
    expression = {"key": "zone", "operator": "Like", "values": ["a"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    world = World(make_slice("s", "a", nodeSelector=selector))
    assert world.find("n1").pools == ()
    assert "failed to perform node selection for slice s" in world.find("n1").error
    world.slices.set(make_slice("s", "a"))
    assert world.find("n1").error == ""


def test_sets_that_nobody_needs_do_not_pile_up() -> None:
    """Sets get new numbers before there are many more sets than nodes."""
    world = World()
    for generation in range(1, 40):
        world.slices.set(make_slice("s", "a", generation=generation))
        assert world.list_devices("n1") == ["a"]
        assert len(world.pools.sets) <= 2 * 3 + 1
    assert world.pools.epoch > 2


def test_sets_are_found_by_their_pools() -> None:
    """So that results about them can be dropped."""
    world = World(make_slice("s", "a", **_zone("a")), make_slice("t", "b", pool="own"))
    [of_both] = [each.id for each in world.find("n2").pools]
    assert len(world.pools.list_sets_with([of_both])) == 2
    [own] = [each.id for each in world.find("n1").pools if each.id != of_both]
    assert len(world.pools.list_sets_with([own])) == 1


def _describe(found: Iterable[pools.NodePool]) -> list[tuple[object, ...]]:
    """Return what distinguishes pools, without ready ones that have no devices."""
    return [
        (
            each.id,
            each.state,
            [device.id for device in each.devices],
            {device.id for device in each.devices_elsewhere},
            each.counters,
        )
        for each in found
        if each.devices or each.state is not pools.PoolState.READY
    ]


@hypothesis.given(seed=strategies.integers(0, 2**32))
def test_kept_pools_are_those_that_all_slices_give(seed: int) -> None:
    """After any changes, each node has the pools that are gathered from all slices for it."""
    world = changing_cluster.ChangingCluster(random.Random(seed))
    for _ in range(20):
        world.change()
        nodes = world.cluster.cache.snapshot().nodes
        kept = world.devices.node_pools
        kept.refresh(nodes)
        for row, node in enumerate(nodes.nodes):
            if node is None:
                continue
            found = kept.sets[kept.set_of_row[row]]
            if not found.error:
                expected = resource_pools.gather_pools(world.devices.slices, node)
                assert _describe(found.pools) == _describe(expected)
