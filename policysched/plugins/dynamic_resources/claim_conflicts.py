"""Explain why claims get no devices although each request finds enough suitable ones.

Constraints, counters or other claims prevent it. Which ones do is found by searches without them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    allocation_errors,
    allocator,
    attribute_constraints,
)
from policysched.plugins.shared import selector_cache

_MAX_STEPS: Final = 5_000
"""Limit of a search; `explain` makes several of them for each node."""

CanAllocate: TypeAlias = Callable[[Sequence[device_objects.ResourceClaim]], bool]
"""Returns whether claims can be allocated on the node; also True if that is unknown."""
SuitableDevices: TypeAlias = Mapping[str, Mapping[str, Sequence[SliceDevice]]]
"""Request of a claim → name of each alternative → its suitable devices."""


@dataclasses.dataclass(frozen=True, slots=True)
class ConflictSearch:
    """Searches for devices on one node, for a limited number of steps."""

    node: objects.Node
    pools: node_pools.PoolSet
    devices: cluster_devices.ClusterDevices
    selectors: selector_cache.SelectorCache

    def can_allocate(self, claims: Sequence[device_objects.ResourceClaim]) -> bool:
        """Return whether the node has devices for claims; True if the search takes too long."""
        steps = itertools.count()
        search = allocator.Allocator(self.devices, self.selectors, lambda: next(steps) > _MAX_STEPS)
        try:
            return search.allocate(self.node, self.pools.pools, claims) is not None
        except allocation_errors.AllocationTimeoutError:
            return True
        except (allocation_errors.AllocationError, allocation_errors.InvalidPoolsError):
            return False


def describe_conflict(
    suitable: Sequence[tuple[device_objects.ResourceClaim, SuitableDevices]],
    can_allocate: CanAllocate,
) -> str:
    """Return what prevents an allocation; each request of the claims has enough devices."""
    for claim, devices in suitable:
        text = _find_missing_attribute(claim, devices)
        if text:
            return f"claim {claim.metadata.name}: {text}"
    for claim, _ in suitable:
        if not can_allocate([claim]):
            return f"claim {claim.metadata.name}: {_find_conflict(claim, can_allocate)}"
    if len(suitable) > 1:
        return "there are enough devices for each claim, but not for all of them together"
    return ""


def _find_missing_attribute(claim: device_objects.ResourceClaim, devices: SuitableDevices) -> str:
    """Return the first constraint with an attribute that no suitable device of a request has."""
    for i, source in enumerate(claim.spec.devices.constraints):
        constraint = attribute_constraints.make_constraint(source)
        for request, alternatives in devices.items():
            if constraint is not None and all(
                found
                and constraint.applies_to(request, name)
                and not any(constraint.accepts(device) for device in found)
                for name, found in alternatives.items()
            ):
                subject = f"no suitable device of request {request} has the attribute"
                return f"{subject} {constraint.attribute} of constraint #{i}"
    return ""


def _find_conflict(claim: device_objects.ResourceClaim, can_allocate: CanAllocate) -> str:
    """Return what prevents the allocation of one claim."""
    constraints = claim.spec.devices.constraints
    for i, each in enumerate(constraints):
        others = (*constraints[:i], *constraints[i + 1 :])
        if can_allocate([_replace_constraints(claim, others)]):
            kind = "matchAttribute" if each.match_attribute is not None else "distinctAttribute"
            attribute = each.match_attribute or each.distinct_attribute
            return f"no suitable devices together fulfil constraint #{i} ({kind} {attribute})"
    if constraints and can_allocate([_replace_constraints(claim, ())]):
        return "no suitable devices together fulfil its constraints"
    if len(claim.spec.devices.requests) > 1:
        return "there are enough devices for each request, but not for all of them together"
    return "the suitable devices share counters or capacities that do not suffice for all of them"


def _replace_constraints(
    claim: device_objects.ResourceClaim, constraints: tuple[device_objects.DeviceConstraint, ...]
) -> device_objects.ResourceClaim:
    devices = msgspec.structs.replace(claim.spec.devices, constraints=constraints)
    spec = msgspec.structs.replace(claim.spec, devices=devices)
    return msgspec.structs.replace(claim, spec=spec)
