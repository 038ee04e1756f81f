"""The state of a pod in DynamicResources, from PreFilter to PreBind."""

from __future__ import annotations

import dataclasses

from policysched.cluster import snapshot
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources import (
    claim_availability,
    claim_variants,
)


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedAllocation:
    """Devices that Reserve has chosen for a claim.

    Attributes:
        claim: the claim in the version that was reserved.
        allocation: its devices.
    """

    claim: device_objects.ResourceClaim
    allocation: device_objects.AllocationResult


@dataclasses.dataclass(slots=True)
class DeviceCycle:
    """The state of a pod in one cycle.

    Attributes:
        snap: snapshot of the cycle.
        claims: the claims of the pod; PreBind replaces those that it writes. The one for extended
            resources is last, if there is one.
        variants: the searches for devices for the claims without an allocation.
        availability: the nodes that can use the allocated claims.
        extended: the requests for extended resources, or None.
        reserved: the allocations that Reserve chose, by index of the claim.
        mappings: for each container, its requests for extended resources on the chosen node.
    """

    snap: snapshot.Snapshot
    claims: list[device_objects.ResourceClaim]
    variants: claim_variants.ClaimVariants
    availability: claim_availability.ClaimAvailability
    extended: claim_variants.ExtendedRequests | None = None
    reserved: dict[int, ReservedAllocation] = dataclasses.field(default_factory=dict)
    mappings: tuple[objects.ContainerExtendedResourceRequest, ...] = ()

    def is_for_extended_resources(self, i: int) -> bool:
        """Return whether claim `i` is the one for extended resources."""
        return self.extended is not None and i == len(self.claims) - 1
