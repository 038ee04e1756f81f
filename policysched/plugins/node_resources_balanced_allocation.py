"""NodeResourcesBalancedAllocation: prefer nodes whose resources are used evenly.

Source: `plugins/noderesources/balanced_allocation.go`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.framework import cycle_state, interface, status
from policysched.kernels import resources
from policysched.plugins import arguments, names
from policysched.plugins.kernels import row_writer
from policysched.plugins.shared import resource_arguments, scored_devices

_NATIVE = (pod_requests.CPU, pod_requests.MEMORY, pod_requests.EPHEMERAL_STORAGE)


class _BalancedRequests(NamedTuple):
    """The resources of a pod that are balanced: intp (k,) columns, int64 (k,) requests.

    `devices` counts devices as some of the amounts; None if there is nothing to count.
    """

    ids: npt.NDArray[np.intp]
    wanted: columns.IntArray
    devices: scored_devices.ProvidedDevices | None

    def write(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], out: columns.IntArray
    ) -> None:
        """Write points, 50 to 100."""
        nodes = snap.nodes if self.devices is None else self.devices.count(snap, rows)
        resources.write_balanced_points(
            rows, nodes.allocatable, nodes.requested, self.ids, self.wanted, out
        )


class NodeResourcesBalancedAllocation:
    """Scores how much the pod improves the balance of resource usage on a node."""

    name = names.NODE_RESOURCES_BALANCED_ALLOCATION
    reads: ClassVar = interface.Reads.AMOUNTS

    def __init__(self, resources: Sequence[str] = ("cpu", "memory")) -> None:
        """Balance the usage of these resources."""
        self._resources = tuple(resources)
        self._devices = scored_devices.ScoredDevices()

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
        return row_writer.compute_view(self.make_score_writer(pod, nodes.snapshot), nodes, np.int64)

    def make_score_writer(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> _BalancedRequests:
        """Return what writes the scores for all pods with the same requests."""
        amounts = pod.shape.requests.amounts
        counted = [r for r in self._resources if r in _NATIVE or amounts.get(r, 0)]
        devices = self._select_devices(pod.shape, snap)
        return _BalancedRequests(
            np.array(scored_devices.find_columns(snap, counted, devices), np.intp),
            np.array([amounts.get(r, 0) for r in counted], np.int64),
            devices,
        )

    def keeps_scores(self, shape: pod_shape.PodShape, snap: snapshot.Snapshot) -> bool:
        """Return whether the scores count no devices, which change without the nodes."""
        return self._select_devices(shape, snap) is None

    def _select_devices(
        self, shape: pod_shape.PodShape, snap: snapshot.Snapshot
    ) -> scored_devices.ProvidedDevices | None:
        return self._devices.select_provided(snap, self._resources, shape.requests.amounts)


if TYPE_CHECKING:
    _pre_score: type[interface.PreScorePlugin] = NodeResourcesBalancedAllocation
    _score: type[interface.RowScorePlugin] = NodeResourcesBalancedAllocation
    _partly_kept: type[interface.PartlyKeptScorePlugin] = NodeResourcesBalancedAllocation
    _keyed: type[interface.KeyedPlugin] = NodeResourcesBalancedAllocation
