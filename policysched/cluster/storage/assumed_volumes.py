"""Track volumes and claims that the scheduler has decided to write but has not yet written.

The claims of a pod are bound in the background, while the scheduler continues with other pods. A
volume that is assigned to a claim, and a claim that is assigned to a node, are therefore assumed
immediately, so that the next cycle does not use them again. The API server takes precedence: an
assumption applies to one version of an object and ends with it
(`plugins/volumebinding/passive_assume_cache.go`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from policysched.cluster import change_log
from policysched.cluster.objects import storage_objects

ObjectT = TypeVar(
    "ObjectT",
    bound=storage_objects.PersistentVolume | storage_objects.PersistentVolumeClaim,
)
ToldT_co = TypeVar("ToldT_co", covariant=True)


class ObservedObjects(Protocol[ToldT_co]):
    """Objects in the version that the API server last reported; see `storage.ObjectStore`."""

    changes: change_log.ChangeLog[tuple[str, str]]

    def get(self, name: str, namespace: str = "") -> ToldT_co | None:
        """Return the object with this name, or None."""
        ...

    def list_group(self, key: str) -> tuple[ToldT_co, ...]:
        """Return the objects of one group."""
        ...


class AssumedObjects(Generic[ObjectT]):
    """The objects of one store, with assumed versions in place of observed versions."""

    def __init__(self, store: ObservedObjects[ObjectT]) -> None:
        """Start without assumptions about the objects of `store`."""
        self._store = store
        self._assumed: dict[tuple[str, str], ObjectT] = {}
        self._changes = change_log.ChangeLog[tuple[str, str]]()

    @property
    def count(self) -> int:
        """Number of current assumptions."""
        self._forget_outdated()
        return len(self._assumed)

    def get(self, name: str, namespace: str = "") -> ObjectT | None:
        """Return the assumed or else the observed version of an object, or None."""
        told = self._store.get(name, namespace)
        return None if told is None else self._get_assumed_or_observed(told)

    def list_group(self, key: str) -> Sequence[ObjectT]:
        """Return the objects of one group of the store, in their assumed versions if any."""
        told = self._store.list_group(key)
        return [self._get_assumed_or_observed(item) for item in told] if self._assumed else told

    @property
    def cursor(self) -> tuple[int, int]:
        """The current position, for `list_changes_since`."""
        return self._store.changes.generation, self._changes.generation

    def list_changes_since(self, moment: tuple[int, int]) -> set[tuple[str, str]] | None:
        """Return (namespace, name) of the objects changed since a cursor; None if some are unknown.

        New and restored assumptions count as changes.
        """
        told, assumed = (
            self._store.changes.list_changes_since(moment[0]),
            self._changes.list_changes_since(moment[1]),
        )
        return None if told is None or assumed is None else {*told, *assumed}

    def assume(self, item: ObjectT) -> None:
        """Assume `item` until it is restored or the API server reports a new version."""
        self._forget_outdated()
        self._assumed[_make_object_key(item)] = item
        self._changes.note_changed_item(_make_object_key(item))

    def restore(self, item: ObjectT) -> None:
        """Drop the assumption about the version of `item`, if it exists."""
        assumed = self._assumed.get(_make_object_key(item))
        if assumed is not None and _have_same_version(assumed, item):
            del self._assumed[_make_object_key(item)]
            self._changes.note_changed_item(_make_object_key(item))

    def _get_assumed_or_observed(self, told: ObjectT) -> ObjectT:
        assumed = self._assumed.get(_make_object_key(told))
        return told if assumed is None or not _have_same_version(assumed, told) else assumed

    def _forget_outdated(self) -> None:
        for key, assumed in list(self._assumed.items()):
            namespace, name = key
            told = self._store.get(name, namespace)
            if told is None or not _have_same_version(assumed, told):
                del self._assumed[key]


class AssumedVolumes:
    """The assumed and observed versions of volumes and claims.

    Attributes:
        volumes: PersistentVolumes, grouped by class name.
        claims: PersistentVolumeClaims.
    """

    def __init__(
        self,
        volumes: ObservedObjects[storage_objects.PersistentVolume],
        claims: ObservedObjects[storage_objects.PersistentVolumeClaim],
    ) -> None:
        """Start without assumptions."""
        self.volumes = AssumedObjects(volumes)
        self.claims = AssumedObjects(claims)


def _make_object_key(item: ObjectT) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name


def _have_same_version(one: ObjectT, other: ObjectT) -> bool:
    return (one.metadata.resource_version, one.metadata.uid) == (
        other.metadata.resource_version,
        other.metadata.uid,
    )
