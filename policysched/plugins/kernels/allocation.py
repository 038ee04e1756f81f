"""The scoring strategies of NodeResourcesFit."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.framework import interface
from policysched.kernels import resources

FULL_UTILIZATION = 100


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredAmounts:
    """Amounts in the form of `columns.NodeColumns`, with columns for the devices of k resources.

    Attributes:
        allocatable, requested: int64 (C, R + k).
        nonzero_requested: int64 (C, 2).
    """

    allocatable: columns.IntArray
    requested: columns.IntArray
    nonzero_requested: columns.IntArray


class DeviceAmounts(Protocol):
    """Counts devices as amounts of some resources."""

    def count(self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp]) -> ScoredAmounts:
        """Return the amounts of `rows`, intp (m,)."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class ScoredRequests:
    """The resources of a pod that are scored: k of them.

    Attributes:
        ids: intp (k,), columns of `NodeColumns`.
        wanted: int64 (k,), what the pod requests; containers without requests count with defaults.
        weights: int64 (k,), at least 1.
        devices: counts devices as some of the amounts; None if there are none to count.
    """

    ids: npt.NDArray[np.intp]
    wanted: columns.IntArray
    weights: columns.IntArray
    devices: DeviceAmounts | None = None


class Strategy(Protocol):
    """How NodeResourcesFit turns utilisation into points, 0 to 100."""

    def make_writer(self, scored: ScoredRequests) -> interface.RowWriter:
        """Return what writes the points for pods with the given requests."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class UtilizationStrategy:
    """LeastAllocated, or MostAllocated if `is_least` is False."""

    is_least: bool

    def make_writer(self, scored: ScoredRequests) -> interface.RowWriter:
        """Return what writes the weighted mean of free or used percent."""
        return _UtilizationWriter(scored, self.is_least)


LEAST_ALLOCATED = UtilizationStrategy(is_least=True)
MOST_ALLOCATED = UtilizationStrategy(is_least=False)


class RequestedToCapacityRatio:
    """The weighted mean of a broken line over the utilisation."""

    def __init__(self, shape: Sequence[tuple[int, int]]) -> None:
        """Take the line's corners as (utilisation in percent, points 0..100), increasing."""
        self._points_by_percent = broken_line(shape)

    def make_writer(self, scored: ScoredRequests) -> interface.RowWriter:
        """Return what writes the mean of the resources that have points, halves rounded up."""
        return _CapacityRatioWriter(scored, self._points_by_percent)


@dataclasses.dataclass(frozen=True, slots=True)
class _UtilizationWriter:
    scored: ScoredRequests
    is_least: bool

    def write(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], out: columns.IntArray
    ) -> None:
        devices = self.scored.devices
        nodes = snap.nodes if devices is None else devices.count(snap, rows)
        resources.write_utilization_points(
            rows,
            nodes.allocatable,
            nodes.requested,
            nodes.nonzero_requested,
            self.scored.ids,
            self.scored.wanted,
            self.scored.weights,
            self.is_least,
            out,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _CapacityRatioWriter:
    scored: ScoredRequests
    points_by_percent: columns.IntArray

    def write(
        self, snap: snapshot.Snapshot, rows: npt.NDArray[np.intp], out: columns.IntArray
    ) -> None:
        devices = self.scored.devices
        nodes = snap.nodes if devices is None else devices.count(snap, rows)
        resources.write_capacity_ratio_points(
            rows,
            nodes.allocatable,
            nodes.requested,
            nodes.nonzero_requested,
            self.scored.ids,
            self.scored.wanted,
            self.scored.weights,
            self.points_by_percent,
            out,
        )


def broken_line(shape: Sequence[tuple[int, int]]) -> columns.IntArray:
    """Return int64 (101,): the points of each whole percent of utilisation.

    Flat outside the corners, between them `y0 + (y1 - y0) × (x - x0) / (x1 - x0)` with the quotient
    rounded towards 0. Source: `plugins/helper/shape_score.go`.
    """
    return np.array([_on_line(shape, x) for x in range(FULL_UTILIZATION + 1)], np.int64)


def _on_line(shape: Sequence[tuple[int, int]], x: int) -> int:
    before: tuple[int, int] | None = None
    for x1, y1 in shape:
        if x <= x1:
            if before is None:
                return y1
            x0, y0 = before
            rise = abs(y1 - y0) * (x - x0) // (x1 - x0)
            return y0 + rise if y1 >= y0 else y0 - rise
        before = (x1, y1)
    return shape[-1][1]
