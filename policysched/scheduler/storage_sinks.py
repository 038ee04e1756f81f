"""Process changes to storage objects and PodDisruptionBudgets.

Changes to budgets wake no pods: preemption reads budgets when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from policysched.cluster.objects import disruption_budgets, storage_objects
from policysched.cluster.storage import storage as storages
from policysched.framework import events
from policysched.queue import scheduling_queue
from policysched.scheduler import object_sink

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


StorageSinks: TypeAlias = Mapping[type[storage_objects.StorageObject], object_sink.ObjectSink[Any]]


def make_storage_sinks(
    storage: storages.Storage,
    queue: scheduling_queue.SchedulingQueue,
    after_claim_change: Callable[[storage_objects.PersistentVolumeClaim], None],
) -> StorageSinks:
    """Return a sink for each kind of storage object, keyed by type.

    `after_claim_change` is called with each claim that was added, changed or removed, before its
    event.
    """
    senders = {
        kind: object_sink.ChangeEvents(resource, queue).send for kind, resource in RESOURCES.items()
    }

    def notify_of_claim(
        old: storage_objects.PersistentVolumeClaim | None,
        new: storage_objects.PersistentVolumeClaim | None,
    ) -> None:
        changed = new or old
        if changed is not None:
            after_claim_change(changed)
        senders[storage_objects.PersistentVolumeClaim](old, new)

    sinks: dict[type[storage_objects.StorageObject], object_sink.ObjectSink[Any]] = {
        kind: object_sink.ObjectSink(storage.get_store(kind), send)
        for kind, send in senders.items()
    }
    claim = storage_objects.PersistentVolumeClaim
    sinks[claim] = object_sink.ObjectSink(storage.claims, notify_of_claim)
    return sinks


def _make_object_key(item: disruption_budgets.PodDisruptionBudget) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
