"""Track the number of volumes of each CSI driver on each node, and its limit.

A node has the volumes of its pods and those of its VolumeAttachments; each volume counts once. A
row is recounted when one of its inputs changes: its pods, the claims, volumes and classes that were
looked up for them, its attachments or its CSINode. Rows without limits are not counted.

Source: `plugins/nodevolumelimits/csi.go`, Filter, getNodeVolumeAttachmentInfo.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np

from policysched.cluster import change_log, count_column
from policysched.cluster.columns import columns
from policysched.cluster.objects import storage_objects
from policysched.cluster.storage import csi_migration, csi_volumes, storage

KeyT = TypeVar("KeyT", bound=Hashable)

_WATCHED: tuple[type[storage_objects.StorageObject], ...] = (
    storage_objects.PersistentVolumeClaim,
    storage_objects.PersistentVolume,
    storage_objects.StorageClass,
    storage_objects.CSINode,
    storage_objects.VolumeAttachment,
)


@dataclasses.dataclass(frozen=True, slots=True)
class _NodeVolumeCounts:
    """The volumes and limits of one node.

    Attributes:
        has_csi_node: whether the node has a CSINode.
        limits: driver → maximum number of volumes.
        counts: driver → number of volumes of pods and attachments.
        held: volumes of the pods on the node.
        problem: why the volumes of some pod are unknown; "" if all are known.
        counted_from: objects that were looked up, including missing objects.
    """

    has_csi_node: bool = False
    limits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    held: frozenset[csi_migration.CSIVolumeIdentity] = frozenset()
    problem: str = ""
    counted_from: frozenset[csi_volumes.Dependency] = frozenset()


_EMPTY = _NodeVolumeCounts()


class AttachedVolumeCounts:
    """The volumes and limits of all rows, as of the last `refresh`.

    Attributes:
        problems: row → why the volumes of some pod are unknown; only for rows with limits.
    """

    def __init__(self, stored: storage.Storage, nodes: columns.NodeColumns) -> None:
        """Start without counts; `refresh` reads `stored` and `nodes`."""
        self.stored = stored
        self.problems: dict[int, str] = {}
        self._nodes = nodes
        self._rows: list[_NodeVolumeCounts] = []
        self._has_csi_node = count_column.CountColumn()
        self._limited_drivers = count_column.CountColumn()
        self._limits = _CountsByDriver()
        self._counts = _CountsByDriver()
        self._holders: _RowsByKey[csi_migration.CSIVolumeIdentity] = _RowsByKey()
        self._dependents: _RowsByKey[csi_volumes.Dependency] = _RowsByKey()
        self._row_news = [
            change_log.ChangeLogReader(nodes.node_changes),
            change_log.ChangeLogReader(stored.pods.changes),
        ]
        self._object_news = {
            kind: change_log.ChangeLogReader(stored.get_store(kind).changes) for kind in _WATCHED
        }

    # --- answers ---------------------------------------------------------------------------------

    def has_csi_node(self) -> columns.BoolArray:
        """Return bool (N,): the nodes that have a CSINode."""
        return self._has_csi_node.get_counts(self._nodes.size) > 0

    def has_limits(self) -> columns.BoolArray:
        """Return bool (N,): the nodes with a limit for any driver."""
        return self._limited_drivers.get_counts(self._nodes.size) > 0

    def find_nodes_over_volume_limit(
        self, driver: str, volumes: Iterable[csi_migration.CSIVolumeIdentity]
    ) -> columns.BoolArray:
        """Return bool (N,): the nodes whose limit for `driver` the `volumes` would exceed.

        All `volumes` must be of `driver`. Volumes that pods of the node already use are not counted
        twice. A node to which no volume is added passes, even if it exceeds its limit.
        """
        size = self._nodes.size
        new = frozenset(volumes)
        added = np.full(size, len(new), np.int64)
        for volume in new:
            added[list(self._holders.get_rows(volume))] -= 1
        limit = self._limits.get_counts(driver, size)
        after = self._counts.get_counts(driver, size) + added
        # Limits are stored plus 1, so `>=` means that the limit is exceeded.
        return (limit > 0) & (added > 0) & (after >= limit)

    # --- counting --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Recount the rows whose inputs have changed since the last call."""
        self._rows.extend([_EMPTY] * (self._nodes.size - len(self._rows)))
        stale = self._find_stale_rows()
        for row in range(self._nodes.size) if stale is None else sorted(stale):
            self._set_row_counts(row, self._count_row_volumes(row))

    def _find_stale_rows(self) -> set[int] | None:
        """Return the rows to recount, or None for all rows."""
        row_news = [follower.read_changes() for follower in self._row_news]
        object_news = {
            kind: follower.read_changes() for kind, follower in self._object_news.items()
        }
        if None in row_news or None in object_news.values():
            return None
        stale = {row for rows in row_news for row in rows or ()}
        for kind, keys in object_news.items():
            for key in keys or ():
                stale.update(self._find_affected_rows(kind, key))
        return stale

    def _find_affected_rows(
        self, kind: type[storage_objects.StorageObject], key: tuple[str, str]
    ) -> Iterator[int]:
        """Yield the rows that depend on an object, or whose node it names."""
        yield from self._dependents.get_rows((kind, key))
        node_name = ""
        if kind is storage_objects.CSINode:
            node_name = key[1]
        elif kind is storage_objects.VolumeAttachment:
            attachment = self.stored.attachments.get(key[1])
            node_name = attachment.spec.node_name if attachment is not None else ""
        row = self._nodes.row_of.get(node_name)
        if row is not None:
            yield row

    def _count_row_volumes(self, row: int) -> _NodeVolumeCounts:
        """Count the volumes of one row from its pods and attachments."""
        name = self._nodes.names[row]
        csi_node = self.stored.csi_nodes.get(name)
        if csi_node is None:
            return _EMPTY
        limits = {
            driver.name: driver.allocatable.count
            for driver in csi_node.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }
        if not limits:
            return _NodeVolumeCounts(has_csi_node=True)
        lookup = csi_volumes.RecordingObjectLookup(self.stored)
        held, problem = self._find_pod_volumes(row, lookup)
        counts = Counter(v.driver for v in held | self._find_attached_volumes(name, lookup))
        return _NodeVolumeCounts(True, limits, counts, held, problem, frozenset(lookup.looked_for))

    def _find_pod_volumes(
        self, row: int, lookup: csi_volumes.RecordingObjectLookup
    ) -> tuple[frozenset[csi_migration.CSIVolumeIdentity], str]:
        """Return the volumes of the row's pods, and the first problem with them.

        As in kube-scheduler, missing claims are not a problem.
        """
        held: set[csi_migration.CSIVolumeIdentity] = set()
        for pod in self.stored.pods.get_pods(row):
            for found in csi_volumes.resolve_pod_csi_volumes(pod, lookup, has_csi_node=True):
                if isinstance(found, csi_migration.CSIVolumeIdentity):
                    held.add(found)
                elif not found.is_missing_claim:
                    return frozenset(held), found.text
        return frozenset(held), ""

    def _find_attached_volumes(
        self, node_name: str, lookup: csi_volumes.RecordingObjectLookup
    ) -> set[csi_migration.CSIVolumeIdentity]:
        """Return the volumes of the node's VolumeAttachments."""
        attached = set()
        for attachment in self.stored.attachments.list_group(node_name):
            lookup.note_object(attachment)
            spec = attachment.spec
            if not spec.attacher or spec.source.persistent_volume_name is None:
                continue
            volume = lookup.find_volume(spec.source.persistent_volume_name)
            if volume is not None and volume.spec.csi is not None:
                handle = volume.spec.csi.volume_handle
                attached.add(csi_migration.CSIVolumeIdentity(spec.attacher, handle))
        return attached

    def _set_row_counts(self, row: int, new: _NodeVolumeCounts) -> None:
        """Replace the counts of one row, in all columns and indexes."""
        old, self._rows[row] = self._rows[row], new
        self._has_csi_node.add(row, new.has_csi_node - old.has_csi_node)
        self._limited_drivers.add(row, len(new.limits) - len(old.limits))
        self._limits.change_row_counts(row, _encode_limits(old), _encode_limits(new))
        self._counts.change_row_counts(row, old.counts, new.counts)
        self._holders.change_row_keys(row, old.held, new.held)
        self._dependents.change_row_keys(row, old.counted_from, new.counted_from)
        self.problems.pop(row, None)
        if new.problem:
            self.problems[row] = new.problem


def _encode_limits(row: _NodeVolumeCounts) -> dict[str, int]:
    """Return the limits plus 1, because 0 in a column means no limit."""
    return {driver: limit + 1 for driver, limit in row.limits.items()}


class _CountsByDriver:
    """A number for each row and driver; 0 if unset."""

    def __init__(self) -> None:
        self._columns: dict[str, count_column.CountColumn] = {}

    def get_counts(self, driver: str, size: int) -> columns.IntArray:
        """Return int64 (size,): the numbers of one driver."""
        column = self._columns.get(driver)
        return np.zeros(size, np.int64) if column is None else column.get_counts(size)

    def change_row_counts(self, row: int, old: Mapping[str, int], new: Mapping[str, int]) -> None:
        """Replace the numbers `old` of a row with `new`; both are keyed by driver."""
        for driver in {*old, *new}:
            column = self._columns.setdefault(driver, count_column.CountColumn())
            column.add(row, new.get(driver, 0) - old.get(driver, 0))
            if column.total == 0:
                del self._columns[driver]


class _RowsByKey(Generic[KeyT]):
    """An index of the rows that have a key, such as a volume on the node."""

    def __init__(self) -> None:
        self._rows: dict[KeyT, set[int]] = {}

    def get_rows(self, key: KeyT) -> Iterable[int]:
        """Return the rows that have `key`; valid until the next change."""
        return self._rows.get(key, ())

    def change_row_keys(self, row: int, old: frozenset[KeyT], new: frozenset[KeyT]) -> None:
        """Replace the keys `old` of a row with `new`."""
        for key in new - old:
            self._rows.setdefault(key, set()).add(row)
        for key in old - new:
            self._rows[key].discard(row)
            if not self._rows[key]:
                del self._rows[key]
