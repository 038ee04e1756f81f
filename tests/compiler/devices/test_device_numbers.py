"""Cached numbers about devices in a changing cluster, against a slow reference without caches."""

from __future__ import annotations

import copy
import math
import random
from typing import TYPE_CHECKING, get_args

import hypothesis
from hypothesis import strategies

from policysched import units
from policysched.cluster.devices import cluster_devices, node_selection, pools
from policysched.cluster.objects import device_objects, objects
from policysched.compiler import lowering, metric_parts
from policysched.framework import handles
from policysched.lang.checked import checked_expr
from policysched.lang.words import vocabulary
from policysched.plugins import names
from policysched.plugins.dynamic_resources import (
    device_cycle,
    dynamic_resources,
)
from policysched.plugins.dynamic_resources.allocation import (
    allocation_errors,
    allocator,
    device_requests,
    device_search,
    devices_in_use,
)
from policysched.plugins.dynamic_resources.allocation.device_order import DeviceOrder
from policysched.plugins.shared import selector_cache
from tests.compiler import strategies as texts
from tests.devices import changing_cluster, generate
from tests.plugins import asking
from tests.reference import resource_pools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.cluster.devices.slice_devices import SliceDevice

CHANGES = 8
MAX_STEPS = 200
KEYS = ("numa", "dra.example.com/numa", "memory", "gpu.example.com/memory", "speed", "absent")


class TooManyStepsError(Exception):
    """A search takes so long that it would not be compared."""


def make_expressions() -> list[checked_expr.DeviceNumber]:
    """Return each function with each name that it may be given."""
    classes = (*generate.CLASSES, "absent")
    return [
        checked_expr.DeviceNumber(kind, name, units.NUMBER, texts.SPAN)
        for kind in get_args(vocabulary.DeviceFunction)
        for name in (KEYS if kind in vocabulary.DEVICE_VALUE_FUNCTIONS else classes)
    ]


class Reference:
    """Computes the numbers of one node by searches for single devices, without caches."""

    def __init__(
        self, devices: cluster_devices.ClusterDevices, node: objects.Node, order: DeviceOrder
    ) -> None:
        self._devices = devices
        self._node = node
        self._order = order
        self._selectors = selector_cache.SelectorCache()
        try:
            self._pools = resource_pools.gather_pools(devices.slices, node)
        except node_selection.NodeSelectionError:
            self._pools = []
        self._by_id = {each.id: each for pool in self._pools for each in pool.devices}

    def compute(
        self, expr: checked_expr.DeviceNumber, claims: Sequence[device_objects.ResourceClaim]
    ) -> float:
        """Return a number for a pod with these claims; none if its PreFilter fails."""
        match expr.kind:
            case "devices":
                return sum(self._is_selected(expr.name, each) for each in self._by_id.values())
            case "freeDevices":
                return len(self._list_free(expr.name, self._devices))
            case "takenDevices":
                return self._count_taken(expr.name, claims)
            case _:
                return self._find_smallest(expr, claims)

    def _is_selected(self, class_name: str, device: SliceDevice) -> bool:
        known = self._devices.classes.get(class_name)
        if known is None:
            return False
        try:
            return all(
                self._selectors.matches(each.cel.expression, device)
                for each in known.spec.selectors
                if each.cel is not None
            ) and (device.own_nodes is None or device.own_nodes.matches(self._node))
        except selector_cache.SelectorError:
            return False

    def _list_free(
        self, class_name: str, devices: cluster_devices.ClusterDevices
    ) -> list[SliceDevice]:
        ask = device_objects.ExactDeviceRequest(device_class_name=class_name)
        spec = device_objects.ResourceClaimSpec(
            device_objects.DeviceClaim((device_objects.DeviceRequest("one", ask),))
        )
        claim = device_objects.ResourceClaim(objects.ObjectMeta(name="one"), spec)
        found = []
        for device in self._by_id.values():
            alone = [_hide_others(pool, device) for pool in self._pools]
            if self._has_device(claim, devices, alone):
                found.append(device)
        return found

    def _has_device(
        self,
        claim: device_objects.ResourceClaim,
        devices: cluster_devices.ClusterDevices,
        alone: Sequence[pools.NodePool],
    ) -> bool:
        """Return whether a claim gets a device; how its allocation is written does not matter."""
        in_use = devices_in_use.DevicesInUse(devices.allocated, alone)
        situation = device_requests.AllocationContext(
            self._node, alone, devices.classes, self._selectors, in_use
        )
        try:
            prepared = device_requests.prepare_claim(claim, situation)
            candidates = [device for pool in alone for device in pool.devices]
            return device_search.DeviceSearch([prepared], candidates, in_use, lambda: None).run()
        except allocation_errors.AllocationError:
            return False

    def _count_taken(
        self, class_name: str, claims: Sequence[device_objects.ResourceClaim]
    ) -> float:
        new = [claim for claim in claims if claim.allocation is None]
        allocations = self._allocate(new, self._devices, self._pools)
        if not allocations:
            return 0
        after = cluster_devices.ClusterDevices()
        after.classes, after.claims = self._devices.classes, copy.deepcopy(self._devices.claims)
        for claim, allocation in zip(new, allocations, strict=True):
            after.claims.start_allocation(claim.metadata.uid, allocation)
        before = {each.id for each in self._list_free(class_name, self._devices)}
        return len(before - {each.id for each in self._list_free(class_name, after)})

    def _find_smallest(
        self, expr: checked_expr.DeviceNumber, claims: Sequence[device_objects.ResourceClaim]
    ) -> float:
        new = [claim for claim in claims if claim.allocation is None]
        found = self._allocate(new, self._devices, self._pools)
        if new and found is None:
            return math.nan
        allocations = [*(found or ()), *(each.allocation for each in claims if each.allocation)]
        ids = [
            (each.driver, each.pool, each.device)
            for allocation in allocations
            for each in allocation.devices.results
        ]
        values = [_read(self._by_id[each], expr) for each in ids if each in self._by_id]
        return min((each for each in values if each is not None), default=math.nan)

    def _allocate(
        self,
        claims: Sequence[device_objects.ResourceClaim],
        devices: cluster_devices.ClusterDevices,
        node_pools_: Sequence[pools.NodePool],
    ) -> list[device_objects.AllocationResult] | None:
        steps = iter(range(MAX_STEPS // 2))
        searched = allocator.Allocator(
            devices, self._selectors, lambda: next(steps, None) is None, self._order
        )
        try:
            return searched.allocate(self._node, node_pools_, claims)
        except allocation_errors.AllocationTimeoutError:
            raise TooManyStepsError from None
        except (allocation_errors.AllocationError, allocation_errors.InvalidPoolsError):
            return None


def _hide_others(pool: pools.NodePool, device: SliceDevice) -> pools.NodePool:
    """Return a pool that has only one device, and still counts what the others consume."""
    own = tuple(each for each in pool.devices if each is device)
    others = tuple(each for each in pool.devices if each is not device)
    elsewhere = (*pool.devices_elsewhere, *others)
    return pools.NodePool(pool.id, pool.state, own, elsewhere, pool.counters)


def _read(device: SliceDevice, expr: checked_expr.DeviceNumber) -> float | None:
    full = _complete_name(expr.name, device)
    if expr.kind == "deviceCapacity":
        found = [
            each for name, each in device.capacity.items() if _complete_name(name, device) == full
        ]
        return float(found[0].value.number) if found else None
    attributes = device.device.attributes.items()
    numbers = [each.int_value for name, each in attributes if _complete_name(name, device) == full]
    return numbers[0] if numbers else None


def _complete_name(name: str, device: SliceDevice) -> str:
    return name if "/" in name else f"{device.id.driver}/{name}"


def _expect(
    world: changing_cluster.ChangingCluster,
    expression: lowering.Expression,
    claims: Sequence[device_objects.ResourceClaim],
    order: DeviceOrder,
) -> dict[str, str]:
    """Return the number of each node as text, in which missing ones are equal."""
    assert isinstance(expression.source, checked_expr.DeviceNumber)
    return {
        node.name: str(
            float(Reference(world.devices, node, order).compute(expression.source, claims))
        )
        for node in world.cluster.cache.snapshot().nodes.nodes
        if node is not None
    }


@hypothesis.settings(max_examples=10)
@hypothesis.given(seed=strategies.integers(0, 2**32))
def test_numbers_are_those_of_the_reference(seed: int) -> None:
    """After changes of nodes, slices, classes and claims, all numbers of all nodes are right.

    The numbers serve profiles with either order of devices.
    """
    rng = random.Random(seed)
    world = changing_cluster.ChangingCluster(rng)
    handle = handles.Handle(devices=world.devices)
    plugins = {
        order: dynamic_resources.DynamicResources(handle, 0.0, order=order) for order in DeviceOrder
    }
    lower = lowering.Lowering(metric_parts.MetricParts(()))
    compiled = [lower.lower(each) for each in rng.sample(make_expressions(), 6)]
    for _ in range(CHANGES):
        for _ in range(rng.choice((1, 1, 3))):
            world.change()
        snap = world.cluster.cache.snapshot()
        for builder in world.pods:
            pod = world.cluster.info(builder)
            state = asking.state_for(pod)
            order = rng.choice(list(DeviceOrder))
            plugins[order].pre_filter(state, pod, snap)
            cycle = state.find(names.DYNAMIC_RESOURCES, device_cycle.DeviceCycle)
            claims = [] if cycle is None else cycle.claims
            for expression in compiled:
                try:
                    expected = _expect(world, expression, claims, order)
                except TooManyStepsError:
                    continue
                values = expression.evaluate(snap.view_all_rows(), pod.shape, state).tolist()
                assert dict(zip(snap.nodes.names, map(str, values), strict=False)).items() >= (
                    expected.items()
                )
