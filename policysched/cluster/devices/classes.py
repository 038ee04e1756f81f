"""Store DeviceClasses, and find those that provide extended resources.

Source: `framework/plugins/dynamicresources/extended` (ExtendedResourceCache).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policysched.cluster.objects import device_objects

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that each class provides, before the name of the class."""


class DeviceClasses:
    """The classes by name.

    Attributes:
        generation: a number that increases with every change, to validate cached results.
        resource_generation: the same, for changes of the extended resources that classes provide.
    """

    def __init__(self, items: Iterable[device_objects.DeviceClass] = ()) -> None:
        """Start with some classes."""
        self.generation = self.resource_generation = 0
        self._classes: dict[str, device_objects.DeviceClass] = {}
        self._by_resource: dict[str, str] | None = None
        for each in items:
            self.set(each)

    def __iter__(self) -> Iterator[device_objects.DeviceClass]:
        """Iterate over the classes; they must not change during the iteration."""
        return iter(self._classes.values())

    def get(self, name: str, namespace: str = "") -> device_objects.DeviceClass | None:
        """Return the class with this name, or None; classes have no namespace."""
        del namespace
        return self._classes.get(name)

    def set(self, item: device_objects.DeviceClass) -> device_objects.DeviceClass | None:
        """Add or replace a class; return its previous version, or None."""
        old = self._classes.get(item.metadata.name)
        self._classes[item.metadata.name] = item
        self._note_change(old, item)
        return old

    def remove(self, name: str, namespace: str = "") -> device_objects.DeviceClass | None:
        """Remove a class; return its last version, or None if it is unknown."""
        del namespace
        old = self._classes.pop(name, None)
        if old is not None:
            self._note_change(old, None)
        return old

    def find_class_of_resource(self, resource: str) -> device_objects.DeviceClass | None:
        """Return the class that provides an extended resource, or None.

        If several classes name it, the newest one does, and of those the first by name.
        """
        if resource.startswith(IMPLICIT_PREFIX):
            return self._classes.get(resource.removeprefix(IMPLICIT_PREFIX))
        if self._by_resource is None:
            self._by_resource = self._index_by_resource()
        name = self._by_resource.get(resource)
        return None if name is None else self._classes[name]

    def _index_by_resource(self) -> dict[str, str]:
        found: dict[str, str] = {}
        by_name = sorted(self, key=lambda each: each.metadata.name, reverse=True)
        for each in sorted(by_name, key=lambda each: each.metadata.creation_timestamp or ""):
            if each.spec.extended_resource_name:
                found[each.spec.extended_resource_name] = each.metadata.name
        return found

    def _note_change(
        self, old: device_objects.DeviceClass | None, new: device_objects.DeviceClass | None
    ) -> None:
        self.generation += 1
        if _get_provision(old) != _get_provision(new):
            self.resource_generation += 1
            self._by_resource = None


def _get_provision(item: device_objects.DeviceClass | None) -> tuple[str | None, ...] | None:
    """Return the fields that determine the extended resource of a class; None without a class."""
    if item is None:
        return None
    return item.spec.extended_resource_name, item.metadata.creation_timestamp
