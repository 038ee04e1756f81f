"""Search for devices for all claims of a pod that have none."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import Final

import msgspec

from policysched import clock as clocks
from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    allocation_errors,
    allocator,
    device_order,
)
from policysched.plugins.shared import selector_cache

MAX_ALTERNATIVES = 8
"""`FirstAvailableDeviceRequestMaxSize` of the API; the score of the first alternative."""

RESERVE_SHARE: Final = 0.4
"""The time for the one search of Reserve, as a share of the limit for Filter.

With the defaults, both end in 7 seconds. The lease is lost if it is not renewed for 10 seconds.
"""

_encoder = msgspec.json.Encoder(order="deterministic")


@dataclasses.dataclass(frozen=True, slots=True)
class SearchSettings:
    """The settings of all searches of a plugin.

    Attributes:
        selectors: compiled selectors, with their cached results.
        clock: measures `timeout_seconds`; one that stands still limits nothing.
        timeout_seconds: limit of the searches for a pod on all nodes together; 0 for none. Reserve
            has time of its own.
        order: the order in which the devices of a node are tried.
    """

    selectors: selector_cache.SelectorCache
    clock: clocks.Clock
    timeout_seconds: float
    order: device_order.DeviceOrder = device_order.DeviceOrder.PUBLISHED


class ClaimSearch:
    """Searches for devices for some claims, on one node after the other.

    Other pods and the renewal of the lease wait during a search. Therefore the time for all nodes
    together is limited. Results from before the timeout are cached for the next attempt.

    Attributes:
        kind: equal for claims that get the same devices on every node.
    """

    def __init__(
        self,
        claims: Sequence[device_objects.ResourceClaim],
        devices: cluster_devices.ClusterDevices,
        settings: SearchSettings,
    ) -> None:
        """Search for devices for `claims`, which have none, among `devices`."""
        self._claims = claims
        self._devices = devices
        self._settings = settings
        self._left_seconds = settings.timeout_seconds or math.inf
        self._timeout: allocation_errors.AllocationError | None = None
        requested = [(each.spec.devices.requests, each.spec.devices.constraints) for each in claims]
        self.kind: Hashable = settings.order, _encoder.encode(requested)

    def start_reserve(self) -> None:
        """Replace the time that is left by that for Reserve."""
        self._left_seconds = RESERVE_SHARE * self._settings.timeout_seconds or math.inf
        self._timeout = None

    def allocate(
        self, node: objects.Node, pools: node_pools.PoolSet
    ) -> list[device_objects.AllocationResult] | None:
        """Return an allocation for each claim; None if the node lacks devices for them.

        Raises:
            AllocationError: a claim, a class or a slice cannot be processed on any node.
            InvalidPoolsError: the node lacks devices, but has pools that are invalid.
        """
        if self._timeout is not None:
            raise self._timeout
        if pools.error:
            raise allocation_errors.AllocationError(f"gather pool information: {pools.error}")
        monotonic = self._settings.clock.monotonic_seconds
        end_seconds = monotonic() + self._left_seconds
        own = allocator.Allocator(
            self._devices,
            self._settings.selectors,
            lambda: monotonic() > end_seconds,
            self._settings.order,
        )
        try:
            return own.allocate(node, pools.pools, self._claims)
        except allocation_errors.AllocationTimeoutError:
            text = f"node {node.name}: timed out trying to allocate devices"
            self._timeout = allocation_errors.AllocationError(text)
            raise self._timeout from None
        finally:
            self._left_seconds = end_seconds - monotonic()

    def score(self, allocations: Sequence[device_objects.AllocationResult]) -> int:
        """Return the sum of `score_alternatives` of the claims with these allocations."""
        return sum(map(score_alternatives, self._claims, allocations))


def score_alternatives(
    claim: device_objects.ResourceClaim, allocation: device_objects.AllocationResult
) -> int:
    """Return the sum of the points of the chosen alternatives of a claim; earlier ones have more.

    Source: `framework/plugins/dynamicresources/dynamicresources.go`, computeScore.
    """
    chosen = {result.request for result in allocation.devices.results}
    return sum(
        MAX_ALTERNATIVES - i
        for request in claim.spec.devices.requests
        if request.exactly is None
        for i, each in enumerate(request.first_available)
        if f"{request.name}/{each.name}" in chosen
    )
