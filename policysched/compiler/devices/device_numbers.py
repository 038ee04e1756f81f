"""Compile numbers about devices; each is calculated once for all nodes with the same pools."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.devices import node_pools
from policysched.cluster.objects import device_objects, objects
from policysched.compiler.devices import device_values
from policysched.framework import cycle_state
from policysched.lang.checked import checked_expr
from policysched.plugins import names
from policysched.plugins.dynamic_resources import (
    allocation_verdicts,
    claim_search,
    class_devices,
    device_cycle,
    selector_cache,
    set_numbers,
)
from policysched.plugins.dynamic_resources.allocation_errors import (
    AllocationError,
    InvalidPoolsError,
)

_Allocations: TypeAlias = Sequence[device_objects.AllocationResult]
_FindValue: TypeAlias = Callable[
    [snapshot.Snapshot, objects.Node, node_pools.PoolSet, device_values.KnownDevices, _Allocations],
    float,
]
"""Returns the value for a pod that has some devices, and gets allocations on a node with pools."""


class DeviceNumbers:
    """Compiles numbers about devices; equal expressions are one object, and share what it keeps."""

    def __init__(self) -> None:
        """Start without numbers."""
        self._selectors = selector_cache.SelectorCache()
        self.compile = functools.cache(self._compile)

    def _compile(self, expr: checked_expr.DeviceNumber) -> NodeDeviceNumber | PodDeviceNumber:
        find_devices = functools.partial(self._find_devices, expr.name)
        match expr.kind:
            case "devices":
                return NodeDeviceNumber(lambda snap: find_devices(snap).count)
            case "freeDevices":
                return NodeDeviceNumber(lambda snap: find_devices(snap).count_free)
            case "takenDevices":
                return PodDeviceNumber(
                    lambda snap, node, pools, _known, new: find_devices(snap).count_taken(
                        node, pools, new
                    ),
                    0.0,
                )
            case "deviceAttribute":
                read = device_values.make_reader(expr.name, device_values.read_attribute)
            case "deviceCapacity":
                read = device_values.make_reader(expr.name, device_values.read_capacity)
        return PodDeviceNumber(
            lambda _snap, _node, pools, known, new: read(pools, known, new), math.nan
        )

    def _find_devices(self, name: str, snap: snapshot.Snapshot) -> class_devices.ClassDevices:
        return class_devices.ClassDevices(name, snap.devices, self._selectors)


class NodeDeviceNumber:
    """A number that is the same for all pods."""

    def __init__(
        self, choose_compute: Callable[[snapshot.Snapshot], set_numbers.ComputeNumber]
    ) -> None:
        """Calculate the number of a set of pools by what `choose_compute` returns."""
        self._choose_compute = choose_compute
        self._numbers = set_numbers.SetNumbers()

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
        find_value: calculates it.
        without_devices: its value if the pod gets no devices.
    """

    def __init__(self, find_value: _FindValue, without_devices: float) -> None:
        """Calculate the number by `find_value`."""
        self.find_value = find_value
        self.without_devices = without_devices
        self.get_numbers: Callable[[Hashable], set_numbers.SetNumbers] = functools.lru_cache(
            allocation_verdicts.MAX_KINDS
        )(lambda _kind: set_numbers.SetNumbers())

    def bind(self, state: cycle_state.CycleState) -> _NumberOfCycle:
        """Return the number for the pod of a cycle."""
        return _NumberOfCycle(self, state)


@dataclasses.dataclass(frozen=True, slots=True)
class _NumberOfCycle:
    """A number about the devices for the pod of one cycle."""

    number: PodDeviceNumber
    state: cycle_state.CycleState

    def compute(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> columns.FloatArray:
        """Return float64 (n,): the number of each of `rows`, NaN if it is missing.

        Claims that have devices already have the same ones on every node.
        """
        found: columns.FloatArray = np.full(len(rows), self.number.without_devices)
        cycle = self.state.find(names.DYNAMIC_RESOURCES, device_cycle.DeviceCycle)
        if cycle is None:
            return found
        known = device_values.list_known_devices(cycle.claims)
        for variant, concerned in cycle.variants.split(snap.view_rows(rows)):
            search = variant.search
            if search is None and not known:
                continue
            kind = (None if search is None else search.kind, known)
            find = functools.partial(self._find_value, snap, search, known)
            found[concerned] = self.number.get_numbers(kind).read(snap, rows[concerned], find)
        return found

    def _find_value(
        self,
        snap: snapshot.Snapshot,
        search: claim_search.ClaimSearch | None,
        known: device_values.KnownDevices,
        node: objects.Node,
        pools: node_pools.PoolSet,
    ) -> float:
        new: _Allocations | None = ()
        if search is not None:
            try:
                new = search.allocate(node, pools)
            except (AllocationError, InvalidPoolsError):
                new = None
        if new is None:
            return self.number.without_devices
        return self.number.find_value(snap, node, pools, known, new)
