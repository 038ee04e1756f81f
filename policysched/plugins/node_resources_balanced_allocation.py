"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly.

Source: `plugins/noderesources/balanced_allocation.go`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.framework import cycle_state, interface, status
from policysched.plugins import arguments, names
from policysched.plugins.kernels import allocation
from policysched.plugins.shared import resource_arguments

_NATIVE = (pod_requests.CPU, pod_requests.MEMORY, pod_requests.EPHEMERAL_STORAGE)


class NodeResourcesBalancedAllocation:
    """Scores how much the pod improves the balance of resource usage on a node."""

    name = names.NODE_RESOURCES_BALANCED_ALLOCATION
    reads: ClassVar = interface.Reads.NODE | interface.Reads.USAGE

    def __init__(self, resources: Sequence[str] = ("cpu", "memory")) -> None:
        """Balance the usage of these resources."""
        self._resources = tuple(resources)

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> NodeResourcesBalancedAllocation:
        """Create the plugin from `NodeResourcesBalancedAllocationArgs`."""
        given = arguments.decode_arguments(args, resource_arguments.BalancedAllocationArgs)
        return cls(resource_arguments.get_resource_names(given.resources))

    def answer_key(self, shape: pod_shape.PodShape) -> Hashable:
        """Return a key of the pod's requests."""
        return shape.request_key

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Skip pods that request none of the resources; all of them would prefer the same node."""
        del state, nodes
        amounts = pod.shape.requests.amounts
        has_requests = any(amounts.get(r, 0) for r in self._resources)
        return status.SUCCESS if has_requests else status.SKIP

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): 50 to 100, with 75 if the pod does not change the balance."""
        del state
        counted = self._select_counted_columns(pod.shape, nodes.snapshot)
        ids = [column for column, _ in counted]
        allocated = nodes.requested[:, ids].T
        wanted = np.array([[amount] for _, amount in counted], np.int64)
        return allocation.balanced_allocation(
            allocated + wanted, allocated, nodes.allocatable[:, ids].T
        )

    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> int:
        """Return the score of one node."""
        made: list[interface.RowScorer] | None = state.find(self.name, list)
        if made is None:
            made = [self.row_scorer(pod, node.snapshot)]
            state.write(self.name, made)
        return made[0](node)

    def row_scorer(self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot) -> interface.RowScorer:
        """Return a function that scores individual nodes, for all pods with the same requests."""

        def by_arrays(node: snapshot.NodeRow) -> int:
            rows = node.snapshot.view_rows(np.array([node.row]))
            return int(self.score(cycle_state.CycleState(), pod, rows)[0])

        return allocation.balance_of_rows(self._select_counted_columns(pod.shape, snap), by_arrays)

    def _select_counted_columns(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> list[tuple[int, int]]:
        """Return (column, requested amount) for each resource that is scored for the pod."""
        amounts = shape.requests.amounts
        counted = (r for r in self._resources if r in _NATIVE or amounts.get(r, 0))
        return [(snap.nodes.get_resource_column_index(r), amounts.get(r, 0)) for r in counted]


if TYPE_CHECKING:
    _pre_score: type[interface.PreScorePlugin] = NodeResourcesBalancedAllocation
    _score: type[interface.PreparingScorePlugin] = NodeResourcesBalancedAllocation
    _keyed: type[interface.KeyedPlugin] = NodeResourcesBalancedAllocation
