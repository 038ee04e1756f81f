"""Gather the resource pools that a node can use.

Source: `k8s.io/dynamic-resource-allocation/structured`, GatherPools.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from policysched.cluster.devices import node_selection, slices
from policysched.cluster.devices.slice_devices import (
    CounterId,
    Counters,
    IndexedSlice,
    PoolId,
    SliceDevice,
)
from policysched.cluster.objects import objects


class PoolState(enum.Enum):
    """Whether devices of a pool can be allocated."""

    READY = enum.auto()
    INCOMPLETE = enum.auto()
    """The driver has not yet published all slices of the newest generation."""
    INVALID = enum.auto()
    """The slices contradict each other, or name counters that do not exist."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class NodePool:
    """A pool as one node sees it.

    Attributes:
        id: its identity.
        state: whether its devices can be allocated; otherwise, it has neither devices nor counters.
        devices: the devices of slices for this node, in the order in which they are tried.
        devices_elsewhere: devices of other slices, which also use the counters of the pool.
        counters: the values of the counters that the devices share.
    """

    id: PoolId
    state: PoolState
    devices: tuple[SliceDevice, ...] = ()
    devices_elsewhere: tuple[SliceDevice, ...] = ()
    counters: Counters = dataclasses.field(default_factory=dict)

    @property
    def has_binding_conditions(self) -> bool:
        """Whether any device has conditions that must be true before a pod is bound."""
        return any(each.device.binding_conditions for each in self.devices)


NodeSlices: TypeAlias = dict[PoolId, list[IndexedSlice]]
"""The slices for a node, by pool, each pool in its newest generation."""


def select_slices(known: slices.ResourceSlices, node: objects.Node) -> list[IndexedSlice]:
    """Return the slices for a node, of all generations, with the counters of their pools.

    Raises:
        NodeSelectionError: a node selector cannot be parsed.
    """
    found = [each for each in known.list_candidates(node.name) if _is_relevant(each, node)]
    for pool in dict.fromkeys(each.pool for each in found):
        found.extend(known.list_counters(pool))
    return found


def find_unready_pool(known: slices.ResourceSlices, pool: PoolId) -> NodePool | None:
    """Return a pool with counters for nodes that can use none of its devices, or None if ready."""
    newest = group_newest(known.list_counters(pool))
    found = _make_pool(known, pool, newest[pool]) if pool in newest else None
    return None if found is None or found.state is PoolState.READY else found


def group_newest(of_node: Iterable[IndexedSlice]) -> NodeSlices:
    """Return the slices for a node that have the newest generation of their pool, by pool."""
    newest: NodeSlices = {}
    for each in of_node:
        _add_if_newest(newest, each)
    return newest


def make_pools(known: slices.ResourceSlices, of_node: NodeSlices) -> list[NodePool]:
    """Return the pools of a node, in the order of `sort_pools`."""
    made = [_make_pool(known, pool, members) for pool, members in of_node.items()]
    return sort_pools(pool for pool in made if pool is not None)


def sort_pools(some: Iterable[NodePool]) -> list[NodePool]:
    """Return pools in the order in which the allocator tries them.

    Pools with binding conditions come last.
    """
    return sorted(some, key=lambda pool: (pool.has_binding_conditions, pool.id))


def is_complete(members: Sequence[IndexedSlice]) -> bool:
    """Return whether the slices for a node are all slices of the pool."""
    return len(members) == members[0].slice_count


def _is_relevant(each: IndexedSlice, node: objects.Node) -> bool:
    """Return whether a slice with devices is for the node."""
    try:
        if each.nodes.is_set:
            return each.nodes.matches(node)
        return any(_has_own_node(device, node) for device in each.devices)
    except node_selection.NodeSelectionError as error:
        message = f"failed to perform node selection for slice {each.name}: {error}"
        raise node_selection.NodeSelectionError(message) from None


def _has_own_node(device: SliceDevice, node: objects.Node) -> bool:
    return device.own_nodes is not None and device.own_nodes.matches(node)


def _add_if_newest(newest: dict[PoolId, list[IndexedSlice]], each: IndexedSlice) -> None:
    members = newest.get(each.pool)
    if members is None or each.generation > members[0].generation:
        newest[each.pool] = [each]
    elif each.generation == members[0].generation:
        members.append(each)


def _make_pool(
    known: slices.ResourceSlices, pool: PoolId, members: list[IndexedSlice]
) -> NodePool | None:
    """Return the pool of some slices; None if other slices have a newer generation.

    If the node has all slices of the generation, other slices are ignored, also those of a newer
    generation without slices for this node.
    """
    if is_complete(members):
        return _build_pool(pool, members, ())
    generation = members[0].generation
    of_pool = known.list_pool(pool)
    if any(each.generation > generation for each in of_pool):
        return None
    current = [each for each in of_pool if each.generation == generation]
    if len(current) != members[0].slice_count:
        return NodePool(pool, PoolState.INCOMPLETE)
    names = {each.name for each in members}
    return _build_pool(pool, members, [each for each in current if each.name not in names])


def _build_pool(
    pool: PoolId, members: Iterable[IndexedSlice], elsewhere: Sequence[IndexedSlice]
) -> NodePool:
    members = sorted(members, key=lambda each: each.name)
    with_counters = [each for each in members if each.counter_sets]
    devices = _list_devices(each for each in members if not each.counter_sets)
    counters = {key: value for each in with_counters for key, value in each.counters.items()}
    counter_sets = [name for each in with_counters for name in each.counter_sets]
    if (
        _has_repeats([each.id.device for each in devices])
        or _has_repeats(counter_sets)
        or not _has_counters(counter_sets, counters, _list_devices([*members, *elsewhere]))
    ):
        return NodePool(pool, PoolState.INVALID)
    return NodePool(pool, PoolState.READY, devices, _list_devices(elsewhere), counters)


def _list_devices(of_slices: Iterable[IndexedSlice]) -> tuple[SliceDevice, ...]:
    return tuple(itertools.chain.from_iterable(each.devices for each in of_slices))


def _has_repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


def _has_counters(
    counter_sets: Sequence[str],
    counters: Mapping[CounterId, object],
    devices: Iterable[SliceDevice],
) -> bool:
    """Return whether all counter sets and counters that devices consume exist."""
    return all(
        consumption.counter_set in counter_sets
        and all(
            CounterId(consumption.counter_set, name) in counters for name in consumption.counters
        )
        for each in devices
        for consumption in each.device.consumes_counters
    )
