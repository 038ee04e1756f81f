"""Store the objects of one kind like an API server: uid, resourceVersion and watch.

A change is not delivered to watches immediately: `SimulatedApiServer.deliver_changes` delivers the
changes to objects of all kinds in order. The scheduler therefore sees its own bindings late, as
with a real API server.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec

from policysched import errors
from policysched.cluster.objects import disruption_budgets, objects, storage_objects

ObjectT = TypeVar(
    "ObjectT",
    bound=objects.Node
    | objects.Pod
    | objects.Namespace
    | storage_objects.StorageObject
    | disruption_budgets.PodDisruptionBudget,
)
WatchedT_contra = TypeVar("WatchedT_contra", contravariant=True)


class SimulatedApiError(errors.RemoteError):
    """The simulated API server rejected a request.

    Attributes:
        reason: status reason of Kubernetes, such as AlreadyExists, Conflict or NotFound.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class WatchSink(Protocol[WatchedT_contra]):
    """The receiver of a watch; the scheduler has one sink for each kind of object."""

    def replace(self, items: Iterable[WatchedT_contra]) -> None:
        """Receive the result of a list: all objects of the kind."""
        ...

    def upsert(self, item: WatchedT_contra) -> None:
        """Receive a new or changed object."""
        ...

    def delete(self, item: WatchedT_contra) -> None:
        """Receive a deleted object in its last state."""
        ...


class CollectionJournal(Protocol):
    """The state that all collections share: version counter and undelivered changes."""

    def make_next_version(self) -> int:
        """Return the next resourceVersion."""
        ...

    def make_uid(self) -> str:
        """Return a new uid."""
        ...

    def now(self) -> datetime.datetime:
        """Return the time for creationTimestamp."""
        ...

    def queue_delivery(self, deliver: Callable[[], None]) -> None:
        """Queue the delivery of one change until the server delivers it."""
        ...


class ObjectCollection(Generic[ObjectT]):
    """The objects of one kind, keyed by `namespace/name`, or `name` for cluster-scoped kinds."""

    def __init__(self, kind: str, journal: CollectionJournal) -> None:
        """Start empty; `kind` is the name of the kind in error messages."""
        self._kind = kind
        self._journal = journal
        self._objects: dict[str, ObjectT] = {}
        self._sinks: list[WatchSink[ObjectT]] = []

    def __iter__(self) -> Iterator[ObjectT]:
        """Iterate over the objects in the order of their creation."""
        return iter(list(self._objects.values()))

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._objects)

    def watch_objects(self, sink: WatchSink[ObjectT]) -> None:
        """Pass all objects to the sink now, and each later change when it is delivered."""
        self._sinks.append(sink)
        sink.replace(list(self._objects.values()))

    def find(self, name: str, namespace: str = "") -> ObjectT | None:
        """Return the object with this name, or None."""
        return self._objects.get(_make_object_key(namespace, name))

    def get(self, name: str, namespace: str = "") -> ObjectT:
        """Return the object with this name.

        Raises:
            SimulatedApiError: there is no object with this name.
        """
        found = self.find(name, namespace)
        if found is None:
            raise self._make_not_found_error(_make_object_key(namespace, name))
        return found

    def create(self, item: ObjectT) -> ObjectT:
        """Store a new object; return it with its uid, resourceVersion and creationTimestamp.

        Raises:
            SimulatedApiError: an object with this name already exists.
        """
        key = _make_object_key(item.metadata.namespace, item.metadata.name)
        if key in self._objects:
            raise SimulatedApiError("AlreadyExists", f'{self._kind} "{key}" already exists')
        created_at = self._journal.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        uid = item.metadata.uid or self._journal.make_uid()
        created = _replace_metadata(item, uid=uid, creation_timestamp=created_at)
        return self._store_object(key, created)

    def update(self, item: ObjectT) -> ObjectT:
        """Replace an object; return it with its new resourceVersion.

        Raises:
            SimulatedApiError: the object does not exist, has another uid, or has changed since the
                resourceVersion of `item`; an empty resourceVersion is not compared.
        """
        key = _make_object_key(item.metadata.namespace, item.metadata.name)
        old = self._objects.get(key)
        if old is None:
            raise self._make_not_found_error(key)
        if item.metadata.uid not in ("", old.metadata.uid):
            raise SimulatedApiError(
                "Conflict", f'{self._kind} "{key}": the uid is of another object'
            )
        if item.metadata.resource_version not in ("", old.metadata.resource_version):
            raise SimulatedApiError("Conflict", f'{self._kind} "{key}" was modified; read it again')
        kept = _replace_metadata(
            item, uid=old.metadata.uid, creation_timestamp=old.metadata.creation_timestamp
        )
        return self._store_object(key, kept)

    def delete(self, name: str, namespace: str = "") -> ObjectT:
        """Remove an object immediately; return its last state.

        Raises:
            SimulatedApiError: there is no object with this name.
        """
        key = _make_object_key(namespace, name)
        if key not in self._objects:
            raise self._make_not_found_error(key)
        last = self._set_next_version(self._objects.pop(key))
        self._journal.queue_delivery(lambda: self._deliver_deleted(last))
        return last

    def _store_object(self, key: str, item: ObjectT) -> ObjectT:
        stored = self._objects[key] = self._set_next_version(item)
        self._journal.queue_delivery(lambda: self._deliver_changed(stored))
        return stored

    def _set_next_version(self, item: ObjectT) -> ObjectT:
        return _replace_metadata(item, resource_version=str(self._journal.make_next_version()))

    def _deliver_changed(self, item: ObjectT) -> None:
        for sink in self._sinks:
            sink.upsert(item)

    def _deliver_deleted(self, item: ObjectT) -> None:
        for sink in self._sinks:
            sink.delete(item)

    def _make_not_found_error(self, key: str) -> SimulatedApiError:
        return SimulatedApiError("NotFound", f'{self._kind} "{key}" not found')


def _make_object_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _replace_metadata(item: ObjectT, **changes: str | None) -> ObjectT:
    metadata = msgspec.structs.replace(item.metadata, **changes)
    return msgspec.structs.replace(item, metadata=metadata)
