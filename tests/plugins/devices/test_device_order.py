"""The order in which devices are tried decides which are taken, but not whether claims fit."""

from __future__ import annotations

import random
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from policysched.cluster.devices import cluster_devices
from policysched.plugins.dynamic_resources.allocation import allocator
from policysched.plugins.dynamic_resources.allocation.device_order import DeviceOrder
from policysched.plugins.shared import selector_cache
from tests.builders import make_node
from tests.device_builders import (
    DRIVER,
    consume_counters,
    make_claim,
    make_class,
    make_counters,
    make_device,
    make_request,
    make_result,
    make_slice,
)
from tests.devices import compare, generate
from tests.reference import resource_pools

NODE = make_node("n1").build()
PARTITION = make_class("partition", f'device.attributes["{DRIVER}"].size < 4')
HALF = make_class("half", f'device.attributes["{DRIVER}"].size == 2')
QUARTER = make_class("quarter", f'device.attributes["{DRIVER}"].size == 1')


def _make_gpu(name: str) -> list[dict[str, Any]]:
    """Return a GPU of four parts: as a whole, its two halves, and its first three quarters."""
    placements = {"whole": (0, 4), "half-0": (0, 2), "half-2": (2, 2)}
    placements |= {f"quarter-{start}": (start, 1) for start in range(3)}
    return [
        make_device(
            f"{name}-{part}",
            attributes={"size": {"int": size}},
            consumesCounters=consume_counters(
                name, **{f"part-{i}": "1" for i in range(start, start + size)}
            ),
        )
        for part, (start, size) in placements.items()
    ]


def _allocate(
    class_name: str, *used: str, order: DeviceOrder = DeviceOrder.PACKED, count: int = 1
) -> list[str]:
    """Return the devices of a claim for devices of a class, beside others that are in use."""
    parts = {f"part-{i}": "1" for i in range(4)}
    counters = [make_counters(name, **parts) for name in ("a", "b")]
    known = cluster_devices.ClusterDevices()
    known.slices.set(make_slice("s", sharedCounters=counters, count=2))
    known.slices.set(make_slice("t", *_make_gpu("a"), *_make_gpu("b"), count=2))
    for each in (PARTITION, HALF, QUARTER, make_class("any")):
        known.classes.set(each)
    if used:
        other = make_claim("other", results=map(make_result, used))
        known.allocated.set("other", other.status.allocation)
    own = allocator.Allocator(known, selector_cache.SelectorCache(), lambda: False, order)
    claim = make_claim("c", [make_request("r", class_name, count=count)])
    [found] = own.allocate(NODE, resource_pools.gather_pools(known.slices, NODE), [claim]) or []
    return [each.device for each in found.devices.results]


@pytest.mark.parametrize(
    "class_name, used, published, packed",
    [
        pytest.param("quarter", (), "a-quarter-0", "a-quarter-0", id="all alike"),
        pytest.param("quarter", ("b-half-2",), "a-quarter-0", "b-quarter-0", id="a GPU in use"),
        pytest.param("half", ("b-quarter-2",), "a-half-0", "b-half-0", id="a half beside it"),
        pytest.param("quarter", ("a-quarter-0",), "a-quarter-1", "a-quarter-1", id="completes"),
        pytest.param("half", (), "a-half-0", "a-half-2", id="excludes fewer quarters"),
        pytest.param("any", ("b-half-0",), "a-whole", "b-half-2", id="no whole GPU"),
    ],
)
def test_packed_devices_break_up_the_least(
    class_name: str, used: tuple[str, ...], published: str, packed: str
) -> None:
    """First those of GPUs in use; among them, those that exclude the fewest others."""
    assert _allocate(class_name, *used, order=DeviceOrder.PUBLISHED) == [published]
    assert _allocate(class_name, *used) == [packed]


def test_several_devices_of_a_request_are_packed() -> None:
    """The order is that of the start of the search."""
    assert _allocate("quarter", "b-half-2", count=3) == [
        "b-quarter-0",
        "b-quarter-1",
        "a-quarter-0",
    ]


def test_devices_with_shares_come_first() -> None:
    """Devices with binding conditions come last, even so."""
    known = cluster_devices.ClusterDevices()
    shared = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4"}}}
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    known.slices.set(make_slice("s", make_device("late", **shared, **conditions), pool="late"))
    known.slices.set(make_slice("t", *(make_device(name, **shared) for name in "abc")))
    known.classes.set(make_class("any"))
    shares = [
        make_result("late", pool="late", shareID="1", consumedCapacity={"memory": "1"}),
        make_result("b", shareID="2", consumedCapacity={"memory": "1"}),
    ]
    known.allocated.set("other", make_claim("other", results=shares).status.allocation)
    request = make_request("r", count=4, capacity={"requests": {"memory": "1"}})
    own = allocator.Allocator(
        known, selector_cache.SelectorCache(), lambda: False, DeviceOrder.PACKED
    )
    claim = make_claim("c", [request])
    [found] = own.allocate(NODE, resource_pools.gather_pools(known.slices, NODE), [claim]) or []
    assert [each.device for each in found.devices.results] == ["b", "a", "c", "late"]


@hypothesis.given(seed=strategies.integers(0, 2**32))
def test_the_order_does_not_decide_what_fits(seed: int) -> None:
    """Claims get devices in both orders, or in none.

    Left out are searches that take too long, and errors: a selector that fails for a device ends a
    search only if the device is tried.
    """
    case = generate.make_case(random.Random(seed))
    answers = [compare.ask_policysched(case, order) for order in DeviceOrder]
    decided = {
        (each.is_node_error, bool(each.allocations))
        for each in answers
        if each is not None and (each.is_node_error or not each.error)
    }
    assert len(decided) <= 1
