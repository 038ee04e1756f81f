"""NodeVolumeLimits: limit the volumes of a CSI driver on a node to the number in its CSINode.

Source: `plugins/nodevolumelimits/csi.go`, with the feature gate VolumeLimitScaling off, as by
default in 1.36. Nodes without a CSINode, or without the driver in it, have no limit.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_shape
from policysched.cluster.storage import attached_volumes, csi_migration, csi_volumes
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.node_volume_limits import queueing_hints

REASON = "node(s) exceed max volume count"


@dataclasses.dataclass(frozen=True, slots=True)
class _PodVolumesByDriver:
    """Driver → volumes that a pod needs attached, or the reason why they are unknown."""

    by_driver: dict[str, set[csi_migration.CSIVolumeIdentity]]
    failure: status.Status | None = None


class NodeVolumeLimits:
    """Rejects nodes on which the volumes of the pod would exceed a limit."""

    name = names.NODE_VOLUME_LIMITS
    reads: ClassVar = interface.Reads.ANYTHING

    def __init__(self) -> None:
        """Start without counts."""
        self._attached: attached_volumes.AttachedVolumeCounts | None = None

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the pod has claims, or in-tree volumes that a CSI driver now serves."""
        del state, snap
        return bool(shape.claims) or any(
            csi_migration.find_in_tree_plugin(v) for v in shape.spec.volumes
        )

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes."""
        del state
        attached = self._get_attached_volumes(nodes.snapshot)
        has_csi_node = attached.has_csi_node()
        without = self._resolve_wanted_volumes(pod, attached, has_csi_node=False)
        wanted = self._resolve_wanted_volumes(pod, attached, has_csi_node=True)
        cases: list[tuple[columns.NodeMask, status.Status]] = []
        if without.failure is not None:
            cases.append((~has_csi_node, without.failure))
        if wanted.failure is not None:
            cases.append((has_csi_node, wanted.failure))
        elif wanted.by_driver:
            cases += self._find_nodes_with_unknown_volumes(attached)
            too_many = status.unschedulable(self.name, REASON)
            for driver, volumes in wanted.by_driver.items():
                cases.append((attached.find_nodes_over_volume_limit(driver, volumes), too_many))
        rows = nodes.rows
        return status.NodeStatuses.first_of(len(nodes), [(m[rows], s) for m, s in cases])

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Do nothing: the count of volumes on a node depends only on its own row."""

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return the status of each of the n nodes as if only its own pods had changed."""
        return self.filter(state, pod, nodes)

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the drivers whose limit on the node the pod's volumes would exceed."""
        del state
        if reason != REASON:
            return ""
        attached = self._get_attached_volumes(node.snapshot)
        row = int(node.row_numbers[0])
        wanted = self._resolve_wanted_volumes(
            pod, attached, has_csi_node=bool(attached.has_csi_node()[row])
        )
        return "; ".join(
            f"driver {driver}: {len(volumes):,} more would exceed the limit of the CSINode"
            for driver, volumes in wanted.by_driver.items()
            if attached.find_nodes_over_volume_limit(driver, volumes)[row]
        )

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for new and raised limits, deleted pods and attachments, and new claims."""
        return queueing_hints.REGISTRATIONS

    def _get_attached_volumes(
        self, snap: snapshot.Snapshot
    ) -> attached_volumes.AttachedVolumeCounts:
        attached = self._attached
        if attached is None or attached.stored is not snap.storage:
            attached = attached_volumes.AttachedVolumeCounts(snap.storage, snap.nodes)
            self._attached = attached
        attached.refresh()
        return attached

    def _resolve_wanted_volumes(
        self,
        pod: pod_shape.PodInfo,
        attached: attached_volumes.AttachedVolumeCounts,
        *,
        has_csi_node: bool,
    ) -> _PodVolumesByDriver:
        """Group the pod's volumes by driver, or return the status of the first unknown volume."""
        by_driver: defaultdict[str, set[csi_migration.CSIVolumeIdentity]] = defaultdict(set)
        lookup = csi_volumes.RecordingObjectLookup(attached.stored)
        for found in csi_volumes.resolve_pod_csi_volumes(pod, lookup, has_csi_node=has_csi_node):
            if isinstance(found, csi_volumes.UnresolvedVolumeReason):
                never = status.Code.UNSCHEDULABLE_AND_UNRESOLVABLE
                code = never if found.is_missing_claim else status.Code.ERROR
                return _PodVolumesByDriver({}, status.Status(code, (found.text,), self.name))
            by_driver[found.driver].add(found)
        return _PodVolumesByDriver(by_driver)

    def _find_nodes_with_unknown_volumes(
        self, attached: attached_volumes.AttachedVolumeCounts
    ) -> list[tuple[columns.NodeMask, status.Status]]:
        """Return a mask and an error for each node that has a pod with unknown volumes."""
        cases = []
        for row, problem in attached.problems.items():
            mask = np.zeros(len(attached.has_limits()), np.bool_)
            mask[row] = True
            cases.append((mask, status.Status(status.Code.ERROR, (problem,), self.name)))
        return cases


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = NodeVolumeLimits
    _scoped: type[interface.ScopedPlugin] = NodeVolumeLimits
    _filter: type[interface.FilterPlugin] = NodeVolumeLimits
    _apart: type[apart.ApartFilterPlugin] = NodeVolumeLimits
    _events: type[interface.EventsPlugin] = NodeVolumeLimits
