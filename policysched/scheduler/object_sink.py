"""Process changes to objects of one kind, which a store keeps by name.

Every change becomes a cluster event of its kind (`pkg/scheduler/eventhandlers.go`,
buildEvtResHandler). The queueing hints of plugins decide which changes help a pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

from policysched.cluster.objects import device_objects, storage_objects
from policysched.framework import events
from policysched.queue import scheduling_queue
from policysched.scheduler import object_changes

ObjectT = TypeVar("ObjectT", bound=storage_objects.StorageObject | device_objects.DeviceObject)
Notify: TypeAlias = Callable[[ObjectT | None, ObjectT | None], None]
"""Is called with an object before and after a change; None for an object that does not exist."""


class StoredObjects(Protocol[ObjectT]):
    """The objects of one kind."""

    def __iter__(self) -> Iterator[ObjectT]:
        """Iterate over all objects."""
        ...

    def get(self, name: str, namespace: str = "") -> ObjectT | None:
        """Return the object with this name, or None."""
        ...

    def set(self, item: ObjectT) -> object:
        """Add or replace an object."""
        ...

    def remove(self, name: str, namespace: str = "") -> ObjectT | None:
        """Remove an object; return its last version, or None if it is unknown."""
        ...


class ObjectSink(Generic[ObjectT]):
    """Processes changes to objects of one kind."""

    def __init__(self, store: StoredObjects[ObjectT], notify: Notify[ObjectT]) -> None:
        """Write objects to `store`, and call `notify` after each change."""
        self._store = store
        self._notify = notify

    def replace(self, items: Iterable[ObjectT]) -> None:
        """Apply a complete list; objects that are not in it are removed."""
        listed = {_make_object_key(item): item for item in items}
        for gone in [known for known in self._store if _make_object_key(known) not in listed]:
            self.delete(gone)
        for item in listed.values():
            self.upsert(item)

    def upsert(self, item: ObjectT) -> None:
        """Apply a new or changed object."""
        old = self._store.get(item.metadata.name, item.metadata.namespace)
        if old is not None and object_changes.is_same_version(old.metadata, item.metadata):
            return
        self._store.set(item)
        self._notify(old, item)

    def delete(self, item: ObjectT) -> None:
        """Remove a deleted object."""
        old = self._store.remove(item.metadata.name, item.metadata.namespace)
        if old is not None:
            self._notify(old, None)


class ChangeEvents:
    """Sends an event to the queue for each change of an object of one kind."""

    def __init__(
        self, resource: events.EventResource, queue: scheduling_queue.SchedulingQueue
    ) -> None:
        """Send events about `resource` to `queue`."""
        self._queue = queue
        self._added = events.ClusterEvent(resource, events.ActionType.ADD)
        self._updated = events.ClusterEvent(resource, events.ActionType.UPDATE)
        self._deleted = events.ClusterEvent(resource, events.ActionType.DELETE)

    def send(self, old: events.ClusterObject, new: events.ClusterObject) -> None:
        """Send the event of a change; None for an object that does not exist."""
        event = self._updated
        if old is None or new is None:
            event = self._added if old is None else self._deleted
        self._queue.move_all_to_active_or_backoff(event, old, new)


def _make_object_key(item: ObjectT) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
