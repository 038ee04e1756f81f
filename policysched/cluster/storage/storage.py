"""Store volumes, claims, classes and CSI objects, by name and in the groups that plugins read.

There is one store for each kind, updated by watch events, with the objects as the API server
reported them. `Storage.assumed` contains the decisions that are not written yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from policysched.cluster import change_log
from policysched.cluster.objects import storage_objects
from policysched.cluster.storage import assumed_volumes, volume_pods

ObjectT = TypeVar("ObjectT", bound=storage_objects.StorageObject)


class ObjectStore(Generic[ObjectT]):
    """The objects of one kind, in the order in which they were first added.

    Attributes:
        changes: log of the (namespace, name) of added, changed and removed objects.
    """

    def __init__(self, group_of: Callable[[ObjectT], str] | None = None) -> None:
        """Start empty; `group_of` returns the group of an object, for `list_group`."""
        self.changes = change_log.ChangeLog[tuple[str, str]]()
        self._group_of = group_of
        self._objects: dict[tuple[str, str], ObjectT] = {}
        self._groups: dict[str, dict[tuple[str, str], ObjectT]] = {}

    @property
    def generation(self) -> int:
        """A number that increases with every change, to validate cached results."""
        return self.changes.generation

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._objects)

    def __iter__(self) -> Iterator[ObjectT]:
        """Iterate over all objects; the store must not change during the iteration."""
        return iter(self._objects.values())

    def get(self, name: str, namespace: str = "") -> ObjectT | None:
        """Return the object with this name, or None."""
        return self._objects.get((namespace, name))

    def list_group(self, key: str) -> tuple[ObjectT, ...]:
        """Return the objects of one group."""
        return tuple(self._groups.get(key, {}).values())

    def set(self, item: ObjectT) -> ObjectT | None:
        """Add or replace an object; return the previous version, or None."""
        key = _make_object_key(item)
        old = self._objects.get(key)
        self._objects[key] = item
        if self._group_of is not None:
            group = self._group_of(item)
            if old is not None and self._group_of(old) != group:
                self._leave_group(key, old)
            self._groups.setdefault(group, {})[key] = item
        self.changes.note_changed_item(key)
        return old

    def remove(self, name: str, namespace: str = "") -> ObjectT | None:
        """Remove an object; return its last version, or None if it is unknown."""
        key = (namespace, name)
        old = self._objects.pop(key, None)
        if old is not None:
            self._leave_group(key, old)
            self.changes.note_changed_item(key)
        return old

    def _leave_group(self, key: tuple[str, str], item: ObjectT) -> None:
        if self._group_of is None:
            return
        group = self._group_of(item)
        members = self._groups[group]
        del members[key]
        if not members:
            del self._groups[group]


class Storage:
    """The storage objects that volume plugins read, and the pods that use them.

    Attributes:
        volumes: PersistentVolumes, grouped by class name ("" for none).
        claims: PersistentVolumeClaims.
        classes: StorageClasses.
        csi_nodes: CSINodes; each has the name of its node.
        drivers: CSIDrivers.
        capacities: CSIStorageCapacities, grouped by class name.
        attachments: VolumeAttachments, grouped by node name.
        pods: placed and assumed pods that have volumes.
        assumed: volumes and claims, with decisions of the scheduler that are not written yet.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.volumes = ObjectStore[storage_objects.PersistentVolume](lambda v: v.class_name)
        self.claims = ObjectStore[storage_objects.PersistentVolumeClaim]()
        self.classes = ObjectStore[storage_objects.StorageClass]()
        self.csi_nodes = ObjectStore[storage_objects.CSINode]()
        self.drivers = ObjectStore[storage_objects.CSIDriver]()
        self.capacities = ObjectStore[storage_objects.CSIStorageCapacity](
            lambda c: c.storage_class_name
        )
        self.attachments = ObjectStore[storage_objects.VolumeAttachment](lambda a: a.spec.node_name)
        self.pods = volume_pods.VolumePods()
        self.assumed = assumed_volumes.AssumedVolumes(self.volumes, self.claims)
        self._stores: dict[type[Any], ObjectStore[Any]] = {
            storage_objects.PersistentVolume: self.volumes,
            storage_objects.PersistentVolumeClaim: self.claims,
            storage_objects.StorageClass: self.classes,
            storage_objects.CSINode: self.csi_nodes,
            storage_objects.CSIDriver: self.drivers,
            storage_objects.CSIStorageCapacity: self.capacities,
            storage_objects.VolumeAttachment: self.attachments,
        }

    @property
    def generation(self) -> int:
        """A number that increases when an object changes; for pods, see `VolumePods.generation`."""
        return sum(store.generation for store in self._stores.values())

    def get_store(self, kind: type[ObjectT]) -> ObjectStore[ObjectT]:
        """Return the store for objects of one type."""
        return self._stores[kind]


def _make_object_key(item: storage_objects.StorageObject) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name
