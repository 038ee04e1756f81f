"""Define queueing hints for pods that VolumeZone rejected.

Source: `plugins/volumezone/volume_zone.go`.
"""

from __future__ import annotations

from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.plugins.shared import event_hints
from policysched.plugins.volume_zone import volume_topology


def _after_class_added(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the new class binds claims only when their pod is scheduled."""
    del pod, old
    return event_hints.choose_queueing_hint(
        isinstance(new, storage_objects.StorageClass)
        and new.volume_binding_mode == storage_objects.WAIT_FOR_FIRST_CONSUMER
    )


def _after_claim_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the pod uses the claim."""
    del old
    if not isinstance(new, storage_objects.PersistentVolumeClaim):
        return events.QueueingHint.SKIP
    named = {use.claim_name for use in pod.shape.claims if not use.is_ephemeral}
    same_namespace = new.metadata.namespace == pod.shape.namespace
    return event_hints.choose_queueing_hint(same_namespace and new.metadata.name in named)


def _after_volume_change(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the volume is new, or if its zone or region changed."""
    del pod
    if not isinstance(new, storage_objects.PersistentVolume):
        return events.QueueingHint.SKIP
    if not isinstance(old, storage_objects.PersistentVolume):
        return events.QueueingHint.QUEUE
    return event_hints.choose_queueing_hint(
        volume_topology.list_topology_labels(old) != volume_topology.list_topology_labels(new)
    )


_Resource, _Action = events.EventResource, events.ActionType
_CHANGED = _Action.ADD | _Action.UPDATE

REGISTRATIONS = (
    event_hints.make_event_registration(_Resource.STORAGE_CLASS, _Action.ADD, _after_class_added),
    event_hints.make_event_registration(_Resource.NODE, _Action.ADD | _Action.UPDATE_NODE_LABEL),
    event_hints.make_event_registration(
        _Resource.PERSISTENT_VOLUME_CLAIM, _CHANGED, _after_claim_change
    ),
    event_hints.make_event_registration(
        _Resource.PERSISTENT_VOLUME, _CHANGED, _after_volume_change
    ),
)
