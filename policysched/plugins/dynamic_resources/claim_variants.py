"""Group nodes by the claims of a pod that need devices there.

A claim needs devices if it has none. On nodes without a device plugin for an extended resource, the
claim for extended resources has a request for it. Nodes with the same requests share a search.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import cluster_devices
from policysched.cluster.objects import device_objects, objects
from policysched.cluster.pods import pod_shape
from policysched.plugins.dynamic_resources import (
    allocation_verdicts,
    claim_search,
    extended_resources,
)


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimVariant:
    """The claims that need devices on some nodes.

    Attributes:
        claims: the claims that need devices; the one for extended resources is last.
        results: the results of the search for their devices; None without claims.
        mappings: which requests for extended resources serve which containers.
    """

    claims: Sequence[device_objects.ResourceClaim]
    results: SearchResults | None
    mappings: Sequence[objects.ContainerExtendedResourceRequest] = ()


class SearchResults:
    """The results of a search on each node; each one is found when it is read first.

    Attributes:
        search: the search.
    """

    def __init__(
        self,
        search: claim_search.ClaimSearch,
        devices: cluster_devices.ClusterDevices,
        cached: allocation_verdicts.KindVerdicts,
    ) -> None:
        """Search among `devices` for what is not `cached`."""
        self.search = search
        self._devices = devices
        self._pools = devices.node_pools
        self._cached = cached
        self._is_current = False

    def find_verdicts(
        self, rows: npt.NDArray[np.intp], nodes: columns.NodeColumns
    ) -> allocation_verdicts.KindVerdicts:
        """Return verdicts that are complete for `rows`, intp (n,), of existing nodes."""
        if not self._is_current:
            self._drop_outdated(nodes)
            self._is_current = True
        self._cached.complete(rows, self._pools, nodes, self.search)
        return self._cached

    def find_allocations(
        self, node: objects.Node, nodes: columns.NodeColumns
    ) -> Sequence[device_objects.AllocationResult] | None:
        """Return the allocations behind the verdict about a node; None unless it fits.

        They show which devices claims of this kind get; a node with equal pools may be named.
        """
        row = nodes.row_of[node.name]
        verdicts = self.find_verdicts(np.array([row], np.intp), nodes)
        found = verdicts.found.get(int(self._pools.set_of_row[row]))
        return None if found is None else found.allocations

    def allocate(
        self, node: objects.Node, nodes: columns.NodeColumns
    ) -> Sequence[device_objects.AllocationResult] | None:
        """Return allocations that can be written: those of `find_verdicts` or of a new search.

        This search has the time for Reserve.

        Raises:
            AllocationError: a claim, a class or a slice cannot be processed on any node.
            InvalidPoolsError: the node lacks devices, but has pools that are invalid.
        """
        self._drop_outdated(nodes)
        number = int(self._pools.set_of_row[nodes.row_of[node.name]])
        found = self._cached.get_allocations(number, node, self.search)
        if found is not None:
            return found
        self.search.start_reserve()
        return self.search.allocate(node, self._pools.sets[number])

    def _drop_outdated(self, nodes: columns.NodeColumns) -> None:
        self._pools.refresh(nodes)
        self._cached.drop_outdated(self._pools, self._devices)


class ClaimVariants:
    """The searches for a pod."""

    def __init__(
        self,
        unallocated: Sequence[device_objects.ResourceClaim],
        devices: cluster_devices.ClusterDevices,
        settings: claim_search.SearchSettings,
        cache: allocation_verdicts.VerdictCache,
        extended: ExtendedRequests | None = None,
    ) -> None:
        """Search for devices for `unallocated` claims and for `extended` resources.

        `cache` has the results for equal claims.
        """
        self._unallocated = unallocated
        self._devices = devices
        self._settings = settings
        self._cache = cache
        self._extended = extended
        self._variants: dict[tuple[str, ...], ClaimVariant] = {}

    def split(self, nodes: snapshot.NodeView) -> list[tuple[ClaimVariant, columns.NodeMask]]:
        """Return each variant with its nodes, bool (n,)."""
        if self._extended is None:
            return [(self._get_variant(()), np.ones(len(nodes), np.bool_))]
        needed = self._extended.find_needed(nodes)
        patterns, inverse = np.unique(needed, axis=1, return_inverse=True)
        inverse = inverse.reshape(-1)
        names = list(self._extended.class_names)
        return [
            (self._get_variant(tuple(itertools.compress(names, pattern))), inverse == number)
            for number, pattern in enumerate(patterns.T.tolist())
        ]

    def _get_variant(self, resources: tuple[str, ...]) -> ClaimVariant:
        found = self._variants.get(resources)
        if found is None:
            found = self._variants[resources] = self._make_variant(resources)
        return found

    def _make_variant(self, resources: tuple[str, ...]) -> ClaimVariant:
        claims = list(self._unallocated)
        mappings: Sequence[objects.ContainerExtendedResourceRequest] = ()
        if self._extended is not None and resources:
            special, mappings = self._extended.make_claim(resources)
            claims.append(special)
        results = None
        if claims:
            search = claim_search.ClaimSearch(claims, self._devices, self._settings)
            results = SearchResults(search, self._devices, self._cache.get(search.kind))
        return ClaimVariant(claims, results, mappings)


class ExtendedRequests:
    """The requests of a pod for extended resources that device classes provide.

    Attributes:
        claim: the claim for their devices; only one from an earlier attempt has requests.
        class_names: the class of each resource that a class provides.
    """

    def __init__(
        self,
        claim: device_objects.ResourceClaim,
        shape: pod_shape.PodShape,
        class_names: Mapping[str, str],
    ) -> None:
        """Serve the requests of pods of a shape by `claim`, with devices of `class_names`."""
        self.claim = claim
        self.class_names = class_names
        self._shape = shape
        self._others = [
            name
            for name in extended_resources.list_requested_resources(shape)
            if name not in class_names
        ]

    def find_needed(self, nodes: snapshot.NodeView) -> columns.BoolArray:
        """Return bool (r, n): whether each node has no device plugin for each of r resources."""
        return np.array([nodes.allocatable_of(name) == 0 for name in self.class_names], np.bool_)

    def find_missing(self, nodes: snapshot.NodeView) -> columns.NodeMask:
        """Return bool (n,): the nodes that lack a resource that no class provides."""
        missing = np.zeros(len(nodes), np.bool_)
        known = nodes.snapshot.nodes.nodes
        for name in self._others:
            for i in np.flatnonzero(nodes.allocatable_of(name) == 0).tolist():
                node = known[nodes.row_numbers[i]]
                missing[i] |= node is not None and name not in node.status.allocatable
        return missing

    def make_claim(
        self, resources: Sequence[str]
    ) -> tuple[device_objects.ResourceClaim, Sequence[objects.ContainerExtendedResourceRequest]]:
        """Return the claim with requests for some resources, and the containers that they serve."""
        found = extended_resources.compute_requested_devices(
            self._shape.spec, {name: self.class_names[name] for name in resources}
        )
        return extended_resources.set_requests(self.claim, found.requests), found.mappings
