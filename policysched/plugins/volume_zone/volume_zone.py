"""VolumeZone: restrict a pod to the zones and regions in the labels of its volumes.

Source: `plugins/volumezone/volume_zone.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import selectors, storage_objects
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import storage
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.shared import node_rejection_texts, pod_independent_filter
from policysched.plugins.volume_zone import queueing_hints, volume_topology

REASON = "node(s) had no available volume zone"


class VolumeZone(pod_independent_filter.PodIndependentFilter):
    """Rejects nodes outside the zones or regions of the volumes of the pod's claims."""

    name = names.VOLUME_ZONE
    reads: ClassVar = interface.Reads.ANYTHING

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the pod uses claims; claims of ephemeral volumes are ignored."""
        del state, snap
        return any(not use.is_ephemeral for use in shape.claims)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Collect the labels of the pod's volumes; skip Filter if there are none."""
        found: list[volume_topology.VolumeTopologyLabel] = []
        for use in pod.shape.claims:
            if use.is_ephemeral:
                continue
            volume = _find_bound_volume(snap.storage, pod.shape.namespace, use.claim_name)
            if isinstance(volume, str):
                return interface.PreFilterResult(status.unresolvable(self.name, volume))
            if volume is not None:
                found += volume_topology.list_topology_labels(volume)
        if not found:
            return interface.PreFilterResult(status.SKIP)
        state.write(self.name, found)
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes; nodes with no zone or region label pass."""
        del pod
        matches = np.ones(len(nodes), np.bool_)
        for topology in state.read(self.name, list):
            matches &= _find_matching_nodes(topology, nodes)
        has_labels = np.zeros(len(nodes), np.bool_)
        for key in volume_topology.KEYS:
            has_labels |= nodes.label_ids(key) >= 0
        rejected = status.unresolvable(self.name, REASON)
        return status.NodeStatuses.where(has_labels & ~matches, rejected)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the node's zone and region labels that do not match the pod's volumes."""
        del reason
        if not self.pre_filter(state, pod, node.snapshot).status.is_success:
            return ""
        found = node_rejection_texts.get_only_node(node)
        return "; ".join(
            f"{node_rejection_texts.format_node_label(found, each.key)}, the volume is in "
            f"{' or '.join(sorted(each.values))}"
            for each in dict.fromkeys(state.read(self.name, list))
            if not _find_matching_nodes(each, node)[0]
        )

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for classes, claims and volumes, and for nodes that start to match."""
        return queueing_hints.REGISTRATIONS


def _find_bound_volume(
    stored: storage.Storage, namespace: str, claim_name: str
) -> storage_objects.PersistentVolume | str | None:
    """Return the volume of a claim, None if binding waits for a pod, or an error text."""
    if not claim_name:
        return "PersistentVolumeClaim had no name"
    claim = stored.claims.get(claim_name, namespace)
    if claim is None:
        return f'persistentvolumeclaim "{claim_name}" not found'
    name = claim.spec.volume_name
    if not name:
        return _explain_unbound_claim(stored, claim)
    volume = stored.volumes.get(name)
    return f'persistentvolume "{name}" not found' if volume is None else volume


def _explain_unbound_claim(
    stored: storage.Storage, claim: storage_objects.PersistentVolumeClaim
) -> str | None:
    """Return the error for a claim without a volume, or None if binding waits for a pod."""
    if not claim.class_name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    found = stored.classes.get(claim.class_name)
    if found is None:
        return f'storageclass.storage.k8s.io "{claim.class_name}" not found'
    if found.volume_binding_mode is None:
        return f'VolumeBindingMode not set for StorageClass "{claim.class_name}"'
    if found.volume_binding_mode == storage_objects.WAIT_FOR_FIRST_CONSUMER:
        return None
    return "PersistentVolume had no name"


def _find_matching_nodes(
    topology: volume_topology.VolumeTopologyLabel, nodes: snapshot.NodeView
) -> columns.NodeMask:
    """Return bool (n,): the nodes with a matching label.

    If a node lacks a beta label, the label that replaced it is compared instead.
    """
    allowed = selectors.Requirement(topology.key, selectors.LabelOperator.IN, topology.values)
    newer = volume_topology.REPLACED_BY.get(topology.key)
    if newer is None:
        return nodes.matches(allowed)
    instead = selectors.Requirement(newer, selectors.LabelOperator.IN, topology.values)
    has_label = nodes.label_ids(topology.key) >= 0
    return np.where(has_label, nodes.matches(allowed), nodes.matches(instead))


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = VolumeZone
    _scoped: type[interface.ScopedPlugin] = VolumeZone
    _pre_filter: type[interface.PreFilterPlugin] = VolumeZone
    _filter: type[interface.FilterPlugin] = VolumeZone
    _apart: type[apart.ApartFilterPlugin] = VolumeZone
    _events: type[interface.EventsPlugin] = VolumeZone
