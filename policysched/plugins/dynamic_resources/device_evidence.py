"""Explain why claims get no devices on a node.

kube-scheduler reports only `cannot allocate all claims`. Here, devices are tested one by one, each
as if it were the only one to be chosen. If enough devices pass for each request, the reason is that
they cannot be used together.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from policysched import spelling
from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.devices.slice_devices import SliceDevice
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources import claim_conflicts, device_failures
from policysched.plugins.dynamic_resources.allocation import device_requests, devices_in_use
from policysched.plugins.dynamic_resources.allocation.allocation_errors import AllocationError
from policysched.plugins.shared import selector_cache

_MAX_NAMES: Final = 3
"""Devices, and their values, that are named for each reason."""
_SELECTOR_ERROR: Final = re.compile(r"\bselector #\d+: CEL ")


@dataclasses.dataclass(slots=True)
class _TestedRequest:
    """The results of the tests for a request.

    Attributes:
        request: its name.
        suitable: the suitable devices of each alternative.
        has_enough: whether an alternative has as many of them as it requests.
        has_error: whether a test of a device has no result.
        texts: the failed tests, for each alternative.
    """

    request: str
    suitable: dict[str, Sequence[SliceDevice]] = dataclasses.field(default_factory=dict)
    has_enough: bool = False
    has_error: bool = False
    texts: list[str] = dataclasses.field(default_factory=list)


class DeviceEvidence:
    """Tests the devices of one node for the requests of claims."""

    def __init__(
        self,
        node: objects.Node,
        pools: node_pools.PoolSet,
        devices: cluster_devices.ClusterDevices,
        selectors: selector_cache.SelectorCache,
    ) -> None:
        """Test the devices of `pools`, those of `node`."""
        self._pools = pools.pools
        self._every = pools.list_devices()
        self._repeated = {
            name
            for name, count in Counter(each.id.device for each in self._every).items()
            if count > 1
        }
        self._context = device_requests.AllocationContext(
            node,
            self._pools,
            devices.classes,
            selectors,
            devices_in_use.DevicesInUse(devices.allocated, self._pools),
        )
        self._tests = device_failures.DeviceTests(self._context, devices)
        self._search = claim_conflicts.ConflictSearch(node, pools, devices, selectors)

    def describe(self, claims: Sequence[device_objects.ResourceClaim]) -> str:
        """Return the failed tests of devices, for each request of `claims`, or their conflict."""
        if not self._every:
            unready = [str(pool.id) for pool in self._pools]
            named = f"; not ready: {', '.join(unready)}" if unready else ""
            return f"the node has no devices{named}"
        texts: list[str] = []
        enough = []
        has_error = False
        for claim in claims:
            try:
                prepared = device_requests.prepare_claim(claim, self._context)
            except AllocationError as error:
                texts.append(str(error))
                continue
            tested = [
                self._test_devices(claim.metadata.name, request) for request in prepared.requests
            ]
            texts += [text for each in tested for text in each.texts]
            has_error |= any(each.has_error for each in tested)
            if all(each.has_enough for each in tested):
                enough.append((claim, {each.request: each.suitable for each in tested}))
        if has_error:
            texts.append("an error on one node ends the attempt on all nodes")
        elif len(enough) == len(claims):
            texts.append(claim_conflicts.describe_conflict(enough, self._search.can_allocate))
        return "; ".join(filter(None, texts))

    def _test_devices(self, claim: str, request: device_requests.PreparedRequest) -> _TestedRequest:
        """Test all devices for a request of the claim `claim`."""
        tested = _TestedRequest(request.name)
        for alternative in request.alternatives:
            failures = {
                device: failure
                for device in self._every
                if (failure := self._tests.find_failure(alternative, device)) is not None
            }
            tested.has_error |= any(each.is_error for each in failures.values())
            suitable = [device for device in self._every if device not in failures]
            tested.suitable[alternative.name] = suitable
            tested.has_enough |= len(suitable) >= alternative.count
            count = f"{len(suitable)} suitable of {alternative.count} requested"
            parts = [
                f"claim {claim}, request {alternative.name}: {count}",
                *self._describe_failures(failures),
            ]
            tested.texts.append(", ".join(parts))
        return tested

    def _describe_failures(
        self, failures: Mapping[SliceDevice, device_failures.DeviceFailure]
    ) -> Iterator[str]:
        """Yield each reason with its devices; those that are not selected come last."""
        by_reason: dict[tuple[bool, str], list[SliceDevice]] = {}
        for device, failure in failures.items():
            by_reason.setdefault((failure.is_unselected, failure.reason), []).append(device)
        for key in sorted(by_reason, key=lambda each: each[0]):
            devices = by_reason[key]
            names = spelling.join_some_names([self._name(each) for each in devices], _MAX_NAMES)
            yield f"{names} {key[1]}{_join_details(failures[each].detail for each in devices)}"

    def _name(self, device: SliceDevice) -> str:
        """Return the name of a device, with its pool if several devices have the name."""
        name = device.id.device
        return f"{device.id.pool}/{name}" if name in self._repeated else name


def is_selector_error(reason: str) -> bool:
    """Return whether a search failed with the error of a selector."""
    return _SELECTOR_ERROR.search(reason) is not None


def _join_details(details: Iterable[str]) -> str:
    """Return the different values of devices in brackets."""
    distinct = [each for each in dict.fromkeys(details) if each]
    if not distinct:
        return ""
    more = f"; {len(distinct) - _MAX_NAMES} more" if len(distinct) > _MAX_NAMES else ""
    return f" ({'; '.join(distinct[:_MAX_NAMES])}{more})"
