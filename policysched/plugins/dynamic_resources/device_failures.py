"""Find the first test that a device fails for a request, as if it were the only one to be chosen.

Selectors come first: a device that they do not select is not reported as in use.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Final

from policysched import quantity
from policysched.cluster.devices import amounts, cluster_devices, node_selection
from policysched.cluster.devices.slice_devices import DeviceId, PoolId, SliceDevice
from policysched.cluster.objects import device_objects
from policysched.plugins.dynamic_resources.allocation import (
    device_requests,
    device_taints,
    pool_counters,
)
from policysched.plugins.shared import selector_cache

_WORD: Final = re.compile(r"\w+")
_MAX_CHARACTERS: Final = 60
"""The beginning of a value of an attribute that is shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceFailure:
    """The first test that a device fails.

    Attributes:
        reason: the test.
        detail: the values of the device, or "".
        is_unselected: whether the device is not among those that the request selects.
        is_error: whether the test has no result, which ends the attempt on all nodes.
    """

    reason: str
    detail: str = ""
    is_unselected: bool = False
    is_error: bool = False


class DeviceTests:
    """Tests devices for requests on one node."""

    def __init__(
        self,
        context: device_requests.AllocationContext,
        devices: cluster_devices.ClusterDevices,
    ) -> None:
        """Test the devices of the pools of `context`."""
        self._context = context
        self._devices = devices
        self._pools = {pool.id: pool for pool in context.pools}

    def find_failure(
        self, alternative: device_requests.Alternative, device: SliceDevice
    ) -> DeviceFailure | None:
        """Return the first test that a device fails, or None."""
        unselected = self._find_failed_selector(alternative, device)
        if unselected is not None:
            return unselected
        if not alternative.is_admin and self._context.in_use.is_in_use(device.id):
            return DeviceFailure(f"in use{self._describe_owners(device.id)}")
        if not alternative.has_capacity(device):
            return self._find_missing_capacity(alternative, device)
        if not self._context.in_use.has_counters(device):
            return self._find_missing_counter(device)
        tolerations = alternative.spec.tolerations
        taints = [
            _format_taint(each)
            for each in device.device.taints
            if not device_taints.tolerates_taints((each,), tolerations)
        ]
        if taints:
            return DeviceFailure(f"with taints that are not tolerated ({', '.join(taints)})")
        return None

    def _find_failed_selector(
        self, alternative: device_requests.Alternative, device: SliceDevice
    ) -> DeviceFailure | None:
        """Return the selector that a device fails, with the values that it reads, or None."""
        of_class = alternative.device_class
        sources = (
            (f"class {of_class.metadata.name}", of_class.spec.selectors),
            (f"request {alternative.name}", alternative.spec.selectors),
        )
        for owner, selectors in sources:
            for i, each in enumerate(selectors):
                expression = "" if each.cel is None else each.cel.expression
                try:
                    if self._context.selectors.matches(expression, device):
                        continue
                except selector_cache.SelectorError as error:
                    reason = f"on which selector #{i} of {owner} fails"
                    return DeviceFailure(reason, str(error), is_error=True)
                values = _describe_values(expression, device)
                reason = f"not selected by selector #{i} of {owner}"
                return DeviceFailure(reason, values, is_unselected=True)
        try:
            if device.own_nodes is not None and not device.own_nodes.matches(self._context.node):
                return DeviceFailure("for other nodes", is_unselected=True)
        except node_selection.NodeSelectionError as error:
            return DeviceFailure(str(error), is_error=True)
        return None

    def _describe_owners(self, device: DeviceId) -> str:
        owners = [claim.full_name for claim in self._devices.claims if _has_device(claim, device)]
        return f" by claim {owners[0]}" if owners else ""

    def _find_missing_capacity(
        self, alternative: device_requests.Alternative, device: SliceDevice
    ) -> DeviceFailure:
        requirements = alternative.spec.capacity
        requested: Mapping[str, object] = {} if requirements is None else requirements.requests
        absent = [name for name in requested if name not in device.capacity]
        if absent:
            return DeviceFailure(f"without the capacity {', '.join(absent)}")
        needs = alternative.get_needs(device)
        if needs is None:
            asked = ", ".join(f"{name}: {each} requested" for name, each in requested.items())
            return DeviceFailure("whose policy does not permit the amount", asked)
        use = self._devices.allocated.get_use(device.id)
        consumed = {} if use is None else use.consumed
        details = []
        for name, need in needs.items():
            total = device.capacity[name].value
            left = total.number - consumed.get(name, 0)
            if need.number > left:
                shown = f"{_format_number(left)} of {total.text} left"
                details.append(f"{name}: {need.text} requested, {shown}")
        return DeviceFailure("without enough capacity", ", ".join(details))

    def _find_missing_counter(self, device: SliceDevice) -> DeviceFailure:
        pool = self._pools[PoolId(device.id.driver, device.id.pool)]
        counters = pool_counters.PoolCounters(pool, self._devices.allocated)
        short = counters.find_short_counter(device)
        detail = ""
        if short is not None:
            counter, left = short
            needed = _format_number(device.counters.get(counter, 0))
            detail = f"{'/'.join(counter)}: {needed} needed, {_format_number(left)} left"
        return DeviceFailure("without enough of the shared counters", detail)


def _has_device(claim: device_objects.ResourceClaim, device: DeviceId) -> bool:
    results = () if claim.allocation is None else claim.allocation.devices.results
    return any((each.driver, each.pool, each.device) == device for each in results)


def _format_taint(taint: device_objects.DeviceTaint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _format_number(number: amounts.Number) -> str:
    return quantity.format_binary(number)


def _describe_values(expression: str, device: SliceDevice) -> str:
    """Return the attributes and capacities of a device that an expression names."""
    words = set(_WORD.findall(expression))
    source = device.device
    shown = [
        f"{name} = {_format_attribute(each)}"
        for name, each in source.attributes.items()
        if name.rpartition("/")[2] in words
    ]
    shown += [
        f"{name} = {each.value}"
        for name, each in source.capacity.items()
        if name.rpartition("/")[2] in words
    ]
    if "driver" in words and not shown:
        shown = [f"driver = {device.id.driver}"]
    return ", ".join(shown)


def _format_attribute(attribute: device_objects.DeviceAttribute) -> str:
    for value in (attribute.int_value, attribute.string_value, attribute.version_value):
        if value is not None:
            text = str(value)
            return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
    return str(attribute.bool_value).lower()
