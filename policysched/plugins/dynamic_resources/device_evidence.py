"""Explain for each device of a node the first test that it fails for a claim.

kube-scheduler reports only `cannot allocate all claims`. Here, devices are tested one by one, each
as if it were the only one to be chosen. Selectors come first: a device that they do not select is
not reported as in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from policysched.cluster.devices import cluster_devices, node_selection, pools
from policysched.cluster.devices.slice_devices import DeviceId, SliceDevice
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources.allocation import (
    device_requests,
    device_taints,
    devices_in_use,
)
from policysched.plugins.dynamic_resources.allocation.allocation_errors import AllocationError
from policysched.plugins.shared import selector_cache

_MAX_NAMES: Final = 3
"""Devices that are named for each reason."""
_WORD: Final = re.compile(r"\w+")


class DeviceEvidence:
    """Tests the devices of one node for the requests of claims."""

    def __init__(
        self,
        node: objects.Node,
        node_pools: Sequence[pools.NodePool],
        devices: cluster_devices.ClusterDevices,
        selectors: selector_cache.SelectorCache,
    ) -> None:
        """Test the devices of `node_pools`, those of `node`."""
        self._pools = node_pools
        self._devices = devices
        self._selectors = selectors
        in_use = devices_in_use.DevicesInUse(devices.allocated, node_pools)
        self._in_use = in_use
        self._context = device_requests.AllocationContext(
            node, node_pools, devices.classes, selectors, in_use
        )

    def describe(self, claims: Sequence[device_objects.ResourceClaim]) -> str:
        """Return the failed tests of devices, for each request of `claims`."""
        if not any(pool.devices for pool in self._pools):
            unready = [str(pool.id) for pool in self._pools]
            named = f"; not ready: {', '.join(unready)}" if unready else ""
            return f"the node has no devices{named}"
        return "; ".join(text for claim in claims for text in self._describe_claim(claim))

    def _describe_claim(self, claim: device_objects.ResourceClaim) -> Iterator[str]:
        try:
            prepared = device_requests.prepare_claim(claim, self._context)
        except AllocationError as error:
            yield str(error)
            return
        for request in prepared.requests:
            for alternative in request.alternatives:
                yield self._describe_alternative(claim, alternative)

    def _describe_alternative(
        self, claim: device_objects.ResourceClaim, alternative: device_requests.Alternative
    ) -> str:
        failed: dict[str, list[str]] = {}
        suitable = 0
        for device in (device for pool in self._pools for device in pool.devices):
            reason = self._find_failure(alternative, device)
            if reason:
                failed.setdefault(reason, []).append(device.id.device)
            else:
                suitable += 1
        parts = [_describe_devices(names, reason) for reason, names in failed.items()]
        needed = f"{suitable} suitable of {alternative.count} requested"
        subject = f"claim {claim.metadata.name}, request {alternative.name}: {needed}"
        return f"{subject}, {', '.join(parts)}" if parts else subject

    def _find_failure(self, alternative: device_requests.Alternative, device: SliceDevice) -> str:
        """Return the first test that a device fails, or ""."""
        unselected = self._find_failed_selector(alternative, device)
        if unselected:
            return unselected
        if not alternative.is_admin and self._in_use.is_in_use(device.id):
            return f"in use{self._describe_owners(device.id)}"
        if not alternative.has_capacity(device):
            return "without enough capacity"
        if not self._in_use.has_counters(device):
            return "without enough of the shared counters"
        if not device_taints.tolerates_taints(device.device.taints, alternative.spec.tolerations):
            taints = ", ".join(f"{each.key}={each.value}" for each in device.device.taints)
            return f"with taints that are not tolerated ({taints})"
        return ""

    def _find_failed_selector(
        self, alternative: device_requests.Alternative, device: SliceDevice
    ) -> str:
        """Return the selector that a device fails, with the values that it reads, or ""."""
        of_class = alternative.device_class
        sources = (
            (f"class {of_class.metadata.name}", of_class.spec.selectors),
            (f"request {alternative.name}", alternative.spec.selectors),
        )
        for owner, selectors in sources:
            for i, each in enumerate(selectors):
                expression = "" if each.cel is None else each.cel.expression
                try:
                    if self._selectors.matches(expression, device):
                        continue
                except selector_cache.SelectorError as error:
                    return f"on which selector #{i} of {owner} fails ({error})"
                values = _describe_values(expression, device)
                return f"not selected by selector #{i} of {owner}{values}"
        try:
            if device.own_nodes is not None and not device.own_nodes.matches(self._context.node):
                return "for other nodes"
        except node_selection.NodeSelectionError as error:
            return str(error)
        return ""

    def _describe_owners(self, device: DeviceId) -> str:
        owners = [claim.full_name for claim in self._devices.claims if _has_device(claim, device)]
        return f" by claim {owners[0]}" if owners else ""


def _has_device(claim: device_objects.ResourceClaim, device: DeviceId) -> bool:
    results = () if claim.allocation is None else claim.allocation.devices.results
    return any((each.driver, each.pool, each.device) == device for each in results)


def _describe_values(expression: str, device: SliceDevice) -> str:
    """Return the attributes and capacities of a device that an expression names, in brackets."""
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
    return f" ({', '.join(shown)})" if shown else ""


def _format_attribute(attribute: device_objects.DeviceAttribute) -> str:
    for value in (attribute.int_value, attribute.string_value, attribute.version_value):
        if value is not None:
            return str(value)
    return str(attribute.bool_value).lower()


def _describe_devices(names: Sequence[str], reason: str) -> str:
    more = "" if len(names) <= _MAX_NAMES else f" and {len(names) - _MAX_NAMES} more"
    return f"{', '.join(names[:_MAX_NAMES])}{more} {reason}"
