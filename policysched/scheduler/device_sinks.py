"""Process changes to ResourceClaims, ResourceSlices and DeviceClasses.

Every change becomes a cluster event of its kind. Changes to claims come from the watch and from
assumptions of the scheduler alike: the devices of a claim are free as soon as the scheduler knows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects, objects
from policysched.framework import events
from policysched.queue import scheduling_queue
from policysched.scheduler import object_changes

_Resource = events.EventResource


class ClaimSink:
    """Processes changes to ResourceClaims."""

    def __init__(
        self, devices: cluster_devices.ClusterDevices, queue: scheduling_queue.SchedulingQueue
    ) -> None:
        """Write claims to `devices`, and send an event to `queue` for every change of a claim."""
        self._claims = devices.claims
        self._events = _ChangeEvents(_Resource.RESOURCE_CLAIM, queue)
        self._claims.on_change = self._events.send

    def replace(self, items: Iterable[device_objects.ResourceClaim]) -> None:
        """Apply a complete list; claims that are not in it are removed."""
        listed = {_make_object_key(item.metadata): item for item in items}
        for known in list(self._claims):
            if _make_object_key(known.metadata) not in listed:
                self.delete(known)
        for item in listed.values():
            self.upsert(item)

    def upsert(self, item: device_objects.ResourceClaim) -> None:
        """Apply a new or changed claim."""
        newest = self._claims.get(*_make_object_key(item.metadata))
        if newest is None or not object_changes.is_same_version(newest.metadata, item.metadata):
            self._claims.set(item)

    def delete(self, item: device_objects.ResourceClaim) -> None:
        """Remove a deleted claim."""
        self._claims.remove(*_make_object_key(item.metadata))


class SliceSink:
    """Processes changes to ResourceSlices."""

    def __init__(
        self, devices: cluster_devices.ClusterDevices, queue: scheduling_queue.SchedulingQueue
    ) -> None:
        """Write slices to `devices`, and send an event to `queue` for every change."""
        self._slices = devices.slices
        self._events = _ChangeEvents(_Resource.RESOURCE_SLICE, queue)

    def replace(self, items: Iterable[device_objects.ResourceSlice]) -> None:
        """Apply a complete list; slices that are not in it are removed."""
        listed = {item.metadata.name: item for item in items}
        for known in list(self._slices):
            if known.metadata.name not in listed:
                self.delete(known)
        for item in listed.values():
            self.upsert(item)

    def upsert(self, item: device_objects.ResourceSlice) -> None:
        """Apply a new or changed slice."""
        old = self._slices.get(item.metadata.name)
        if old is not None and object_changes.is_same_version(old.metadata, item.metadata):
            return
        self._slices.set(item)
        self._events.send(old, item)

    def delete(self, item: device_objects.ResourceSlice) -> None:
        """Remove a deleted slice."""
        old = self._slices.get(item.metadata.name)
        if old is not None:
            self._slices.remove(item.metadata.name)
            self._events.send(old, None)


class ClassSink:
    """Processes changes to DeviceClasses."""

    def __init__(
        self, devices: cluster_devices.ClusterDevices, queue: scheduling_queue.SchedulingQueue
    ) -> None:
        """Write classes to `devices`, and send an event to `queue` for every change."""
        self._classes = devices.classes
        self._events = _ChangeEvents(_Resource.DEVICE_CLASS, queue)

    def replace(self, items: Iterable[device_objects.DeviceClass]) -> None:
        """Apply a complete list; classes that are not in it are removed."""
        listed = {item.metadata.name: item for item in items}
        for known in list(self._classes):
            if known.metadata.name not in listed:
                self.delete(known)
        for item in listed.values():
            self.upsert(item)

    def upsert(self, item: device_objects.DeviceClass) -> None:
        """Apply a new or changed class."""
        old = self._classes.get(item.metadata.name)
        if old is None or not object_changes.is_same_version(old.metadata, item.metadata):
            self._classes.set(item)
            self._events.send(old, item)

    def delete(self, item: device_objects.DeviceClass) -> None:
        """Remove a deleted class."""
        old = self._classes.remove(item.metadata.name)
        if old is not None:
            self._events.send(old, None)


DeviceSink: TypeAlias = ClaimSink | SliceSink | ClassSink


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceSinks:
    """The sinks of all objects about devices."""

    claims: ClaimSink
    slices: SliceSink
    classes: ClassSink

    @property
    def by_kind(self) -> Mapping[type[device_objects.DeviceObject], DeviceSink]:
        """The sinks by type of the objects."""
        return {
            device_objects.ResourceClaim: self.claims,
            device_objects.ResourceSlice: self.slices,
            device_objects.DeviceClass: self.classes,
        }


def make_device_sinks(
    devices: cluster_devices.ClusterDevices, queue: scheduling_queue.SchedulingQueue
) -> DeviceSinks:
    """Return the sinks that write to `devices`."""
    return DeviceSinks(
        ClaimSink(devices, queue), SliceSink(devices, queue), ClassSink(devices, queue)
    )


class _ChangeEvents:
    """Sends an event about one kind of object to the queue."""

    def __init__(
        self, resource: events.EventResource, queue: scheduling_queue.SchedulingQueue
    ) -> None:
        """Send events about `resource`."""
        self._queue = queue
        self._added: Final = events.ClusterEvent(resource, events.ActionType.ADD)
        self._updated: Final = events.ClusterEvent(resource, events.ActionType.UPDATE)
        self._deleted: Final = events.ClusterEvent(resource, events.ActionType.DELETE)

    def send(
        self, old: device_objects.DeviceObject | None, new: device_objects.DeviceObject | None
    ) -> None:
        """Send the event of a change; None for an object that does not exist."""
        event = self._updated
        if old is None or new is None:
            event = self._added if old is None else self._deleted
        self._queue.move_all_to_active_or_backoff(event, old, new)


def _make_object_key(metadata: objects.ObjectMeta) -> tuple[str, str]:
    return metadata.namespace, metadata.name
