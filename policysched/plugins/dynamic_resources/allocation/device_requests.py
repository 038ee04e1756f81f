"""Prepare the requests of claims for the search: classes, numbers of devices, constraints.

Source: `k8s.io/dynamic-resource-allocation/structured`, the first part of Allocate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from policysched import quantity
from policysched.cel import meter
from policysched.cluster.devices import amounts, classes, node_selection, pools
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    devices_in_use,
    requested_capacity,
)
from policysched.plugins.dynamic_resources.allocation.allocation_errors import AllocationError
from policysched.plugins.dynamic_resources.allocation.attribute_constraints import (
    AttributeConstraint,
    make_constraint,
)
from policysched.plugins.shared import selector_cache

MAX_RESULTS: Final = 32
"""`AllocationResultsMaxSize` of the API: devices of a claim."""

RequestSpec: TypeAlias = device_objects.ExactDeviceRequest | device_objects.DeviceSubRequest


@dataclasses.dataclass(frozen=True, slots=True)
class AllocationContext:
    """The node for which devices are chosen, and the state that decides among them.

    Attributes:
        node: the node.
        pools: its pools, in the order in which they are tried.
        classes: the DeviceClasses.
        selectors: compiled selectors.
        in_use: the devices, capacities and counters in use.
        check_time: raises AllocationTimeoutError if the time for the search is over.
    """

    node: objects.Node
    pools: Sequence[pools.NodePool]
    classes: classes.DeviceClasses
    selectors: selector_cache.SelectorCache
    in_use: devices_in_use.DevicesInUse
    check_time: meter.CheckTime = meter.check_nothing


class Alternative:
    """A way to fulfil a request: the request itself, or an entry of its `firstAvailable`.

    Attributes:
        request: name of the request.
        name: name of the alternative as results have it: `gpu`, or `gpu/big`.
        spec: the fields of `exactly`, or of the entry.
        device_class: the class that it names.
        is_admin: whether it can also get devices in use.
        devices: all devices that it selects if `allocationMode` is `All`, else None.
        count: number of devices.
    """

    def __init__(
        self,
        claim: device_objects.ResourceClaim,
        request: device_objects.DeviceRequest,
        spec: RequestSpec,
        context: AllocationContext,
    ) -> None:
        """Find the class and, for the allocation mode `All`, the devices.

        Raises:
            AllocationError: the request cannot be processed, or the time is over.
        """
        if isinstance(spec, device_objects.ExactDeviceRequest):
            own_name = self.name = request.name
            self.is_admin = bool(spec.admin_access)
        else:
            own_name, self.name = spec.name, f"{request.name}/{spec.name}"
            self.is_admin = False
        self.request = request.name
        self.spec = spec
        self._claim_name = claim.full_name
        self._prefix = f"claim {claim.full_name}, request {own_name}"
        self._context = context
        self._selected: dict[SliceDevice, bool] = {}
        self._needs: dict[SliceDevice, Mapping[str, amounts.Amount] | None] = {}
        self._requested = self._parse_capacity()
        self._check_selectors()
        self.device_class = self._find_class()
        self.devices: tuple[SliceDevice, ...] | None = None
        self.count = spec.count
        if spec.allocation_mode == device_objects.ALL:
            self.devices = tuple(self._list_devices())
            self.count = len(self.devices)
        elif spec.allocation_mode != device_objects.EXACT_COUNT:
            raise self.make_error(f": unsupported count mode {spec.allocation_mode}")

    def make_error(self, text: str) -> AllocationError:
        """Return an error about this alternative."""
        return AllocationError(self._prefix + text)

    def selects(self, device: SliceDevice) -> bool:
        """Return whether the selectors are true for a device, and the node can use it.

        Raises:
            AllocationError: a selector fails.
        """
        selected = self._selected.get(device)
        if selected is None:
            selected = self._selected[device] = self._select(device)
        return selected

    def get_needs(self, device: SliceDevice) -> Mapping[str, amounts.Amount] | None:
        """Return the amount of each capacity of a device that the alternative needs.

        None means that the device lacks a requested capacity, or does not permit the amount.
        """
        if device not in self._needs:
            self._needs[device] = requested_capacity.compute_amounts(
                self._requested, device.capacity
            )
        return self._needs[device]

    def has_capacity(self, device: SliceDevice) -> bool:
        """Return whether enough of each capacity of a device is left."""
        needs = self.get_needs(device)
        return needs is not None and self._context.in_use.has_capacity(device, needs)

    def _parse_capacity(self) -> dict[str, amounts.Amount]:
        requirements = self.spec.capacity
        try:
            return amounts.make_amounts({} if requirements is None else requirements.requests)
        except quantity.QuantityError as error:
            raise self.make_error(f": {error}") from None

    def _check_selectors(self) -> None:
        for i, each in enumerate(self.spec.selectors):
            if each.cel is None:
                raise self.make_error(
                    f", selector #{i}: CEL expression empty (unsupported selector type?)"
                )

    def _find_class(self) -> device_objects.DeviceClass:
        name = self.spec.device_class_name
        if not name:
            raise self.make_error(": missing device class name (unsupported request type?)")
        device_class = self._context.classes.get(name)
        if device_class is None:
            raise self.make_error(
                f": could not retrieve device class {name}:"
                f' deviceclass.resource.k8s.io "{name}" not found'
            )
        return device_class

    def _list_devices(self) -> Iterator[SliceDevice]:
        for pool in self._context.pools:
            if pool.state is not pools.PoolState.READY:
                is_incomplete = pool.state is pools.PoolState.INCOMPLETE
                raise self.make_error(
                    f": asks for all devices, but resource pool {pool.id} is currently"
                    f" {'being updated' if is_incomplete else 'invalid'}"
                )
            for device in pool.devices:
                self._context.check_time()
                if self.selects(device) and self.has_capacity(device):
                    yield device

    def _select(self, device: SliceDevice) -> bool:
        class_name = f"class {self.device_class.metadata.name}"
        if not (
            self._match(self.device_class.spec.selectors, class_name, device)
            and self._match(self.spec.selectors, f"claim {self._claim_name}", device)
        ):
            return False
        try:
            return device.own_nodes is None or device.own_nodes.matches(self._context.node)
        except node_selection.NodeSelectionError as error:
            raise AllocationError(str(error)) from None

    def _match(
        self, selectors: Sequence[device_objects.DeviceSelector], owner: str, device: SliceDevice
    ) -> bool:
        for i, each in enumerate(selectors):
            expression = "" if each.cel is None else each.cel.expression
            try:
                if not self._context.selectors.matches(
                    expression, device, self._context.check_time
                ):
                    return False
            except selector_cache.SelectorError as error:
                raise AllocationError(f"{owner}: selector #{i}: {error}") from None
        return True


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request of a claim.

    Attributes:
        name: its name.
        alternatives: the best first; one only, unless the request is prioritized.
        is_prioritized: whether it has a list of alternatives.
    """

    name: str
    alternatives: tuple[Alternative, ...]
    is_prioritized: bool


@dataclasses.dataclass(frozen=True, slots=True)
class PreparedClaim:
    """A claim whose requests and constraints have been checked."""

    source: device_objects.ResourceClaim
    requests: tuple[PreparedRequest, ...]
    constraints: tuple[AttributeConstraint, ...]


def prepare_claim(claim: device_objects.ResourceClaim, context: AllocationContext) -> PreparedClaim:
    """Return a claim for the search.

    Raises:
        AllocationError: the claim cannot be processed on any node.
    """
    requests = tuple(_prepare_request(claim, each, context) for each in claim.spec.devices.requests)
    least = sum(min(each.count for each in request.alternatives) for request in requests)
    if least > MAX_RESULTS:
        raise AllocationError(
            f"claim {claim.full_name}: number of requested devices {least} exceeds the claim limit"
            f" of {MAX_RESULTS}"
        )
    return PreparedClaim(claim, requests, tuple(_list_constraints(claim)))


def _prepare_request(
    claim: device_objects.ResourceClaim,
    request: device_objects.DeviceRequest,
    context: AllocationContext,
) -> PreparedRequest:
    specs: Sequence[RequestSpec] = request.first_available
    if not specs:
        specs = (request.exactly or device_objects.ExactDeviceRequest(),)
    alternatives = tuple(Alternative(claim, request, each, context) for each in specs)
    return PreparedRequest(request.name, alternatives, bool(request.first_available))


def _list_constraints(claim: device_objects.ResourceClaim) -> Iterator[AttributeConstraint]:
    for i, each in enumerate(claim.spec.devices.constraints):
        constraint = make_constraint(each)
        if constraint is None:
            raise AllocationError(
                f"claim {claim.full_name}, constraint #{i}:"
                " empty constraint (unsupported constraint type?)"
            )
        yield constraint
