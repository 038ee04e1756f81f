"""Create the sinks of ResourceClaims, ResourceSlices and DeviceClasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects
from policysched.framework import events
from policysched.queue import scheduling_queue
from policysched.scheduler import object_sink

DeviceSinks: TypeAlias = Mapping[type[device_objects.DeviceObject], object_sink.ObjectSink[Any]]


def make_device_sinks(
    devices: cluster_devices.ClusterDevices, queue: scheduling_queue.SchedulingQueue
) -> DeviceSinks:
    """Return a sink for each kind of object, keyed by type; they write to `devices`.

    ResourceClaims send their own events, because an assumption of the scheduler is also a change:
    the devices of a deallocated claim are free before the watch shows it.
    """

    def make_sender(resource: events.EventResource) -> object_sink.Notify[Any]:
        return object_sink.ChangeEvents(resource, queue).send

    devices.claims.on_change = make_sender(events.EventResource.RESOURCE_CLAIM)
    return {
        device_objects.ResourceClaim: object_sink.ObjectSink(devices.claims, _ignore_change),
        device_objects.ResourceSlice: object_sink.ObjectSink(
            devices.slices, make_sender(events.EventResource.RESOURCE_SLICE)
        ),
        device_objects.DeviceClass: object_sink.ObjectSink(
            devices.classes, make_sender(events.EventResource.DEVICE_CLASS)
        ),
    }


def _ignore_change(old: object, new: object) -> None:
    del old, new
