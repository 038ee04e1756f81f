"""Track the placed pods that have volumes, and the claims that they use.

Pods without volumes are not stored here and cost one comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from policysched.cluster import change_log
from policysched.cluster.pods import legacy_disks, pod_shape


class VolumePods:
    """Placed and assumed pods that have volumes, by row.

    Attributes:
        changes: log of rows on which a pod with volumes was added or removed.
        disks: mounts of disks without a claim.
    """

    def __init__(self) -> None:
        """Start without pods."""
        self.changes = change_log.ChangeLog[int]()
        self.disks = legacy_disks.DiskColumns()
        self._on_row: dict[int, dict[str, pod_shape.PodInfo]] = {}
        self._uses: dict[str, dict[str, dict[int, int]]] = {}

    @property
    def generation(self) -> int:
        """A number that increases when a pod with volumes is added or removed."""
        return self.changes.generation

    @property
    def rows(self) -> Collection[int]:
        """Rows with pods that have volumes."""
        return self._on_row.keys()

    def get_pods(self, row: int) -> Collection[pod_shape.PodInfo]:
        """Return the pods with volumes on a row."""
        return self._on_row.get(row, {}).values()

    def has_pod_on_row(self, row: int, uid: str) -> bool:
        """Return whether the row has a pod with this uid and volumes."""
        return uid in self._on_row.get(row, {})

    def count_claim_uses(self, namespace: str, claim_name: str) -> Mapping[int, int]:
        """Return row → number of non-ephemeral volumes of placed pods that name the claim.

        A pod that names a claim twice counts twice. Rows can be dead; `Snapshot.is_claim_used`
        ignores dead rows.

        Source: `framework/types.go`, updatePVCRefCounts.
        """
        return self._uses.get(claim_name, {}).get(namespace, {})

    def count_claim_uses_by_namespace(self, claim_name: str) -> Collection[Mapping[int, int]]:
        """Return the same counts for the claims with this name, one mapping for each namespace."""
        return self._uses.get(claim_name, {}).values()

    def add(self, info: pod_shape.PodInfo, row: int) -> None:
        """Add a pod that was placed on a row."""
        if not info.shape.has_volumes:
            return
        self._on_row.setdefault(row, {})[info.uid] = info
        self.disks.change_disk_mounts(row, info.shape.disks, 1)
        self.changes.note_changed_item(row)
        for name in _list_named_claims(info.shape):
            by_row = self._uses.setdefault(name, {}).setdefault(info.shape.namespace, {})
            by_row[row] = by_row.get(row, 0) + 1

    def replace(self, info: pod_shape.PodInfo, row: int) -> None:
        """Replace a pod with a newer version of the same shape."""
        if info.shape.has_volumes:
            self._on_row[row][info.uid] = info

    def remove(self, info: pod_shape.PodInfo, row: int) -> None:
        """Remove a pod that `add` added to this row."""
        if not info.shape.has_volumes:
            return
        pods = self._on_row[row]
        del pods[info.uid]
        if not pods:
            del self._on_row[row]
        self.disks.change_disk_mounts(row, info.shape.disks, -1)
        self.changes.note_changed_item(row)
        for name in _list_named_claims(info.shape):
            self._remove_use(name, info.shape.namespace, row)

    def reorder(self, row: int, infos: Collection[pod_shape.PodInfo]) -> None:
        """Put the pods of a row into the order of `infos`, which must contain all of them."""
        pods = self._on_row.get(row)
        if pods:
            self._on_row[row] = {info.uid: info for info in infos if info.uid in pods}

    def _remove_use(self, claim_name: str, namespace: str, row: int) -> None:
        """Subtract one use of a claim on a row, and drop empty entries."""
        by_namespace = self._uses[claim_name]
        by_row = by_namespace[namespace]
        by_row[row] -= 1
        if not by_row[row]:
            del by_row[row]
        if not by_row:
            del by_namespace[namespace]
        if not by_namespace:
            del self._uses[claim_name]


def _list_named_claims(shape: pod_shape.PodShape) -> list[str]:
    return [use.claim_name for use in shape.claims if not use.is_ephemeral]
