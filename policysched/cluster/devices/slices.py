"""Store ResourceSlices, by node and by pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from policysched.cluster import change_log
from policysched.cluster.devices import slice_devices
from policysched.cluster.devices.slice_devices import IndexedSlice, PoolId
from policysched.cluster.objects import device_objects

KeyT = TypeVar("KeyT")


class ResourceSlices:
    """All slices of the cluster, as the API server reported them.

    Attributes:
        changes: log of the nodes of which the pools changed.
        pool_changes: log of the pools with shared counters that changed.
    """

    def __init__(self, slices: Iterable[device_objects.ResourceSlice] = ()) -> None:
        """Start with some slices."""
        self.changes = change_log.ChangeLog[str]()
        self.pool_changes = change_log.ChangeLog[PoolId]()
        self._slices: dict[str, IndexedSlice] = {}
        self._by_node: dict[str, dict[str, IndexedSlice]] = {}
        self._counters: dict[PoolId, dict[str, IndexedSlice]] = {}
        self._by_pool: dict[PoolId, dict[str, IndexedSlice]] = {}
        for each in slices:
            self.set(each)

    def __iter__(self) -> Iterator[device_objects.ResourceSlice]:
        """Iterate over the slices; they must not change during the iteration."""
        return (each.source for each in self._slices.values())

    def get(self, name: str, namespace: str = "") -> device_objects.ResourceSlice | None:
        """Return the slice with this name, or None; slices have no namespace."""
        del namespace
        found = self._slices.get(name)
        return None if found is None else found.source

    def set(self, item: device_objects.ResourceSlice) -> None:
        """Add or replace a slice.

        Raises:
            quantity.QuantityError: a capacity or counter is not a quantity.
        """
        indexed = slice_devices.index_slice(item)
        self.remove(indexed.name)
        self._slices[indexed.name] = indexed
        if indexed.counter_sets:
            self._counters.setdefault(indexed.pool, {})[indexed.name] = indexed
        else:
            self._by_node.setdefault(_get_node_key(indexed), {})[indexed.name] = indexed
        self._by_pool.setdefault(indexed.pool, {})[indexed.name] = indexed
        self._note_change(indexed)

    def remove(self, name: str, namespace: str = "") -> device_objects.ResourceSlice | None:
        """Remove a slice; return its last version, or None if it is unknown."""
        del namespace
        old = self._slices.get(name)
        if old is None:
            return None
        self._note_change(old)
        del self._slices[name]
        if old.counter_sets:
            _leave_group(self._counters, old.pool, name)
        else:
            _leave_group(self._by_node, _get_node_key(old), name)
        _leave_group(self._by_pool, old.pool, name)
        return old.source

    def list_candidates(self, node_name: str) -> Iterator[IndexedSlice]:
        """Yield the slices with devices that the node can possibly use.

        These are its own slices, and slices that name no node.
        """
        yield from self._by_node.get(node_name, {}).values()
        yield from self._by_node.get("", {}).values()

    def list_pools_with_counters(self) -> Iterable[PoolId]:
        """Return the pools that have shared counters."""
        return self._counters.keys()

    def list_counters(self, pool: PoolId) -> Iterable[IndexedSlice]:
        """Return the slices with the shared counters of a pool, of all generations."""
        return self._counters.get(pool, {}).values()

    def _note_change(self, changed: IndexedSlice) -> None:
        """Record the nodes with slices of the pool, because it can be incomplete for them now."""
        of_pool = self.list_pool(changed.pool)
        node_names = {_get_node_key(each) for each in of_pool if not each.counter_sets}
        if "" in node_names:
            self.changes.note_everything_changed()
        elif node_names:
            self.changes.note_changed_items(node_names)
        if changed.pool in self._counters:
            self.pool_changes.note_changed_item(changed.pool)

    def list_pool(self, pool: PoolId) -> Iterable[IndexedSlice]:
        """Return the slices of a pool, of all generations and for all nodes."""
        return self._by_pool.get(pool, {}).values()


def _get_node_key(indexed: IndexedSlice) -> str:
    """Return the name of the only node that can use the devices of a slice, or ""."""
    return indexed.spec.node_name or ""


def _leave_group(groups: dict[KeyT, dict[str, IndexedSlice]], key: KeyT, name: str) -> None:
    del groups[key][name]
    if not groups[key]:
        del groups[key]
