"""Define queueing hints for pods that VolumeRestrictions rejected.

Source: `plugins/volumerestrictions/volume_restrictions.go`. Unlike in kube-scheduler, the release
of a disk by a pod in another namespace also queues the pods that mount this disk.
"""

from __future__ import annotations

from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape
from policysched.framework import events
from policysched.plugins.shared import event_hints


def _after_pod_deleted(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the deleted pod mounts a disk of the pending pod or uses one of its claims."""
    del new
    if not isinstance(old, pod_shape.PodInfo) or not event_hints.is_placed_or_nominated(old):
        return events.QueueingHint.SKIP
    waiting, gone = pod.shape, old.shape
    frees_disk = any(a.conflicts_with(b) for a in waiting.disks for b in gone.disks)
    same_claims = _list_named_claims(waiting) & _list_named_claims(gone)
    return event_hints.choose_queueing_hint(
        frees_disk or (waiting.namespace == gone.namespace and bool(same_claims))
    )


def _after_claim_added(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the pod uses the claim."""
    del old
    if not isinstance(new, storage_objects.PersistentVolumeClaim):
        return events.QueueingHint.SKIP
    same_namespace = new.metadata.namespace == pod.shape.namespace
    return event_hints.choose_queueing_hint(
        same_namespace and new.metadata.name in _list_named_claims(pod.shape)
    )


def _list_named_claims(shape: pod_shape.PodShape) -> set[str]:
    return {use.claim_name for use in shape.claims if not use.is_ephemeral}


REGISTRATIONS = (
    event_hints.make_event_registration(
        events.EventResource.POD, events.ActionType.DELETE, _after_pod_deleted
    ),
    event_hints.make_event_registration(events.EventResource.NODE, events.ActionType.ADD),
    event_hints.make_event_registration(
        events.EventResource.PERSISTENT_VOLUME_CLAIM, events.ActionType.ADD, _after_claim_added
    ),
)
