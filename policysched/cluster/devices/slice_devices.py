"""Parse the amounts and the node selection of slices and devices, once for each version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from policysched.cluster.devices import amounts, node_selection
from policysched.cluster.objects import device_objects, wire


class PoolId(NamedTuple):
    """Identity of a pool; names of pools are unique for each driver."""

    driver: str
    pool: str

    def __str__(self) -> str:
        """Return the identity as kube-scheduler's texts have it."""
        return "/".join(self)


class DeviceId(NamedTuple):
    """Identity of a device; names of devices are unique for each pool."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        """Return the identity as kube-scheduler's texts have it."""
        return "/".join(self)


class CounterId(NamedTuple):
    """Identity of a counter in its pool."""

    counter_set: str
    counter: str


Counters: TypeAlias = Mapping[CounterId, amounts.Number]


@dataclasses.dataclass(frozen=True, slots=True)
class RequestPolicy:
    """The amounts of a capacity that a request can get: `requestPolicy`, parsed."""

    default: amounts.Amount | None
    valid_values: tuple[amounts.Amount, ...]
    minimum: amounts.Amount | None
    maximum: amounts.Amount | None
    step: amounts.Amount | None


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity of a device, parsed."""

    value: amounts.Amount
    policy: RequestPolicy | None


@dataclasses.dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class SliceDevice:
    """A device of a slice; a changed slice has new objects.

    Attributes:
        id: its identity.
        device: the device as published in the slice.
        capacity: its capacities by name.
        counters: its consumption of counters of its pool.
        nodes: the nodes that can use it.
        own_nodes: the nodes that it selects itself, which `perDeviceNodeSelection` permits; None if
            the slice selects them.
    """

    id: DeviceId
    device: device_objects.Device
    capacity: Mapping[str, Capacity]
    counters: Counters
    nodes: node_selection.NodeSelection
    own_nodes: node_selection.NodeSelection | None


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class IndexedSlice:
    """A slice, with its devices and the values of its counters.

    Attributes:
        source: the slice.
        pool: its pool.
        nodes: the nodes that it selects.
        devices: its devices, in its order.
        counter_sets: names of its counter sets, in its order and with repeats.
        counters: the values of its counters.
    """

    source: device_objects.ResourceSlice
    pool: PoolId
    nodes: node_selection.NodeSelection
    devices: tuple[SliceDevice, ...]
    counter_sets: tuple[str, ...]
    counters: Counters

    @property
    def name(self) -> str:
        """Name of the slice."""
        return self.source.metadata.name

    @property
    def spec(self) -> device_objects.ResourceSliceSpec:
        """`spec` of the slice."""
        return self.source.spec

    @property
    def generation(self) -> int:
        """Generation of the pool to which the slice belongs."""
        return self.spec.pool.generation

    @property
    def slice_count(self) -> int:
        """Number of slices that this generation of the pool has."""
        return self.spec.pool.resource_slice_count


def index_slice(item: device_objects.ResourceSlice) -> IndexedSlice:
    """Parse a slice.

    Raises:
        quantity.QuantityError: a capacity or counter is not a quantity.
    """
    spec = item.spec
    pool = PoolId(spec.driver, spec.pool.name)
    nodes = node_selection.make_node_selection(
        spec.node_name, all_nodes=spec.all_nodes, node_selector=spec.node_selector
    )
    return IndexedSlice(
        item,
        pool,
        nodes,
        tuple(_index_device(pool, device, spec, nodes) for device in spec.devices),
        tuple(each.name for each in spec.shared_counters),
        {
            CounterId(each.name, name): amounts.make_amount(counter.value).number
            for each in spec.shared_counters
            for name, counter in each.counters.items()
        },
    )


def _index_device(
    pool: PoolId,
    device: device_objects.Device,
    spec: device_objects.ResourceSliceSpec,
    slice_nodes: node_selection.NodeSelection,
) -> SliceDevice:
    own_nodes = None
    if spec.per_device_node_selection:
        own_nodes = node_selection.make_node_selection(
            device.node_name, all_nodes=device.all_nodes, node_selector=device.node_selector
        )
    return SliceDevice(
        DeviceId(*pool, device.name),
        device,
        {name: _parse_capacity(each) for name, each in device.capacity.items()},
        _sum_counters(device.consumes_counters),
        slice_nodes if own_nodes is None else own_nodes,
        own_nodes,
    )


def _sum_counters(
    consumptions: Iterable[device_objects.DeviceCounterConsumption],
) -> dict[CounterId, amounts.Number]:
    sums: dict[CounterId, amounts.Number] = {}
    for consumption in consumptions:
        for name, counter in consumption.counters.items():
            counter_id = CounterId(consumption.counter_set, name)
            sums[counter_id] = sums.get(counter_id, 0) + amounts.make_amount(counter.value).number
    return sums


def _parse_capacity(capacity: device_objects.DeviceCapacity) -> Capacity:
    policy = capacity.request_policy
    return Capacity(
        amounts.make_amount(capacity.value), None if policy is None else _parse_policy(policy)
    )


def _parse_policy(policy: device_objects.CapacityRequestPolicy) -> RequestPolicy:
    valid_range = policy.valid_range or device_objects.CapacityRequestPolicyRange()
    return RequestPolicy(
        _parse_optional(policy.default),
        tuple(amounts.make_amount(each) for each in policy.valid_values),
        _parse_optional(valid_range.min),
        _parse_optional(valid_range.max),
        _parse_optional(valid_range.step),
    )


def _parse_optional(source: wire.Quantity | None) -> amounts.Amount | None:
    return None if source is None else amounts.make_amount(source)
