"""Present the state of the cluster to one scheduling cycle.

Scheduling is synchronous and the cache changes only between cycles, so a snapshot copies nothing.
It is a read-only view of columns that are updated row by row, with a single time for the whole
cycle. Do not use it after its cycle.
"""

from __future__ import annotations

import datetime

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns, label_column
from policysched.cluster.counters import placed_pods, pod_counts
from policysched.cluster.devices import cluster_devices
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import objects, selectors
from policysched.cluster.pods import nominated_pods, pod_shape
from policysched.cluster.storage import storage


class Snapshot:
    """The state of the cluster during one cycle.

    Attributes:
        nodes: node columns.
        size: N, the number of rows, including dead rows.
        node_count: number of existing nodes.
        counts: number of pods, by query and row.
        metrics: samples, by metric and node.
        now: wall-clock time of the cycle; `now_seconds` is the same in seconds since 1970.
        is_alive: bool (N,), the rows of existing nodes.
        storage: volumes, claims, classes and CSI objects, and pods with volumes by row.
        placed: all placed and assumed pods, by row.
        nominated: pending pods that are nominated to a node.
        devices: slices, classes and claims of devices.
    """

    def __init__(  # noqa: PLR0913 - the parts of the state
        self,
        nodes: columns.NodeColumns,
        counts: pod_counts.PodCounts,
        metrics: metric_table.MetricTable,
        now: datetime.datetime,
        placed: placed_pods.PlacedPods | None = None,
        nominated: nominated_pods.NominatedPods | None = None,
        *,
        devices: cluster_devices.ClusterDevices | None = None,
    ) -> None:
        """View the given state at the time `now`; omitted parts are empty."""
        self.nodes = nodes
        self.size = nodes.size
        self.node_count = nodes.alive_count
        self.counts = counts
        self.metrics = metrics
        self.now = now
        self.now_seconds = now.timestamp()
        self.is_alive: columns.BoolArray = nodes.is_alive[: self.size]
        if placed is None:
            placed = placed_pods.PlacedPods(nodes, counts, storage.Storage())
        self.placed = placed
        self.storage = placed.storage
        self.nominated = nominated_pods.NominatedPods() if nominated is None else nominated
        self.devices = cluster_devices.ClusterDevices() if devices is None else devices

    def is_claim_used(self, namespace: str, claim_name: str) -> bool:
        """Return whether a pod on a live row uses the claim (`IsPVCUsedByPods`)."""
        rows = self.storage.pods.count_claim_uses(namespace, claim_name)
        return any(self.nodes.is_alive[row] for row in rows)

    def find_row(self, node_name: str) -> int | None:
        """Return the row of a live node, or None if there is none of this name."""
        row = self.nodes.row_of.get(node_name)
        return None if row is None or not self.nodes.is_alive[row] else row

    def view_all_rows(self) -> NodeView:
        """Return a view of all N rows."""
        return NodeView(self, slice(0, self.size))

    def view_rows(self, rows: npt.NDArray[np.intp]) -> NodeView:
        """Return a view of the given rows, intp (n,)."""
        return NodeView(self, rows)

    def view_rows_or_all(self, rows: npt.NDArray[np.intp]) -> NodeView:
        """Return the same; N rows, each once and ascending, are viewed without copies."""
        return self.view_all_rows() if len(rows) == self.size else NodeView(self, rows)


class NodeView:
    """The n nodes for which a filter or score is computed.

    Filters and scores are written once, for a view. The framework passes all rows, or only those
    that changed since an equivalent pod was scheduled. Every attribute has n rows, in the order of
    `rows`.
    """

    def __init__(self, snapshot: Snapshot, rows: columns.RowIndex) -> None:
        """View `rows` of `snapshot`."""
        self.snapshot = snapshot
        self.rows = rows
        self._nodes = snapshot.nodes

    def __len__(self) -> int:
        """Return n."""
        return self.snapshot.size if isinstance(self.rows, slice) else len(self.rows)

    @property
    def row_numbers(self) -> npt.NDArray[np.intp]:
        """Intp (n,): the row of each node in the snapshot's columns; not to be written to."""
        return self._nodes.all_rows if isinstance(self.rows, slice) else self.rows

    @property
    def is_unschedulable(self) -> columns.BoolArray:
        """Bool (n,): `spec.unschedulable`."""
        return self._nodes.is_unschedulable[self.rows]

    @property
    def taint_set_ids(self) -> columns.Int32Array:
        """Int32 (n,): index into `snapshot.nodes.taint_sets.values`."""
        return self._nodes.taint_set_ids[self.rows]

    @property
    def allocatable(self) -> columns.IntArray:
        """Int64 (n, R): milli-CPU, bytes or a count."""
        return self._nodes.allocatable[self.rows]

    @property
    def requested(self) -> columns.IntArray:
        """Int64 (n, R): requests of placed pods."""
        return self._nodes.requested[self.rows]

    @property
    def nonzero_requested(self) -> columns.IntArray:
        """Int64 (n, 2): milli-CPU and bytes of memory, including defaults."""
        return self._nodes.nonzero_requested[self.rows]

    @property
    def pod_count(self) -> columns.IntArray:
        """Int64 (n,): number of placed pods."""
        return self._nodes.pod_count[self.rows]

    @property
    def allowed_pods(self) -> columns.IntArray:
        """Int64 (n,): allocatable amount of `pods`."""
        return self._nodes.allowed_pods[self.rows]

    def allocatable_of(self, resource: str) -> columns.IntArray:
        """Return int64 (n,): the amount of a resource or of `pods`; 0 for unknown resources."""
        if resource == "pods":
            return self.allowed_pods
        return self._column_of(self._nodes.allocatable, resource)

    def requested_of(self, resource: str) -> columns.IntArray:
        """Return int64 (n,): requests of placed pods for a resource, or the number of `pods`."""
        if resource == "pods":
            return self.pod_count
        return self._column_of(self._nodes.requested, resource)

    def _column_of(self, amounts: columns.IntArray, resource: str) -> columns.IntArray:
        column = self._nodes.resources.find(resource)
        if column is None:
            return np.zeros(len(self), np.int64)
        return amounts[self.rows, column]

    def label_values(self, key: str) -> npt.NDArray[np.object_]:
        """Return object (n,): the value of a label as a text, None if absent."""
        column = self._nodes.get_label_column(key)
        values = np.array([*column.values.values, None], np.object_)
        return values[column.ids[self.rows]]

    def label_ids(self, key: str) -> columns.Int32Array:
        """Return int32 (n,): label value ids, -1 if absent; these are also topology domains."""
        return self._nodes.get_label_column(key).ids[self.rows]

    def matches(self, requirement: label_column.ValueTest) -> columns.NodeMask:
        """Return bool (n,): the nodes whose labels match the requirement."""
        return self._nodes.get_label_column(requirement.key).find_matching_rows(
            requirement, self.rows
        )

    def matches_selector(self, selector: selectors.Selector) -> columns.NodeMask:
        """Return bool (n,): the nodes whose labels match the selector."""
        if selector.matches_nothing:
            return np.zeros(len(self), np.bool_)
        mask = np.ones(len(self), np.bool_)
        for requirement in selector.requirements:
            mask &= self.matches(requirement)
        return mask

    def has_name(self, name: str) -> columns.NodeMask:
        """Return bool (n,): the node with this name."""
        row = self._nodes.row_of.get(name, -1)
        found: columns.NodeMask = self.row_numbers == row
        return found

    def port_conflicts(self, ports: tuple[pod_shape.HostPort, ...]) -> columns.NodeMask:
        """Return bool (n,): the nodes on which one of `ports` is already claimed."""
        return self._nodes.ports.find_nodes_with_port_conflicts(ports, self.snapshot.size)[
            self.rows
        ]

    def metric(
        self, name: str, aggregate: metric_windows.WindowAggregate | None = None
    ) -> metric_table.MetricColumn:
        """Return the newest samples of a metric for the n nodes, or the values of a window."""
        column = self.snapshot.metrics.get_metric_column(
            name, self._nodes.names, self._nodes.node_changes.generation, aggregate
        )
        if isinstance(self.rows, slice):
            return column
        return metric_table.MetricColumn(
            column.values[self.rows], column.measured_at_seconds[self.rows]
        )

    def names(self) -> list[str]:
        """Return the n node names."""
        return [self._nodes.names[row] for row in self.row_numbers]

    def objects(self) -> list[objects.Node | None]:
        """Return the n node objects; None for dead rows."""
        return [self._nodes.nodes[row] for row in self.row_numbers]
