"""Compare policysched's allocations with those of kube-scheduler's allocator."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from typing import Any

import msgspec

from policysched.cluster.devices import cluster_devices, node_selection
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    allocation_errors,
    allocator,
)
from policysched.plugins.dynamic_resources.allocation.device_order import DeviceOrder
from policysched.plugins.shared import selector_cache
from tests import line_process
from tests.devices import generate
from tests.reference import resource_pools

MAX_STEPS = 20_000
"""Steps of a search; cases that take more are not compared."""


class Answer(msgspec.Struct, rename="camel", omit_defaults=True):
    """What an allocator does: an allocation for each claim, none, or an error."""

    allocations: list[device_objects.AllocationResult] = []
    error: str = ""
    is_node_error: bool = False


class Case(msgspec.Struct):
    """A case as policysched reads it."""

    node: objects.Node
    slices: list[device_objects.ResourceSlice]
    classes: list[device_objects.DeviceClass]
    claims: list[device_objects.ResourceClaim]
    allocated: list[device_objects.ResourceClaim]


@dataclasses.dataclass(frozen=True)
class Difference:
    """A case with two different answers."""

    case: dict[str, Any]
    real: Answer
    own: Answer

    def __str__(self) -> str:
        real, own = (msgspec.json.encode(each).decode() for each in (self.real, self.own))
        return f"{json.dumps(self.case)}\n  real: {real}\n  own:  {own}"


@dataclasses.dataclass
class Tally:
    """Numbers of compared cases, and answers of the real code."""

    cases: int = 0
    allocated: int = 0
    shares: int = 0
    node_errors: int = 0
    errors: int = 0
    too_long: int = 0
    differences: list[Difference] = dataclasses.field(default_factory=list)

    def count(self, real: Answer) -> None:
        """Count an answer of the real code."""
        self.cases += 1
        self.allocated += bool(real.allocations)
        results = [each for one in real.allocations for each in one.devices.results]
        self.shares += any(each.share_id is not None for each in results)
        self.node_errors += real.is_node_error
        self.errors += bool(real.error) and not real.is_node_error


def compare_generated(oracle: line_process.LineProcess, rng: random.Random, cases: int) -> Tally:
    """Compare `cases` cases."""
    tally = Tally()
    while tally.cases < cases:
        case = generate.make_case(rng)
        own = ask_policysched(case)
        if own is None:
            tally.too_long += 1
            continue
        real = msgspec.json.decode(oracle.exchange(case), type=Answer)
        tally.count(real)
        if real != own:
            tally.differences.append(Difference(case, real, own))
    return tally


def ask_policysched(
    source: dict[str, Any], order: DeviceOrder = DeviceOrder.PUBLISHED
) -> Answer | None:
    """Return policysched's answer; None if the search takes too many steps."""
    case = msgspec.convert(source, Case)
    known = cluster_devices.ClusterDevices()
    for slice_ in case.slices:
        known.slices.set(slice_)
    for device_class in case.classes:
        known.classes.set(device_class)
    for claim in case.allocated:
        known.allocated.set(claim.metadata.uid, claim.status.allocation)
    steps, shares = itertools.count(), itertools.count(1)
    own = allocator.Allocator(
        known,
        selector_cache.SelectorCache(),
        has_expired=lambda: next(steps) > MAX_STEPS,
        order=order,
        make_share_id=lambda: str(next(shares)),
    )
    try:
        node_pools = resource_pools.gather_pools(known.slices, case.node)
        return Answer(own.allocate(case.node, node_pools, case.claims) or [])
    except allocation_errors.AllocationTimeoutError:
        return None
    except allocation_errors.InvalidPoolsError as error:
        return Answer(error=str(error), is_node_error=True)
    except allocation_errors.AllocationError as error:
        return Answer(error=str(error))
    except node_selection.NodeSelectionError as error:
        return Answer(error=f"gather pool information: {error}")
