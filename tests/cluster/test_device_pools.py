"""Pools that a node can use, from the slices of all generations."""

from __future__ import annotations

from typing import Any

import pytest

from policysched.cluster.devices import node_selection, pools, slice_devices, slices
from policysched.cluster.objects import device_objects
from tests.builders import make_node
from tests.device_builders import consume_counters, make_counters, make_device, make_slice
from tests.reference import resource_pools

NODE = make_node("n1").labels(zone="a").build()
READY, INCOMPLETE, INVALID = (
    pools.PoolState.READY,
    pools.PoolState.INCOMPLETE,
    pools.PoolState.INVALID,
)


def _gather(*items: device_objects.ResourceSlice) -> list[pools.NodePool]:
    return resource_pools.gather_pools(slices.ResourceSlices(items), NODE)


def _list_devices(*items: device_objects.ResourceSlice) -> list[str]:
    """Return the devices of all pools in their order, each as `pool/device`."""
    return [f"{each.id.pool}/{each.id.device}" for pool in _gather(*items) for each in pool.devices]


def _select_zone(zone: str) -> dict[str, Any]:
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


@pytest.mark.parametrize(
    "spec, is_relevant",
    [
        ({"nodeName": "n1"}, True),
        ({"nodeName": "n2"}, False),
        ({"allNodes": True}, True),
        ({"nodeSelector": _select_zone("a")}, True),
        ({"nodeSelector": _select_zone("b")}, False),
        ({"nodeSelector": {"nodeSelectorTerms": [{}]}}, False),
        ({"nodeName": None}, False),
        ({"perDeviceNodeSelection": True}, False),
    ],
)
def test_a_slice_selects_nodes(spec: dict[str, Any], is_relevant: bool) -> None:
    """By name, all of them, or by a selector; a slice that says nothing selects none."""
    assert _list_devices(make_slice("s", "a", **spec)) == ["pool/a"] * is_relevant


def test_a_selector_of_fields_matches_names() -> None:
    """`matchFields` knows the name of the node."""
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    assert _list_devices(make_slice("s", "a", nodeSelector=selector)) == ["pool/a"]


def test_one_device_makes_its_slice_relevant() -> None:
    """If devices select nodes, the slice is relevant with all its devices."""
    here, elsewhere = make_device("a", nodeName="n2"), make_device("b", allNodes=True)
    found = _gather(make_slice("s", here, elsewhere, perDeviceNodeSelection=True))
    assert [each.own_nodes for each in found[0].devices] == [
        node_selection.make_node_selection("n2", all_nodes=False, node_selector=None),
        node_selection.make_node_selection(None, all_nodes=True, node_selector=None),
    ]


def test_a_wrong_selector_is_an_error() -> None:
    """The text names the slice."""
    expression = {"key": "zone", "operator": "Near", "values": ["a"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    with pytest.raises(node_selection.NodeSelectionError, match="node selection for slice s: "):
        _gather(make_slice("s", "a", nodeSelector=selector))


def test_pools_slices_and_devices_have_an_order() -> None:
    """Pools are sorted by driver and name as text, slices by name; devices stay as listed."""
    assert _list_devices(
        make_slice("s1", "z", "y", pool="p2", count=2),
        make_slice("s0", "x", pool="p2", count=2),
        make_slice("t", "a", pool="p10"),
        make_slice("u", "b", pool="p3", driver="fpga.example.com"),
    ) == ["p3/b", "p10/a", "p2/x", "p2/z", "p2/y"]


def test_pools_with_binding_conditions_come_last() -> None:
    """One such device is enough."""
    waiting = make_device("b", bindingConditions=["ready"])
    assert _list_devices(
        make_slice("s", "a", waiting, pool="p1"), make_slice("t", "c", pool="p2")
    ) == ["p2/c", "p1/a", "p1/b"]


def test_the_newest_generation_wins() -> None:
    """Older slices do not count, whichever comes first."""
    old, new = make_slice("old", "a", generation=1), make_slice("new", "b", generation=2)
    assert _list_devices(old, new) == _list_devices(new, old) == ["pool/b"]


def test_a_newer_generation_elsewhere() -> None:
    """It hides an incomplete pool; a complete one is used without a look at other slices."""
    newer = make_slice("new", "b", generation=2, nodeName="n2")
    assert _gather(make_slice("old", "a", count=2), newer) == []
    assert _list_devices(make_slice("old", "a"), newer) == ["pool/a"]


def test_slices_for_other_nodes_complete_a_pool() -> None:
    """Without them, the driver has not yet published everything."""
    own, other = make_slice("s", "a", count=2), make_slice("t", "b", count=2, nodeName="n2")
    (pool,) = _gather(own, other)
    assert pool.state is READY
    assert [each.id.device for each in pool.devices] == ["a"]
    assert [each.id.device for each in pool.devices_elsewhere] == ["b"]
    (pool,) = _gather(own)
    assert (pool.state, pool.devices) == (INCOMPLETE, ())


def test_counters_belong_to_all_nodes() -> None:
    """A slice with counters is relevant, even if it is for another node."""
    (pool,) = _gather(
        make_slice("c", nodeName="n2", sharedCounters=[make_counters(memory="4")], count=2),
        make_slice("s", make_device("a", consumesCounters=consume_counters(memory="1")), count=2),
    )
    assert pool.state is READY
    assert list(pool.counters.values()) == [4]
    assert list(pool.devices[0].counters.values()) == [1]


_COUNTERS = make_slice("c", allNodes=True, sharedCounters=[make_counters(memory="4")], count=2)
_CONSUMER = make_device("a", consumesCounters=consume_counters(memory="1"))
_WRONG_SET = make_device("a", consumesCounters=consume_counters("other", memory="1"))
_WRONG_COUNTER = make_device("a", consumesCounters=consume_counters(slots="1"))


@pytest.mark.parametrize(
    "items, state",
    [
        ([make_slice("s", "a", "a")], INVALID),
        ([make_slice("s", "a", count=2), make_slice("t", "a", count=2)], INVALID),
        ([make_slice("s", "a", count=2), make_slice("t", "a", count=2, nodeName="n2")], READY),
        ([_COUNTERS, make_slice("s", _CONSUMER, count=2)], READY),
        ([_COUNTERS, make_slice("s", _WRONG_SET, count=2)], INVALID),
        ([_COUNTERS, make_slice("s", _WRONG_COUNTER, count=2)], INVALID),
        ([_COUNTERS, make_slice("s", _WRONG_COUNTER, count=2, nodeName="n2")], INVALID),
        ([make_slice("s", _CONSUMER)], INVALID),
        (
            [
                make_slice(
                    "c", allNodes=True, sharedCounters=[make_counters(x="1"), make_counters(y="1")]
                )
            ],
            INVALID,
        ),
    ],
)
def test_contradicting_slices_make_a_pool_invalid(
    items: list[device_objects.ResourceSlice], state: pools.PoolState
) -> None:
    """Names must be unique, and counters must exist, also for devices of other nodes."""
    (pool,) = _gather(*items)
    assert pool.state is state


def test_slices_change() -> None:
    """A slice can move to another node or pool, and go."""
    known = slices.ResourceSlices([make_slice("s", "a")])
    known.set(make_slice("s", "b", pool="other", nodeName="n2"))
    assert resource_pools.gather_pools(known, NODE) == []
    assert not list(known.list_pool(slice_devices.PoolId("gpu.example.com", "pool")))
    known.set(make_slice("s", "c", allNodes=True))
    assert [each.devices[0].id.device for each in resource_pools.gather_pools(known, NODE)] == ["c"]
    known.remove("s")
    known.remove("s")
    assert resource_pools.gather_pools(known, NODE) == []
