"""VolumeRestrictions: disks and claims that cannot be shared with the pods that have them.

A disk mounted without a claim keeps other pods off the node (see `cluster/legacy_disks.py`); a
claim with access mode ReadWriteOncePod keeps them off all nodes.

Source: `plugins/volumerestrictions/volume_restrictions.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import pod_shape, snapshot, storage_objects
from policysched.framework import cycle_state, events, interface, status
from policysched.plugins import names, volume_restrictions_hints

REASON_DISK = "node(s) had no available disk"
REASON_CLAIM = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"  # noqa: E501 - one text


class VolumeRestrictions:
    """Rejects nodes whose pods mount a disk of the pod, and all nodes when its claim is in use."""

    name = names.VOLUME_RESTRICTIONS
    reads: ClassVar = interface.Reads.ANYTHING

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Look at pods that mount a disk or name a claim."""
        del state, snap
        return bool(shape.disks) or any(not use.is_ephemeral for use in shape.claims)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject pods whose claims do not exist; skip those that nothing keeps away."""
        namespace = pod.shape.namespace
        is_claim_in_use = False
        for use in pod.shape.claims:
            if use.is_ephemeral:
                continue
            claim = snap.storage.claims.get(use.claim_name, namespace)
            if claim is None:
                missing = f'persistentvolumeclaim "{use.claim_name}" not found'
                return interface.PreFilterResult(status.unresolvable(self.name, missing))
            if storage_objects.READ_WRITE_ONCE_POD in claim.spec.access_modes:
                is_claim_in_use |= snap.is_claim_used(namespace, use.claim_name)
        if not pod.shape.disks and not is_claim_in_use:
            return interface.PreFilterResult(status.SKIP)
        state.write(self.name, is_claim_in_use)
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return one answer for each of the n nodes; disks are told of first."""
        snap = nodes.snapshot
        taken = snap.storage.pods.disks.conflicts(pod.shape.disks, snap.size)[nodes.rows]
        in_use = np.full(len(nodes), state.read(self.name, bool))
        return status.NodeStatuses.first_of(
            len(nodes),
            [
                (taken, status.unschedulable(self.name, REASON_DISK)),
                (in_use, status.unschedulable(self.name, REASON_CLAIM)),
            ],
        )

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for pods that let go of a disk or claim, for claims and nodes."""
        return volume_restrictions_hints.REGISTRATIONS


if TYPE_CHECKING:
    _scoped: type[interface.ScopedPlugin] = VolumeRestrictions
    _pre_filter: type[interface.PreFilterPlugin] = VolumeRestrictions
    _filter: type[interface.FilterPlugin] = VolumeRestrictions
    _events: type[interface.EventsPlugin] = VolumeRestrictions
