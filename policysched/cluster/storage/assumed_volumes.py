"""Volumes and claims as they will be once what the scheduler decided has been written.

A pod's claims are bound in the background, after the next pods have been scheduled. So a volume
that is promised to a claim, and a claim that has got a node, are assumed here at once: the next pod
sees them as taken. What the API server tells afterwards wins, whatever it is: an assumption is
about one version of an object and ends with it
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
    """What the API server has told; `storage.ObjectStore` is one."""

    changes: change_log.ChangeLog[tuple[str, str]]

    def get(self, name: str, namespace: str = "") -> ToldT_co | None:
        """Return an object, None when there is none of that name."""
        ...

    def list_group(self, key: str) -> tuple[ToldT_co, ...]:
        """Return the objects of one group."""
        ...


class AssumedObjects(Generic[ObjectT]):
    """The objects of one store, with assumptions in place of what they are about."""

    def __init__(self, store: ObservedObjects[ObjectT]) -> None:
        """Assume nothing about the objects of `store` yet."""
        self._store = store
        self._assumed: dict[tuple[str, str], ObjectT] = {}
        self._changes = change_log.ChangeLog[tuple[str, str]]()

    @property
    def count(self) -> int:
        """How many assumptions stand."""
        self._forget_outdated()
        return len(self._assumed)

    def get(self, name: str, namespace: str = "") -> ObjectT | None:
        """Return an object as it is assumed to be, None when there is none of that name."""
        told = self._store.get(name, namespace)
        return None if told is None else self._get_assumed_or_told(told)

    def list_group(self, key: str) -> Sequence[ObjectT]:
        """Return the objects of one group of the store, as they are assumed to be."""
        told = self._store.list_group(key)
        return [self._get_assumed_or_told(item) for item in told] if self._assumed else told

    @property
    def cursor(self) -> tuple[int, int]:
        """What `changed_since` takes."""
        return self._store.changes.generation, self._changes.generation

    def list_changes_since(self, moment: tuple[int, int]) -> set[tuple[str, str]] | None:
        """Return (namespace, name) of what was told or assumed since; None when unknown by now."""
        told, assumed = (
            self._store.changes.list_changes_since(moment[0]),
            self._changes.list_changes_since(moment[1]),
        )
        return None if told is None or assumed is None else {*told, *assumed}

    def assume(self, item: ObjectT) -> None:
        """Take an object for `item`, until it is restored or the API server tells of a change."""
        self._forget_outdated()
        self._assumed[_make_object_key(item)] = item
        self._changes.note_changed_item(_make_object_key(item))

    def restore(self, item: ObjectT) -> None:
        """Give up what is assumed about the version that `item` has, if anything is."""
        assumed = self._assumed.get(_make_object_key(item))
        if assumed is not None and _have_same_version(assumed, item):
            del self._assumed[_make_object_key(item)]
            self._changes.note_changed_item(_make_object_key(item))

    def _get_assumed_or_told(self, told: ObjectT) -> ObjectT:
        assumed = self._assumed.get(_make_object_key(told))
        return told if assumed is None or not _have_same_version(assumed, told) else assumed

    def _forget_outdated(self) -> None:
        for key, assumed in list(self._assumed.items()):
            namespace, name = key
            told = self._store.get(name, namespace)
            if told is None or not _have_same_version(assumed, told):
                del self._assumed[key]


class AssumedVolumes:
    """Volumes and claims as they are assumed to be.

    Attributes:
        volumes: PersistentVolumes; grouped by the name of their class.
        claims: PersistentVolumeClaims.
    """

    def __init__(
        self,
        volumes: ObservedObjects[storage_objects.PersistentVolume],
        claims: ObservedObjects[storage_objects.PersistentVolumeClaim],
    ) -> None:
        """Assume nothing about what is stored yet."""
        self.volumes = AssumedObjects(volumes)
        self.claims = AssumedObjects(claims)


def _make_object_key(item: ObjectT) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name


def _have_same_version(one: ObjectT, other: ObjectT) -> bool:
    return (one.metadata.resource_version, one.metadata.uid) == (
        other.metadata.resource_version,
        other.metadata.uid,
    )
