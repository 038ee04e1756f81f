"""Cache whether claims with equal specs can be allocated from each set of pools.

Pods of a workload have claims that differ in name only. For each kind of claims, verdicts are
cached by set of pools (`cluster.devices.node_pools`), and dropped when the use of a pool in the set
changes. So a pod costs one search for each set that changed since the last equal pod, and not one
for each node.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Hashable
from typing import Final

import numpy as np
import numpy.typing as npt

from policysched.cluster.columns import columns
from policysched.cluster.devices import cluster_devices, node_pools
from policysched.cluster.objects import objects
from policysched.plugins.dynamic_resources import claim_search
from policysched.plugins.dynamic_resources.allocation import allocation_errors
from policysched.plugins.shared import known_sets

MAX_KINDS: Final = 256
"""Kinds of claims that are cached; a pod with claims of its own kind uses one entry."""


class AllocationVerdict(enum.IntEnum):
    """Whether claims can be allocated on a node."""

    FITS = 0
    NO_DEVICES = 1
    INVALID_POOLS = 2
    """There are no devices, but pools that could not be considered."""
    ERROR = 3
    """The claims cannot be processed. The text names them, so it is not kept for other claims."""


class KindVerdicts:
    """The verdicts about one kind of claims.

    Attributes:
        verdicts: int8 (S,), an `AllocationVerdict` for each set of pools.
        scores: int64 (S,), `ClaimSearch.score` of the allocations; 0 unless it FITS.
        errors: the text for each set of which the verdict is ERROR.
    """

    def __init__(self) -> None:
        """Start without verdicts."""
        self._known = known_sets.KnownSets()
        self.verdicts: npt.NDArray[np.int8] = np.zeros(0, np.int8)
        self.scores: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.errors: dict[int, str] = {}

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
            self.verdicts[number] = self._find(number, node, pools.sets[number], search)
            self._known.set_known(number)

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
        return AllocationVerdict.FITS


def make_cache() -> Callable[[Hashable], KindVerdicts]:
    """Return a function that returns the verdicts about a kind; recent kinds are cached."""
    return functools.lru_cache(MAX_KINDS)(lambda _kind: KindVerdicts())
