"""Compile numbers about devices; each one is computed once for all nodes with the same pools."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import node_pools
from policysched.cluster.devices.slice_devices import DeviceId
from policysched.cluster.objects import objects
from policysched.compiler.devices import class_devices, pod_devices
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr
from policysched.plugins import names
from policysched.plugins.dynamic_resources import (
    allocation_verdicts,
    claim_variants,
    device_cycle,
)
from policysched.plugins.shared import selector_cache, set_numbers


class DeviceNumbers:
    """Compiles numbers about devices; equal expressions share one object and its cache."""

    def __init__(self) -> None:
        """Start without numbers."""
        self._selectors = selector_cache.SelectorCache()
        self.compile = functools.cache(self._compile)

    def _compile(self, expr: checked_expr.DeviceNumber) -> NodeDeviceNumber | PodDeviceNumber:
        name = expr.name
        match expr.kind:
            case "devices":
                return NodeDeviceNumber(lambda snap: self._select_class(name, snap).count)
            case "freeDevices":
                return NodeDeviceNumber(lambda snap: self._select_class(name, snap).count_free)
            case "takenDevices":
                return PodDeviceNumber(functools.partial(self._count_taken, name), 0.0)
            case "deviceAttribute":
                read = pod_devices.read_attribute
            case "deviceCapacity":
                read = pod_devices.read_capacity
        return PodDeviceNumber(lambda found: found.find_smallest(name, read), math.nan)

    def _count_taken(self, name: str, found: pod_devices.PodDevices) -> float:
        devices = self._select_class(name, found.snap)
        return devices.count_taken(found.node, found.pools, found.new)

    def _select_class(self, name: str, snap: snapshot.Snapshot) -> class_devices.ClassDevices:
        return class_devices.ClassDevices(name, snap.devices, self._selectors)


class NodeDeviceNumber:
    """A number that is the same for all pods."""

    def __init__(
        self, choose_compute: Callable[[snapshot.Snapshot], set_numbers.ComputeNumber]
    ) -> None:
        """Compute the number of a set of pools with the function that `choose_compute` returns."""
        self._choose_compute = choose_compute
        self._numbers = set_numbers.SetNumbers(0.0)

    def bind(self, state: cycle_state.CycleState) -> NodeDeviceNumber:
        """Return itself, because the number does not depend on the pod."""
        del state
        return self

    def compute(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number of each of `rows`."""
        return self._numbers.read(snap, rows, self._choose_compute(snap))


class PodDeviceNumber:
    """A number about the devices that a pod would get on each node.

    Attributes:
        measure: computes it from the devices.
        without_devices: its value if the pod gets no devices.
    """

    def __init__(
        self, measure: Callable[[pod_devices.PodDevices], float], without_devices: float
    ) -> None:
        """Compute the number with `measure`."""
        self.measure = measure
        self.without_devices = without_devices
        self.get_numbers: Callable[[Hashable], set_numbers.SetNumbers] = functools.lru_cache(
            allocation_verdicts.MAX_KINDS
        )(lambda _kind: set_numbers.SetNumbers(without_devices))

    def bind(self, state: cycle_state.CycleState) -> _NumberOfCycle:
        """Return the number for the pod of a cycle."""
        return _NumberOfCycle(self, state)


@dataclasses.dataclass(frozen=True, slots=True)
class _NumberOfCycle:
    """A number about the devices for the pod of one cycle."""

    number: PodDeviceNumber
    state: cycle_state.CycleState

    def compute(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number of each of `rows`, NaN if it is missing."""
        found: columns.FloatArray = np.full(len(rows), self.number.without_devices)
        cycle = self.state.find(names.DYNAMIC_RESOURCES, device_cycle.DeviceCycle)
        if cycle is None:
            return found
        known = pod_devices.list_device_ids(
            each.allocation for each in cycle.claims if each.allocation is not None
        )
        for variant, concerned in cycle.variants.split(snap.view_rows(rows)):
            results = variant.results
            measure = functools.partial(self._measure, snap, results, known)
            kind = None if results is None else results.search.kind
            numbers = self.number.get_numbers((kind, known))
            found[concerned] = numbers.read(snap, rows[concerned], measure)
        return found

    def _measure(
        self,
        snap: snapshot.Snapshot,
        results: claim_variants.SearchResults | None,
        known: tuple[DeviceId, ...],
        node: objects.Node,
        pools: node_pools.PoolSet,
    ) -> float | None:
        """Return the number for a set of pools; None if Filter rejects its nodes."""
        new = () if results is None else results.find_allocations(node, snap.nodes)
        if new is None:
            return None
        return self.number.measure(pod_devices.PodDevices(snap, node, pools, known, new))
