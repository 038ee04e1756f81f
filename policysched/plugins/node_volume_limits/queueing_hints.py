"""Define queueing hints for pods that NodeVolumeLimits rejected.

Source: `plugins/nodevolumelimits/csi.go`. Unlike in kube-scheduler, the detachment of a volume also
queues pods that have only ephemeral volumes.
"""

from __future__ import annotations

from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import csi_migration
from policysched.framework import events
from policysched.plugins.shared import event_hints


def _after_csi_node_update(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the limit of a driver was raised or newly set."""
    del pod
    if not isinstance(new, storage_objects.CSINode):
        return events.QueueingHint.SKIP
    before = _get_limits_by_driver(old) if isinstance(old, storage_objects.CSINode) else {}
    return event_hints.choose_queueing_hint(
        any(n > before.get(name, 0) for name, n in _get_limits_by_driver(new).items())
    )


def _get_limits_by_driver(csi_node: storage_objects.CSINode) -> dict[str, int]:
    """Return the limit of each driver; 0 for no limit, as in kube-scheduler's hint."""
    return {d.name: (d.allocatable and d.allocatable.count) or 0 for d in csi_node.spec.drivers}


def _after_pod_deleted(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the deleted pod had volumes that can count against a limit."""
    del pod, new
    if not isinstance(old, pod_shape.PodInfo) or not event_hints.is_placed_or_nominated(old):
        return events.QueueingHint.SKIP
    return event_hints.choose_queueing_hint(
        bool(old.shape.claims or _list_in_tree_plugins(old.shape))
    )


def _after_claim_added(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the pod uses the claim."""
    del old
    if not isinstance(new, storage_objects.PersistentVolumeClaim):
        return events.QueueingHint.SKIP
    is_own = any(use.claim_name == new.metadata.name for use in pod.shape.claims)
    return event_hints.choose_queueing_hint(
        is_own and new.metadata.namespace == pod.shape.namespace
    )


def _after_attachment_deleted(
    pod: pod_shape.PodInfo, old: events.ClusterObject, new: events.ClusterObject
) -> events.QueueingHint:
    """Queue if the pod has claims, or an in-tree volume that the attachment's driver now serves."""
    del new
    if not isinstance(old, storage_objects.VolumeAttachment):
        return events.QueueingHint.SKIP
    drivers = {csi_migration.DRIVERS[plugin] for plugin in _list_in_tree_plugins(pod.shape)}
    return event_hints.choose_queueing_hint(bool(pod.shape.claims) or old.spec.attacher in drivers)


def _list_in_tree_plugins(shape: pod_shape.PodShape) -> set[str]:
    plugins = (csi_migration.find_in_tree_plugin(volume) for volume in shape.spec.volumes)
    return {plugin for plugin in plugins if plugin is not None}


_Resource, _Action = events.EventResource, events.ActionType

REGISTRATIONS = (
    event_hints.make_event_registration(_Resource.CSI_NODE, _Action.ADD),
    event_hints.make_event_registration(_Resource.CSI_NODE, _Action.UPDATE, _after_csi_node_update),
    event_hints.make_event_registration(_Resource.POD, _Action.DELETE, _after_pod_deleted),
    event_hints.make_event_registration(
        _Resource.PERSISTENT_VOLUME_CLAIM, _Action.ADD, _after_claim_added
    ),
    event_hints.make_event_registration(
        _Resource.VOLUME_ATTACHMENT, _Action.DELETE, _after_attachment_deleted
    ),
)
