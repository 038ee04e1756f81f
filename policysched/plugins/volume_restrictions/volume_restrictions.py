"""VolumeRestrictions: reject nodes if pods would share disks or claims that they cannot share.

A disk that is mounted without a claim excludes other pods from the node (see
`cluster/pods/legacy_disks.py`). An exclusive claim (access mode ReadWriteOncePod) that is in use
excludes other pods from all nodes.

Source: `plugins/volumerestrictions/volume_restrictions.go`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.objects import storage_objects
from policysched.cluster.pods import pod_shape, storage_requests
from policysched.framework import apart, cycle_state, events, interface, status
from policysched.plugins import names
from policysched.plugins.shared import node_rejection_texts
from policysched.plugins.volume_restrictions import queueing_hints

REASON_DISK = "node(s) had no available disk"
REASON_CLAIM = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"  # noqa: E501 - one text


@dataclasses.dataclass(frozen=True, slots=True)
class _ClaimUsesBeforeWhatIf:
    """The uses of ReadWriteOncePod claims before any hypothetical change.

    Attributes:
        in_use: number of the pod's ReadWriteOncePod claims that any pod uses.
        named_by_row: int64 (N,), number of volumes of placed pods, in any namespace, with the name
            of one of the pod's ReadWriteOncePod claims.
    """

    in_use: int
    named_by_row: columns.IntArray


class VolumeRestrictions:
    """Rejects nodes with a conflicting disk mount; all nodes if an exclusive claim is in use."""

    name = names.VOLUME_RESTRICTIONS
    reads: ClassVar = interface.Reads.ANYTHING

    def applies_to(
        self, state: cycle_state.CycleState, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> bool:
        """Return whether the pod mounts a disk without a claim or uses a claim."""
        del state, snap
        return bool(shape.disks) or any(not use.is_ephemeral for use in shape.claims)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Reject pods whose claims do not exist; skip pods with neither disks nor claims in use."""
        for use in pod.shape.claims:
            if not use.is_ephemeral and _find_claim(pod, use, snap) is None:
                missing = f'persistentvolumeclaim "{use.claim_name}" not found'
                return interface.PreFilterResult(status.unresolvable(self.name, missing))
        in_use = _list_exclusive_claims_in_use(pod, snap)
        if not pod.shape.disks and not in_use:
            return interface.PreFilterResult(status.SKIP)
        state.write(self.name, bool(in_use))
        return interface.PreFilterResult()

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes; if both apply, the reason is the disk."""
        return self._make_filter_statuses(
            pod, nodes, np.full(len(nodes), state.read(self.name, bool))
        )

    def remember(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> None:
        """Store how many of the pod's claims are in use, and uses by row, for `filter_apart`."""
        in_use = _list_exclusive_claims_in_use(pod, snap)
        state.write(
            f"{self.name}/apart",
            _ClaimUsesBeforeWhatIf(len(in_use), _count_claim_names_by_row(pod, snap)),
        )

    def filter_apart(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Return the status of each of the n nodes as if only its own pods had changed.

        As in kube-scheduler (updateWithPod), a removed pod subtracts one use for each of its
        volumes that has the name of an exclusive claim. This holds even though several uses of a
        claim count as one, and claims in other namespaces can have the same name.
        """
        kept = state.read(f"{self.name}/apart", _ClaimUsesBeforeWhatIf)
        change = _count_claim_names_by_row(pod, nodes.snapshot) - kept.named_by_row
        return self._make_filter_statuses(pod, nodes, (kept.in_use + change > 0)[nodes.rows])

    def _make_filter_statuses(
        self, pod: pod_shape.PodInfo, nodes: snapshot.NodeView, in_use: columns.NodeMask
    ) -> status.NodeStatuses:
        """Return a status for each of the n nodes; `in_use` is bool (n,)."""
        snap = nodes.snapshot
        taken = snap.storage.pods.disks.find_nodes_with_disk_conflicts(pod.shape.disks, snap.size)[
            nodes.rows
        ]
        return status.NodeStatuses.first_of(
            len(nodes),
            [
                (taken, status.unschedulable(self.name, REASON_DISK)),
                (in_use, status.unschedulable(self.name, REASON_CLAIM)),
            ],
        )

    def evidence_on(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        node: snapshot.NodeView,
        reason: str,
    ) -> str:
        """Return the pods that use the disk or the claim."""
        del state
        snap, row = node.snapshot, int(node.row_numbers[0])
        if reason == REASON_DISK:
            pods = node_rejection_texts.list_pods_on_rows(
                snap, [row], lambda info: _shares_disk(pod, info)
            )
            return node_rejection_texts.join_names_briefly(pods)
        in_use = sorted(_list_exclusive_claims_in_use(pod, snap))
        rows = {
            r
            for name in in_use
            for r in snap.storage.pods.count_claim_uses(pod.shape.namespace, name)
        }
        pods = node_rejection_texts.list_pods_on_rows(
            snap, sorted(rows), lambda info: _names_any_claim(pod, info, in_use)
        )
        return (
            f"claim {', '.join(in_use)}: {node_rejection_texts.join_names_briefly(pods)}"
            if in_use
            else ""
        )

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Register for pods that release a disk or claim, for new claims and for new nodes."""
        return queueing_hints.REGISTRATIONS


def _find_claim(
    pod: pod_shape.PodInfo, use: storage_requests.ClaimUse, snap: snapshot.Snapshot
) -> storage_objects.PersistentVolumeClaim | None:
    return snap.storage.claims.get(use.claim_name, pod.shape.namespace)


def _shares_disk(pod: pod_shape.PodInfo, other: pod_shape.PodInfo) -> bool:
    return any(a.conflicts_with(b) for a in pod.shape.disks for b in other.shape.disks)


def _names_any_claim(
    pod: pod_shape.PodInfo, other: pod_shape.PodInfo, claims: Sequence[str]
) -> bool:
    is_near = pod.shape.namespace == other.shape.namespace
    return is_near and any(use.claim_name in claims for use in other.shape.claims)


def _list_exclusive_claims(pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> set[str]:
    """Return the names of the pod's ReadWriteOncePod claims."""
    found = {
        u.claim_name: _find_claim(pod, u, snap) for u in pod.shape.claims if not u.is_ephemeral
    }
    return {
        name
        for name, claim in found.items()
        if claim is not None and storage_objects.READ_WRITE_ONCE_POD in claim.spec.access_modes
    }


def _list_exclusive_claims_in_use(pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> set[str]:
    namespace = pod.shape.namespace
    return {
        name for name in _list_exclusive_claims(pod, snap) if snap.is_claim_used(namespace, name)
    }


def _count_claim_names_by_row(pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> columns.IntArray:
    """Return int64 (N,): number of volumes of placed pods with the name of an exclusive claim."""
    named = np.zeros(snap.size, np.int64)
    for name in _list_exclusive_claims(pod, snap):
        for by_row in snap.storage.pods.count_claim_uses_by_namespace(name):
            named[list(by_row)] += list(by_row.values())
    return named


if TYPE_CHECKING:
    _evidence: type[interface.NodeEvidencePlugin] = VolumeRestrictions
    _scoped: type[interface.ScopedPlugin] = VolumeRestrictions
    _pre_filter: type[interface.PreFilterPlugin] = VolumeRestrictions
    _filter: type[interface.FilterPlugin] = VolumeRestrictions
    _apart: type[apart.ApartFilterPlugin] = VolumeRestrictions
    _events: type[interface.EventsPlugin] = VolumeRestrictions
