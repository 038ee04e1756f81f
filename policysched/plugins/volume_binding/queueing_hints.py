"""Define queueing hints for pods that VolumeBinding rejected.

Source: `plugins/volumebinding/volume_binding.go`, EventsToRegister and its hints. In addition, the
deletion of a pod with claims queues pods. If its binding failed, the volumes that were reserved for
it become free without an event about a volume.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.plugins.kernels import storage_capacity
from policysched.plugins.shared import event_hints

ObjectT = TypeVar("ObjectT", bound=storage_objects.StorageObject)
_Resource, _Action = events.EventResource, events.ActionType


def _after_class_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue for a new class, or if the allowed topologies of a class changed."""
    del pod
    before, after = _narrow_to_type(storage_objects.StorageClass, old, new)
    if before is None or after is None:
        return events.QueueingHint.QUEUE
    return event_hints.choose_queueing_hint(before.allowed_topologies != after.allowed_topologies)


def _after_claim_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the pod uses the claim."""
    _, claim = _narrow_to_type(storage_objects.PersistentVolumeClaim, old, new)
    if claim is None:
        return events.QueueingHint.QUEUE
    is_used = any(use.claim_name == claim.metadata.name for use in pod.shape.claims)
    return event_hints.choose_queueing_hint(
        is_used and claim.metadata.namespace == pod.shape.namespace
    )


def _after_csi_node_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue for a new CSINode, or if its migrated in-tree plugins changed."""
    del pod
    before, after = _narrow_to_type(storage_objects.CSINode, old, new)
    if before is None or after is None:
        return events.QueueingHint.QUEUE
    return event_hints.choose_queueing_hint(
        _get_migrated_plugins_annotation(before) != _get_migrated_plugins_annotation(after)
    )


def _get_migrated_plugins_annotation(csi_node: storage_objects.CSINode) -> str:
    return csi_node.metadata.annotations.get(storage_objects.MIGRATED_PLUGINS, "")


def _after_driver_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the driver of an inline volume of the pod stops tracking capacity."""
    before, after = _narrow_to_type(storage_objects.CSIDriver, old, new)
    if before is None or after is None:
        return events.QueueingHint.QUEUE
    is_used = any(
        v.csi is not None and v.csi.driver == after.metadata.name for v in pod.shape.spec.volumes
    )
    return event_hints.choose_queueing_hint(
        is_used and bool(before.spec.storage_capacity) and not after.spec.storage_capacity
    )


def _after_capacity_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue for a new capacity, or if a capacity now allows larger volumes."""
    del pod
    before, after = _narrow_to_type(storage_objects.CSIStorageCapacity, old, new)
    if before is None or after is None:
        return events.QueueingHint.QUEUE
    return event_hints.choose_queueing_hint(
        storage_capacity.limit(after) > storage_capacity.limit(before)
    )


def _after_pod_deletion(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if volumes could have been reserved for the deleted pod."""
    del pod, new
    return event_hints.choose_queueing_hint(
        isinstance(old, pod_shape.PodInfo) and bool(old.shape.claims)
    )


def _narrow_to_type(
    kind: type[ObjectT], old: events.ClusterObject, new: events.ClusterObject
) -> tuple[ObjectT | None, ObjectT | None]:
    """Return both objects, with None in place of objects of another type."""
    return old if isinstance(old, kind) else None, new if isinstance(new, kind) else None


_CHANGE = _Action.ADD | _Action.UPDATE
REGISTRATIONS: Sequence[events.ClusterEventWithHint] = (
    event_hints.make_event_registration(_Resource.STORAGE_CLASS, _CHANGE, _after_class_change),
    event_hints.make_event_registration(
        _Resource.PERSISTENT_VOLUME_CLAIM, _CHANGE, _after_claim_change
    ),
    event_hints.make_event_registration(_Resource.PERSISTENT_VOLUME, _CHANGE),
    event_hints.make_event_registration(_Resource.NODE, _Action.ADD | _Action.UPDATE_NODE_LABEL),
    event_hints.make_event_registration(_Resource.CSI_NODE, _CHANGE, _after_csi_node_change),
    event_hints.make_event_registration(_Resource.CSI_DRIVER, _Action.UPDATE, _after_driver_change),
    event_hints.make_event_registration(
        _Resource.CSI_STORAGE_CAPACITY, _CHANGE, _after_capacity_change
    ),
    event_hints.make_event_registration(_Resource.POD, _Action.DELETE, _after_pod_deletion),
)
