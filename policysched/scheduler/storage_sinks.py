"""Process changes to storage objects and PodDisruptionBudgets.

Every change to a storage object becomes a cluster event of its kind
(`pkg/scheduler/eventhandlers.go`, buildEvtResHandler). The queueing hints of plugins decide which
changes help a pod. Changes to budgets wake no pods: preemption reads budgets when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeAlias

from policysched.cluster.objects import disruption_budgets, storage_objects
from policysched.cluster.storage import storage as storages
from policysched.framework import events
from policysched.queue import scheduling_queue
from policysched.scheduler import object_changes

_Resource = events.EventResource
RESOURCES: Mapping[type[storage_objects.StorageObject], events.EventResource] = {
    storage_objects.PersistentVolume: _Resource.PERSISTENT_VOLUME,
    storage_objects.PersistentVolumeClaim: _Resource.PERSISTENT_VOLUME_CLAIM,
    storage_objects.StorageClass: _Resource.STORAGE_CLASS,
    storage_objects.CSINode: _Resource.CSI_NODE,
    storage_objects.CSIDriver: _Resource.CSI_DRIVER,
    storage_objects.CSIStorageCapacity: _Resource.CSI_STORAGE_CAPACITY,
    storage_objects.VolumeAttachment: _Resource.VOLUME_ATTACHMENT,
}


class StorageSink(Generic[storages.ObjectT]):
    """Processes changes to storage objects of one kind."""

    def __init__(
        self,
        store: storages.ObjectStore[storages.ObjectT],
        resource: events.EventResource,
        queue: scheduling_queue.SchedulingQueue,
        after_change: Callable[[storages.ObjectT], None] = lambda _: None,
    ) -> None:
        """Write objects to `store`, and send events about `resource` to `queue`.

        `after_change` is called with each object that was added, changed or removed, before its
        event.
        """
        self._store = store
        self._after_change = after_change
        self._queue = queue
        self._added = events.ClusterEvent(resource, events.ActionType.ADD)
        self._updated = events.ClusterEvent(resource, events.ActionType.UPDATE)
        self._deleted = events.ClusterEvent(resource, events.ActionType.DELETE)

    def replace(self, items: Iterable[storages.ObjectT]) -> None:
        """Apply a complete list; objects that are not in it are removed."""
        listed = {_make_object_key(item): item for item in items}
        for gone in [known for known in self._store if _make_object_key(known) not in listed]:
            self.delete(gone)
        for item in listed.values():
            self.upsert(item)

    def upsert(self, item: storages.ObjectT) -> None:
        """Apply a new or changed object."""
        old = self._store.get(item.metadata.name, item.metadata.namespace)
        if old is not None and object_changes.is_same_version(old.metadata, item.metadata):
            return
        self._store.set(item)
        self._after_change(item)
        event = self._added if old is None else self._updated
        self._queue.move_all_to_active_or_backoff(event, old, item)

    def delete(self, item: storages.ObjectT) -> None:
        """Remove a deleted object."""
        old = self._store.remove(item.metadata.name, item.metadata.namespace)
        if old is not None:
            self._after_change(old)
            self._queue.move_all_to_active_or_backoff(self._deleted, old, None)


class BudgetSink:
    """Processes changes to PodDisruptionBudgets."""

    def __init__(self, budgets: disruption_budgets.DisruptionBudgets) -> None:
        """Write budgets to `budgets`."""
        self._budgets = budgets

    def replace(self, items: Iterable[disruption_budgets.PodDisruptionBudget]) -> None:
        """Apply a complete list; budgets that are not in it are removed."""
        listed = {_make_object_key(item): item for item in items}
        for budget in list(self._budgets):
            if (budget.namespace, budget.name) not in listed:
                self._budgets.remove(budget.namespace, budget.name)
        for item in listed.values():
            self.upsert(item)

    def upsert(self, item: disruption_budgets.PodDisruptionBudget) -> None:
        """Apply a new or changed budget."""
        self._budgets.set(item)

    def delete(self, item: disruption_budgets.PodDisruptionBudget) -> None:
        """Remove a deleted budget."""
        self._budgets.remove(item.metadata.namespace, item.metadata.name)


StorageSinks: TypeAlias = Mapping[type[storage_objects.StorageObject], StorageSink[Any]]


def make_storage_sinks(
    storage: storages.Storage,
    queue: scheduling_queue.SchedulingQueue,
    after_claim_change: Callable[[storage_objects.PersistentVolumeClaim], None],
) -> StorageSinks:
    """Return a sink for each kind of storage object, keyed by type."""
    sinks: dict[type[storage_objects.StorageObject], StorageSink[Any]] = {
        kind: StorageSink(storage.get_store(kind), resource, queue)
        for kind, resource in RESOURCES.items()
    }
    claim = storage_objects.PersistentVolumeClaim
    sinks[claim] = StorageSink(storage.claims, RESOURCES[claim], queue, after_claim_change)
    return sinks


def _make_object_key(
    item: storage_objects.StorageObject | disruption_budgets.PodDisruptionBudget,
) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
