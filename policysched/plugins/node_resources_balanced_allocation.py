"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly.

Source: `plugins/noderesources/balanced_allocation.go`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from policysched.cluster import columns, pod_requests, pod_shape, snapshot
from policysched.framework import cycle_state, interface, status
from policysched.plugins import arguments, names, resource_arguments
from policysched.plugins.kernels import allocation

_NATIVE = (pod_requests.CPU, pod_requests.MEMORY, pod_requests.EPHEMERAL_STORAGE)


class NodeResourcesBalancedAllocation:
    """Scores how much more even the pod makes the use of a node's resources."""

    name = names.NODE_RESOURCES_BALANCED_ALLOCATION
    reads: ClassVar = interface.Reads.NODE | interface.Reads.USAGE

    def __init__(self, resources: Sequence[str] = ("cpu", "memory")) -> None:
        """Look at these resources."""
        self._resources = tuple(resources)

    @classmethod
    def from_args(cls, args: arguments.Arguments) -> NodeResourcesBalancedAllocation:
        """Return the plugin for `NodeResourcesBalancedAllocationArgs`."""
        given = arguments.decode(args, resource_arguments.BalancedAllocationArgs)
        return cls(resource_arguments.unweighted_resources(given.resources))

    def pre_score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.Status:
        """Skip pods that request none of the resources: all of them would go to one node."""
        del state, nodes
        amounts = pod.shape.requests.amounts
        has_requests = any(amounts.get(r, 0) for r in self._resources)
        return status.SUCCESS if has_requests else status.SKIP

    def score(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> columns.IntArray:
        """Return int64 (n,): 50 to 100, 75 where the pod changes nothing."""
        del state
        amounts = pod.shape.requests.amounts
        counted = [r for r in self._resources if r in _NATIVE or amounts.get(r, 0)]
        ids = [nodes.snapshot.nodes.resource_column(r) for r in counted]
        allocated = nodes.requested[:, ids].T
        wanted = np.array([[amounts.get(r, 0)] for r in counted], np.int64)
        return allocation.balanced_allocation(
            allocated + wanted, allocated, nodes.allocatable[:, ids].T
        )

    def score_row(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node: snapshot.NodeRow
    ) -> int:
        """Return the points of one node."""
        amounts = pod.shape.requests.amounts
        counted = [r for r in self._resources if r in _NATIVE or amounts.get(r, 0)]
        ids = [node.snapshot.nodes.resource_column(r) for r in counted]
        allocated = [node.requested[i] for i in ids]
        requested = [a + amounts.get(r, 0) for a, r in zip(allocated, counted, strict=True)]
        allocatable = [node.allocatable[i] for i in ids]
        found = allocation.balance_of_one_node(requested, allocated, allocatable)
        if found is None:
            return int(self.score(state, pod, node.snapshot.at_rows(np.array([node.row])))[0])
        return found


if TYPE_CHECKING:
    _pre_score: type[interface.PreScorePlugin] = NodeResourcesBalancedAllocation
    _score: type[interface.RowScorePlugin] = NodeResourcesBalancedAllocation
