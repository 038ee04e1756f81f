"""Cache whether claims with equal specs can be allocated from each set of pools, and how.

Pods of a workload have claims that differ in name only. For each kind of claims, verdicts are
cached by set of pools (`cluster.devices.node_pools`), and dropped when the use of a pool in the set
changes. So a pod costs one search for each set that changed since the last equal pod, and not one
for each node. Numbers in policies read the allocations that the search found.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns
from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.objects import device_objects, objects
from policysched.plugins.dynamic_resources import claim_search
from policysched.plugins.dynamic_resources.allocation import allocation_errors
from policysched.plugins.shared import known_sets

MAX_KINDS: Final = 256
"""Kinds of claims that are cached; a pod with claims of its own kind uses one entry."""
MAX_DEVICES: Final = 200_000
"""Devices in all cached allocations; one takes up to 840 bytes."""


class AllocationVerdict(enum.IntEnum):
    """Whether claims can be allocated on a node."""

    FITS = 0
    NO_DEVICES = 1
    INVALID_POOLS = 2
    """There are no devices, but pools that could not be considered."""
    ERROR = 3
    """The claims cannot be processed. The text names them, so it is not kept for other claims."""


@dataclasses.dataclass(frozen=True, slots=True)
class FoundAllocations:
    """The result of a search that found devices.

    Attributes:
        search: the search. Configurations and identities of shares are for its claims only.
        node_name: the node, which the allocations can name.
        allocations: for each claim, its allocation.
    """

    search: claim_search.ClaimSearch
    node_name: str
    allocations: Sequence[device_objects.AllocationResult]


class KindVerdicts:
    """The verdicts about one kind of claims.

    Attributes:
        verdicts: int8 (S,), an `AllocationVerdict` for each set of pools.
        scores: int64 (S,), `ClaimSearch.score` of the allocations; 0 unless it FITS.
        errors: the text for each set of which the verdict is ERROR.
        found: the allocations for each set of which the verdict is FITS.
        device_count: number of devices in `found`.
    """

    def __init__(self) -> None:
        """Start without verdicts."""
        self._known = known_sets.KnownSets()
        self.verdicts: npt.NDArray[np.int8] = np.zeros(0, np.int8)
        self.scores: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.errors: dict[int, str] = {}
        self.found: dict[int, FoundAllocations] = {}
        self.device_count = 0

    def drop_outdated(
        self, pools: node_pools.NodePools, devices: cluster_devices.ClusterDevices
    ) -> None:
        """Drop the errors of other claims, and the verdicts that changes made outdated."""
        self._known.set_unknown(self.errors)
        self.errors = {}
        self._known.refresh(pools, devices)
        if len(self.verdicts) != len(pools.sets):
            self.verdicts = np.resize(self.verdicts, len(pools.sets))
            self.scores = np.resize(self.scores, len(pools.sets))

    def complete(
        self,
        rows: npt.NDArray[np.intp],
        pools: node_pools.NodePools,
        nodes: columns.NodeColumns,
        search: claim_search.ClaimSearch,
    ) -> None:
        """Find the missing verdicts about the sets of `rows`, intp (n,), of existing nodes."""
        for number, node in self._known.list_unknown(pools, rows, nodes):
            self.scores[number] = 0
            self._forget(number)
            self.verdicts[number] = self._find(number, node, pools.sets[number], search)
            self._known.set_known(number)

    def _forget(self, number: int) -> None:
        outdated = self.found.pop(number, None)
        if outdated is not None:
            self.device_count -= _count_devices(outdated.allocations)

    def get_allocations(
        self, number: int, node: objects.Node, search: claim_search.ClaimSearch
    ) -> Sequence[device_objects.AllocationResult] | None:
        """Return what a search found for a node with a set; None if not known, or outdated."""
        found = self.found.get(number) if self._known.is_known(number) else None
        if found is None or found.search is not search or found.node_name != node.name:
            return None
        return found.allocations

    def _find(
        self,
        number: int,
        node: objects.Node,
        pools: node_pools.PoolSet,
        search: claim_search.ClaimSearch,
    ) -> AllocationVerdict:
        try:
            found = search.allocate(node, pools)
        except allocation_errors.InvalidPoolsError:
            return AllocationVerdict.INVALID_POOLS
        except allocation_errors.AllocationError as error:
            self.errors[number] = str(error)
            return AllocationVerdict.ERROR
        if found is None:
            return AllocationVerdict.NO_DEVICES
        self.scores[number] = search.score(found)
        self.found[number] = FoundAllocations(search, node.name, found)
        self.device_count += _count_devices(found)
        return AllocationVerdict.FITS


def _count_devices(allocations: Sequence[device_objects.AllocationResult]) -> int:
    return sum(len(each.devices.results) for each in allocations)


class VerdictCache:
    """The verdicts about the most recent kinds; at most `max_devices` beside the latest kind."""

    def __init__(self, max_devices: int = MAX_DEVICES) -> None:
        """Start empty."""
        self._kinds: collections.OrderedDict[Hashable, KindVerdicts] = collections.OrderedDict()
        self._max_devices = max_devices

    def get(self, kind: Hashable) -> KindVerdicts:
        """Return the verdicts about a kind, and drop the kinds that were not read for longest."""
        found = self._kinds.setdefault(kind, KindVerdicts())
        self._kinds.move_to_end(kind)
        device_count = sum(each.device_count for each in self._kinds.values())
        while len(self._kinds) > 1 and (
            len(self._kinds) > MAX_KINDS or device_count > self._max_devices
        ):
            _, dropped = self._kinds.popitem(last=False)
            device_count -= dropped.device_count
        return found
