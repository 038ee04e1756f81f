"""Sum up what pods hold of each resource, for `simulate`."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from policysched.cluster import cache as caches
from policysched.cluster.devices import node_selection
from policysched.cluster.devices.slice_devices import DeviceId
from policysched.cluster.objects import device_objects
from policysched.plugins.shared import selector_cache


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceAllocation:
    """The total requests for a resource and its total capacity, in milli-CPU, bytes or counts."""

    resource: str
    requested: int
    allocatable: int


def list_allocations(cache: caches.Cache) -> list[ResourceAllocation]:
    """Return the allocation, summed over all nodes, of every resource that some node has.

    Where a device class provides an extended resource, its devices count, and those in use. A
    resource is left out if a selector of its class fails.
    """
    found = [_sum_up(cache, name) for name in _list_resources(cache)]
    return [each for each in found if each is not None and each.allocatable]


def _list_resources(cache: caches.Cache) -> list[str]:
    """Return the resources that nodes have, and those that classes provide and pods request."""
    known = cache.nodes.resources.values
    rows = np.flatnonzero(cache.nodes.is_alive[: cache.nodes.size]).tolist()
    pods = (pod for row in rows for pod in cache.get_pods_on_row(row))
    requested = {name for pod in pods for name in pod.shape.requests.amounts}
    provided = filter(cache.devices.classes.find_class_of_resource, requested.difference(known))
    return [*known, *sorted(provided)]


def _sum_up(cache: caches.Cache, resource: str) -> ResourceAllocation | None:
    nodes = cache.nodes
    rows = np.flatnonzero(nodes.is_alive[: nodes.size])
    column = nodes.get_resource_column_index(resource)
    provider = cache.devices.classes.find_class_of_resource(resource)
    device_ids: set[DeviceId] = set()
    if provider is not None:
        has_none = nodes.allocatable[rows, column] == 0
        try:
            device_ids = _find_devices(cache, provider, rows[has_none])
        except (selector_cache.SelectorError, node_selection.NodeSelectionError):
            return None
        rows = rows[~has_none]
    get_use = cache.devices.allocated.get_use
    return ResourceAllocation(
        resource,
        int(nodes.requested[rows, column].sum())
        + sum(get_use(each) is not None for each in device_ids),
        int(nodes.allocatable[rows, column].sum()) + len(device_ids),
    )


def _find_devices(
    cache: caches.Cache, provider: device_objects.DeviceClass, rows: npt.NDArray[np.intp]
) -> set[DeviceId]:
    """Return the devices of a class on `rows`; several nodes can have the same ones."""
    pools, selectors = cache.devices.node_pools, selector_cache.SelectorCache()
    pools.refresh(cache.nodes)
    found: set[DeviceId] = set()
    for number, place in zip(*np.unique(pools.set_of_row[rows], return_index=True), strict=True):
        node = cache.nodes.nodes[rows[place]]
        if node is not None:
            devices = pools.sets[number].list_devices()
            found.update(each.id for each in devices if selectors.selects(provider, node, each))
    return found
