"""Allocate devices for claims on one node: the entry point of this package."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Sequence

from policysched.cluster.devices import cluster_devices, pools
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    allocation_results,
    device_order,
    device_requests,
    device_search,
    devices_in_use,
)
from policysched.plugins.dynamic_resources.allocation.allocation_errors import (
    AllocationTimeoutError,
    InvalidPoolsError,
)
from policysched.plugins.shared import selector_cache


def make_share_id() -> str:
    """Return a new identity for a share of a device."""
    return str(uuid.uuid4())


@dataclasses.dataclass(frozen=True, slots=True)
class Allocator:
    """Chooses devices of a cluster.

    Attributes:
        known: slices, classes and allocated devices.
        selectors: compiled selectors.
        has_expired: whether the time for the search is over.
        order: the order in which the devices of a node are tried.
        make_share_id: makes identities of shares.
    """

    known: cluster_devices.ClusterDevices
    selectors: selector_cache.SelectorCache
    has_expired: Callable[[], bool]
    order: device_order.DeviceOrder = device_order.DeviceOrder.PUBLISHED
    make_share_id: Callable[[], str] = make_share_id

    def allocate(
        self,
        node: objects.Node,
        node_pools: Sequence[pools.NodePool],
        claims: Sequence[device_objects.ResourceClaim],
    ) -> list[device_objects.AllocationResult] | None:
        """Return an allocation for each claim; None if the node lacks devices for them.

        Raises:
            AllocationError: a claim, a class or a slice cannot be processed on any node.
            InvalidPoolsError: the node lacks devices, but has pools that are invalid.
        """
        in_use = devices_in_use.DevicesInUse(self.known.allocated, node_pools)
        context = device_requests.AllocationContext(
            node, node_pools, self.known.classes, self.selectors, in_use, self._check_time
        )
        prepared = [device_requests.prepare_claim(claim, context) for claim in claims]
        candidates = device_order.list_candidates(node_pools, in_use, self.order, self._check_time)
        search = device_search.DeviceSearch(prepared, candidates, in_use, self._check_time)
        if not search.run():
            if any(pool.state is pools.PoolState.INVALID for pool in node_pools):
                raise InvalidPoolsError("invalid resource pools were encountered")
            return None
        return [
            allocation_results.make_allocation(
                claim, devices, list(alternatives.values()), node.name, self.make_share_id
            )
            for claim, devices, alternatives in zip(
                prepared, search.devices, search.alternatives, strict=True
            )
        ]

    def _check_time(self) -> None:
        if self.has_expired():
            raise AllocationTimeoutError("filter operation aborted: context deadline exceeded")
