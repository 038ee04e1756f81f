"""Store all nodes as a struct of arrays, with one row for each node.

Axes, used in all docstrings of the engine:
    N  rows in use (`NodeColumns.size`), including dead rows
    n  rows of a `NodeView`: all N rows or a selection
    R  resources that a node has or had (`NodeColumns.resources` numbers them: 0 cpu, 1 memory,
       2 ephemeral-storage, 3 for every resource that no node has, …)
    D  topology domains (distinct values of one label)

A row is dead (`is_alive` False) if its node was deleted or is not known yet. It is kept while pods
are placed on it, and then reused. Kernels also compute values for dead rows; the framework masks
them at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import change_log
from policysched.cluster.columns import (
    absent_resource_requests,
    image_states,
    interning,
    label_column,
    port_columns,
    request_vectors,
)
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests, pod_shape

BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
FloatArray: TypeAlias = npt.NDArray[np.float64]
NodeMask: TypeAlias = BoolArray
"""bool (n,): a verdict for each node."""
RowIndex: TypeAlias = "slice | npt.NDArray[np.intp]"

CPU, MEMORY, EPHEMERAL_STORAGE, ABSENT = 0, 1, 2, 3
"""Indices of resource columns that always exist; `ABSENT` is zero in every row."""

_PODS = "pods"
_NO_NAME = ""
_FIRST_CAPACITY = 64
_MAX_REQUEST_VECTORS = 2_000
"""Bounds memory, because jobs and rollouts continually create new shapes."""
_MAX_LABELS = 512
"""More than a cluster's policies and workloads use; limited because pods can invent label keys."""
_SLACK_TAINT_SETS = 256

_PER_ROW = (
    "is_alive",
    "is_unschedulable",
    "taint_set_ids",
    "allowed_pods",
    "pod_count",
    "allocatable",
    "requested",
    "nonzero_requested",
)


class NodeColumns:
    """The state of every node and the resource usage of its pods.

    Attributes (C rows allocated, N in use):
        alive_count: number of existing nodes.
        is_alive: bool (C,), whether the node exists.
        is_unschedulable: bool (C,), `spec.unschedulable`.
        taint_set_ids: int32 (C,), index into `taint_sets.values`.
        allowed_pods, pod_count: int64 (C,).
        allocatable, requested: int64 (C, R), milli-CPU, bytes or a count.
        nonzero_requested: int64 (C, 2), milli-CPU and bytes of memory, with defaults for containers
            without requests.
        taint_sets: distinct taint sets; a new object whenever they are renumbered.
        absent_resources: requests for resources that no node has.
        node_changes: rows whose node changed in a field that scheduling reads.
        usage_changes: rows whose pods changed.
    """

    def __init__(self) -> None:
        """Start without nodes."""
        self.size = 0
        self.alive_count = 0
        self.resources: interning.Interner[str] = interning.Interner()
        for name in (pod_requests.CPU, pod_requests.MEMORY, "ephemeral-storage", _NO_NAME):
            self.resources.intern(name)
        self.absent_resources = absent_resource_requests.AbsentResourceRequests()
        self.taint_sets = _make_taint_set_interner()
        self.nodes: list[objects.Node | None] = []
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self.node_changes = change_log.ChangeLog[int]()
        self.usage_changes = change_log.ChangeLog[int]()
        self.images = image_states.ImageStates()
        self.ports = port_columns.PortColumns()
        self._labels: dict[str, label_column.LabelColumn] = {}
        self._free_rows: list[int] = []
        self._all_rows: npt.NDArray[np.intp] = np.arange(0)
        self._request_vectors: dict[int, request_vectors.RequestVector] = {}
        capacity = _FIRST_CAPACITY
        self.is_alive: BoolArray = np.zeros(capacity, np.bool_)
        self.is_unschedulable: BoolArray = np.zeros(capacity, np.bool_)
        self.taint_set_ids: Int32Array = np.zeros(capacity, np.int32)
        self.allowed_pods: IntArray = np.zeros(capacity, np.int64)
        self.pod_count: IntArray = np.zeros(capacity, np.int64)
        self.allocatable: IntArray = np.zeros((capacity, len(self.resources)), np.int64)
        self.requested: IntArray = np.zeros((capacity, len(self.resources)), np.int64)
        self.nonzero_requested: IntArray = np.zeros((capacity, 2), np.int64)

    @property
    def all_rows(self) -> npt.NDArray[np.intp]:
        """Intp (N,): the numbers of all rows, ascending; not to be written to.

        One array serves everybody: a new one of 5,000 rows costs 20 µs.
        """
        if len(self._all_rows) < self.size:
            self._all_rows = np.arange(2 * self.size)
        return self._all_rows[: self.size]

    # --- nodes ------------------------------------------------------------------------------------

    def set_node(self, node: objects.Node) -> bool:
        """Add or replace a node; return whether any field that scheduling reads changed."""
        row = self.get_or_add_row(node.name)
        old = self.nodes[row]
        if old is not None and _are_equal_for_scheduling(old, node):
            self.nodes[row] = node
            return False
        self.nodes[row] = node
        self.alive_count += old is None
        self.is_alive[row] = True
        self.is_unschedulable[row] = node.spec.unschedulable
        self._set_taints(row, node.spec.taints)
        self._set_allocatable(row, node.status.allocatable)
        self._set_texts(row, node)
        self.images.set_node(row, node.status.images)
        self.node_changes.note_changed_item(row)
        return True

    def remove_node(self, name: str) -> None:
        """Remove a node; its row stays as a dead row while pods are placed on it."""
        row = self.row_of.get(name)
        if row is None or self.nodes[row] is None:
            return
        self.nodes[row] = None
        self.alive_count -= 1
        self.is_alive[row] = False
        self._set_texts(row, None)
        self.images.set_node(row, ())
        self.node_changes.note_changed_item(row)
        self._free_row_if_unused(row)

    def get_or_add_row(self, name: str) -> int:
        """Return the row of a node; an unknown name gets a new dead row."""
        known = self.row_of.get(name)
        if known is not None:
            return known
        row = self._free_rows.pop() if self._free_rows else self._append_row()
        self.names[row] = name
        self.row_of[name] = row
        self.node_changes.note_changed_item(
            row
        )  # Caches with one entry per row must grow, or drop the entry of the row's previous node.
        return row

    # --- pods -------------------------------------------------------------------------------------

    def add_pod(self, row: int, shape: pod_shape.PodShape) -> None:
        """Count a pod of `shape` on `row`."""
        self._apply_pod_change(row, shape, 1)

    def remove_pod(self, row: int, shape: pod_shape.PodShape) -> None:
        """Subtract a pod that `add_pod` counted."""
        self._apply_pod_change(row, shape, -1)
        self._free_row_if_unused(row)

    def _apply_pod_change(self, row: int, shape: pod_shape.PodShape, sign: int) -> None:
        """Add (`sign` 1) or subtract (-1) the requests and host ports of one pod."""
        vector = self._get_request_vector(shape)
        change = vector.added if sign > 0 else vector.removed
        # Unlike scalar sums, array sums overflow without a warning, as in Go.
        requested = self.requested[row]  # a view: no assignment back is needed
        requested += change.requested
        nonzero = self.nonzero_requested[row]
        nonzero += change.nonzero
        if vector.absent:
            self.absent_resources.change_pod_requests(row, vector.absent, sign)
        self.pod_count[row] += sign
        if shape.host_ports:
            self.ports.change_port_claims(row, shape.host_ports, sign)
        self.usage_changes.note_changed_item(row)

    def add_pods(self, pods: Sequence[tuple[pod_shape.PodInfo, int]]) -> None:
        """Count (pod, row) pairs in one batch."""
        self._apply_pod_changes(pods, 1)
        for info, row in pods:
            absent = self._get_request_vector(info.shape).absent
            if absent:
                self.absent_resources.change_pod_requests(row, absent, 1)
            if info.shape.host_ports:
                self.ports.change_port_claims(row, info.shape.host_ports, 1)

    def suppose_pods(self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int) -> None:
        """Add (`change` 1) or subtract (-1) pods on live rows as a what-if, in one batch."""
        self._apply_pod_changes(pods, change)
        for info, row in pods:
            if info.shape.host_ports:
                self.ports.suppose_port_claims(row, info.shape.host_ports, change)

    def suppose_requests(self, row: int, resource: str, amount: int) -> None:
        """Change the requests of a row for a resource by `amount`, as a what-if.

        The unit is milli-CPU, bytes or a count. The caller must undo the change with `-amount`.
        """
        column = self.get_resource_column_index(resource)
        self.requested[row, column] += amount
        if column in (CPU, MEMORY):
            self.nonzero_requested[row, column] += amount
        self.usage_changes.note_changed_item(row)

    def suppose_pod_count(self, row: int, count: int) -> None:
        """Change the number of pods on a row by `count`, without requests, as a what-if."""
        self.pod_count[row] += count
        self.usage_changes.note_changed_item(row)

    def _apply_pod_changes(
        self, pods: Sequence[tuple[pod_shape.PodInfo, int]], change: int
    ) -> None:
        """Add (`change` 1) or subtract (-1) request vectors, each computed once for a shape."""
        shapes = {info.shape: None for info, _ in pods}
        vectors = [self._get_request_vector(shape) for shape in shapes]
        changes = [v.added if change > 0 else v.removed for v in vectors]
        number_of = {shape: number for number, shape in enumerate(shapes)}
        numbers = [number_of[info.shape] for info, _ in pods]
        rows = [row for _, row in pods]
        np.add.at(self.requested, rows, np.array([c.requested for c in changes])[numbers])
        np.add.at(self.nonzero_requested, rows, np.array([c.nonzero for c in changes])[numbers])
        np.add.at(self.pod_count, rows, change)
        self.usage_changes.note_changed_items(rows)

    def _get_request_vector(self, shape: pod_shape.PodShape) -> request_vectors.RequestVector:
        """Return the request vector of a shape from a bounded cache."""
        vector = self._request_vectors.get(shape.index)
        if vector is None:
            width = self.requested.shape[1]
            vector = request_vectors.RequestVector.from_requests(
                shape.requests, self.resources, width
            )
            if len(self._request_vectors) > _MAX_REQUEST_VECTORS:
                self._request_vectors.clear()
            self._request_vectors[shape.index] = vector
        return vector

    # --- label and resource columns ---------------------------------------------------------------

    def get_label_column(self, key: str) -> label_column.LabelColumn:
        """Return the column of a label key; it is built on first use and then updated.

        The keys of `node_texts` have columns as well.
        """
        column = self._labels.get(key)
        if column is None:
            column = label_column.LabelColumn(key, self._capacity)
            column.fill_label_values([None if n is None else column.read(n) for n in self.nodes])
            self._labels[key] = column
        return column

    @property
    def _capacity(self) -> int:
        return len(self.is_alive)

    def _set_texts(self, row: int, node: objects.Node | None) -> None:
        for key, column in list(self._labels.items()):
            column.set_label_value(row, None if node is None else column.read(node))
            if column.is_bloated(self.size):
                del self._labels[key]

    def _set_allocatable(self, row: int, allocatable: objects.ResourceList) -> None:
        self.allocatable[row] = 0
        self.allowed_pods[row] = 0
        for name, text in allocatable.items():
            if name == _PODS:
                self.allowed_pods[row] = pod_requests.parse_amount(name, text)
            elif name != _NO_NAME:
                column = self._add_resource(name)
                self.allocatable[row, column] = pod_requests.parse_amount(name, text)

    def get_resource_column_index(self, name: str) -> int:
        """Return the column index of a resource, or `ABSENT` if no node has ever had it.

        Callers that store the index must look it up again when `resources` has grown.
        """
        column = self.resources.find(name)
        return ABSENT if column is None else column

    def _add_resource(self, name: str) -> int:
        """Return the column index of a resource that a node has; add a column if necessary."""
        known = self.resources.find(name)
        if known is not None:
            return known
        column = self.resources.intern(name)
        if column >= self.allocatable.shape[1]:
            self.allocatable = _widen_array(self.allocatable)
            self.requested = _widen_array(self.requested)
        self._request_vectors.clear()
        for row, amount in self.absent_resources.pop_resource(name).items():
            self.requested[row, column] = amount
            self.usage_changes.note_changed_item(row)
        return column

    # --- cleanup ----------------------------------------------------------------------------------

    def drop_excess_label_columns(self) -> None:
        """Drop all label columns if there are too many; call it only between cycles.

        New columns number their values differently; an entry in `node_changes` signals this.
        """
        if len(self._labels) > _MAX_LABELS:
            self._labels.clear()
            self.node_changes.note_changed_items(range(min(self.size, 1)))

    @property
    def label_column_count(self) -> int:
        """Number of labels that have a column."""
        return len(self._labels)

    def _set_taints(self, row: int, taints: tuple[objects.Taint, ...]) -> None:
        """Set the taint set of a row, and renumber the taint sets if most are unused."""
        self.taint_set_ids[row] = self.taint_sets.intern(taints)
        if len(self.taint_sets) > 2 * self.size + _SLACK_TAINT_SETS:
            self.taint_sets = _make_taint_set_interner()
            self.taint_set_ids[:] = 0
            for each, node in enumerate(self.nodes):
                if node is not None:
                    self.taint_set_ids[each] = self.taint_sets.intern(node.spec.taints)

    # --- rows -------------------------------------------------------------------------------------

    def _append_row(self) -> int:
        if self.size == self._capacity:
            self._grow_columns()
        self.nodes.append(None)
        self.names.append("")
        self.size += 1
        return self.size - 1

    def _grow_columns(self) -> None:
        capacity = 2 * self._capacity
        for name in _PER_ROW:
            setattr(self, name, _lengthen_array(getattr(self, name), capacity))
        for column in self._labels.values():
            column.grow(capacity)

    def _free_row_if_unused(self, row: int) -> None:
        if self.nodes[row] is None and self.pod_count[row] == 0:
            del self.row_of[self.names[row]]
            self.names[row] = ""
            self._free_rows.append(row)


def _are_equal_for_scheduling(old: objects.Node, new: objects.Node) -> bool:
    """Return whether both nodes are equal in all fields that scheduling reads.

    Heartbeats change only the times of conditions, which scheduling does not read.
    """
    return (
        old.spec == new.spec
        and old.metadata.creation_timestamp == new.metadata.creation_timestamp
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and old.status.allocatable == new.status.allocatable
        and old.status.images == new.status.images
        and old.status.addresses == new.status.addresses
        and old.status.declared_features == new.status.declared_features
        and old.status.node_info == new.status.node_info
        and _get_condition_states(old) == _get_condition_states(new)
    )


def _get_condition_states(node: objects.Node) -> list[tuple[str, str]]:
    return [(c.type, c.status) for c in node.status.conditions]


def _lengthen_array(array: npt.NDArray[np.generic], capacity: int) -> npt.NDArray[np.generic]:
    longer = np.zeros((capacity, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def _make_taint_set_interner() -> interning.Interner[tuple[objects.Taint, ...]]:
    """Return an interner of taint sets that numbers the empty set 0."""
    made: interning.Interner[tuple[objects.Taint, ...]] = interning.Interner()
    made.intern(())
    return made


def _widen_array(array: IntArray) -> IntArray:
    return np.pad(array, ((0, 0), (0, array.shape[1])))
