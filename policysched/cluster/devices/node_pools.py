"""Cache the pools of every node, as one object for all nodes that can use the same devices.

The pools of a node determine whether devices can be allocated; its other fields do not. So a result
for a set of pools holds for all nodes that have the set: one node if the devices are local, and all
nodes if the devices are in the network.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log
from policysched.cluster.columns import columns
from policysched.cluster.devices import node_selection, pools, slices
from policysched.cluster.devices.slice_devices import IndexedSlice, PoolId, SliceDevice
from policysched.cluster.objects import objects


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class PoolSet:
    """The pools that some nodes can use.

    Attributes:
        pools: the pools, in the order in which the allocator tries them; without ready pools that
            have no devices for the nodes.
        slices: the slices for the nodes, also outdated ones and those of incomplete pools.
        error: the reason why the pools are unknown, or "".
    """

    pools: tuple[pools.NodePool, ...] = ()
    slices: tuple[IndexedSlice, ...] = ()
    error: str = ""

    def list_devices(self) -> list[SliceDevice]:
        """Return the devices that can be allocated, in the published order."""
        return [device for pool in self.pools for device in pool.devices]

    def list_published_devices(self) -> list[SliceDevice]:
        """Return the devices of all slices for the nodes."""
        return [device for each in self.slices for device in each.devices]


class NodePools:
    """The set of pools of each node; it follows slices and nodes.

    Attributes:
        sets: the sets; unused ones are dropped with the next `epoch`.
        set_of_row: intp (C,), index into `sets` of each row; it has no meaning for dead rows.
        epoch: a number that changes when the sets get new numbers.
    """

    def __init__(self, known: slices.ResourceSlices) -> None:
        """Start empty; `known` has the slices."""
        self._known = known
        self._slice_changes = change_log.ChangeLogReader(known.changes)
        self._pool_changes = change_log.ChangeLogReader(known.pool_changes)
        self._unready_elsewhere: dict[PoolId, pools.NodePool] = {}
        self._node_changes = change_log.ChangeLogCursor()
        self.epoch = 0
        self._clear()

    def _clear(self) -> None:
        self.epoch += 1
        self.sets: list[PoolSet] = []
        self.set_of_row: npt.NDArray[np.intp] = np.zeros(0, np.intp)
        self._numbers: dict[Hashable, int] = {}
        self._with_pool: dict[PoolId, list[int]] = {}

    def list_sets_with(self, changed: Iterable[PoolId]) -> set[int]:
        """Return the numbers of the sets that have a device of one of some pools."""
        return {number for pool in changed for number in self._with_pool.get(pool, ())}

    def refresh(self, nodes: columns.NodeColumns) -> None:
        """Update the sets of all rows whose node or slices changed."""
        has_changed = self._refresh_unready_pools()
        slice_changes = self._slice_changes.read_changes()
        rows = self._node_changes.read_changes(nodes.node_changes)
        if has_changed or slice_changes is None or rows is None or len(self.sets) > 2 * nodes.size:
            self._clear()
            changed: Iterable[int] = range(nodes.size)
        else:
            known_rows = (nodes.row_of.get(name) for name in slice_changes)
            changed = {*rows, *(row for row in known_rows if row is not None)}
        if nodes.size > len(self.set_of_row):
            self.set_of_row = np.resize(self.set_of_row, 2 * nodes.size)
        for row in changed:
            node = nodes.nodes[row]
            if node is not None:
                self.set_of_row[row] = self._find_number(node)

    def _refresh_unready_pools(self) -> bool:
        """Update the pools with counters that are not ready; return whether any state changed.

        Slices with counters are for all nodes. A pool that is not ready rejects requests for all
        devices on every node. A ready pool does not affect nodes that can use none of its devices.
        """
        changed = self._pool_changes.read_changes()
        if changed is None:
            changed = [*self._known.list_pools_with_counters(), *self._unready_elsewhere]
        has_changed = False
        for pool in set(changed):
            old = self._unready_elsewhere.pop(pool, None)
            new = pools.find_unready_pool(self._known, pool)
            if new is not None:
                self._unready_elsewhere[pool] = new
            has_changed |= (old and old.state) != (new and new.state)
        return has_changed

    def _find_number(self, node: objects.Node) -> int:
        try:
            of_node = pools.select_slices(self._known, node)
        except node_selection.NodeSelectionError as error:
            return self._add_set(str(error), PoolSet(error=str(error)))
        newest = pools.group_newest(of_node)
        key = tuple(_list_identities(self._known, of_node, newest, node))
        number = self._numbers.get(key)
        if number is None:
            elsewhere = [each for id_, each in self._unready_elsewhere.items() if id_ not in newest]
            made = pools.sort_pools([*pools.make_pools(self._known, newest), *elsewhere])
            number = self._add_set(key, PoolSet(tuple(made), tuple(of_node)))
        return number

    def _add_set(self, key: Hashable, new: PoolSet) -> int:
        number = self._numbers.setdefault(key, len(self.sets))
        if number == len(self.sets):
            self.sets.append(new)
            for pool in {each.pool for each in new.slices if each.devices}:
                self._with_pool.setdefault(pool, []).append(number)
        return number


def _list_identities(
    known: slices.ResourceSlices,
    of_node: Iterable[IndexedSlice],
    newest: pools.NodeSlices,
    node: objects.Node,
) -> Iterator[Hashable]:
    """Yield the parts of a key that identifies the pools of a node in their current versions."""
    for each in of_node:
        yield each
        if not each.nodes.is_set:
            yield _list_own_devices(each, node)
    for pool, members in newest.items():
        if not pools.is_complete(members):
            yield frozenset(known.list_pool(pool))


def _list_own_devices(of: IndexedSlice, node: objects.Node) -> tuple[bool, ...]:
    """Return for each device whether its own selection has the node (`perDeviceNodeSelection`).

    A selector that cannot be parsed selects no node; the allocator reports it.
    """
    found = []
    for each in of.devices:
        try:
            found.append(each.own_nodes is not None and each.own_nodes.matches(node))
        except node_selection.NodeSelectionError:
            found.append(False)
    return tuple(found)
