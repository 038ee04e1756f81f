"""Store the past samples of a metric for windows (`over 10m max`), as a ring of refreshes.

A window extends back from the newest sample of each node; its length is measured by the timestamps
of the samples. Its content therefore depends only on the samples and is fixed when they arrive. As
without a window, the age of the newest sample is checked later, so samples of a dead exporter still
become missing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]

_SPARE_NODES = 64
"""Number of removed nodes below which a cleanup is not worthwhile."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """A value and the timestamp of its measurement, in seconds since 1970."""

    value: float
    measured_at_seconds: float


class WindowAggregate(NamedTuple):
    """A function that reduces the samples of a window to one value.

    Attributes:
        seconds: length of the window, back from the newest sample of a node. The newest sample is
            included; a sample at exactly this distance is not.
        function: avg, min, max or quantile.
        quantile: 0 to 1, only for quantile; interpolated between two samples as in PromQL.
    """

    seconds: float
    function: Literal["avg", "min", "max", "quantile"]
    quantile: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryNeed:
    """The past samples of a metric that must be kept.

    Attributes:
        seconds: length of the longest window over the metric.
        max_age_seconds: age difference above which a clock must have been set back. If a new sample
            is older than the newest sample of its node by more than this, the history of the node
            restarts.
        refresh_seconds: interval between samples.
        low, high: bounds of valid samples; None for no bound.
    """

    seconds: float
    max_age_seconds: float
    refresh_seconds: float
    low: float | None = None
    high: float | None = None

    def select_valid_samples(self, times: _Floats, values: _Floats) -> _Bools:
        """Return a mask of the valid samples, in the shape of the arrays."""
        is_taken: _Bools = np.isfinite(times) & np.isfinite(values)
        if self.low is not None:
            is_taken &= values >= self.low
        if self.high is not None:
            is_taken &= values <= self.high
        return is_taken


class OlderSamples(NamedTuple):
    """Samples of M nodes at K times, as a range query returns them.

    Attributes:
        names: distinct names of the nodes.
        times: float64 (K, M), times of measurement in seconds since 1970, non-decreasing for each
            node; -inf for a missing sample.
        values: float64 (K, M), undefined for a missing sample.
    """

    names: tuple[str, ...]
    times: _Floats
    values: _Floats

    @property
    def has_any(self) -> bool:
        """Whether any sample is present."""
        return bool(np.isfinite(self.times).any())


class _RefreshSamples(NamedTuple):
    """The samples of one refresh for the first m of M nodes; time -inf for a missing sample."""

    times: _Floats
    values: _Floats


class SampleHistory:
    """The past samples of one metric on M nodes, as a list of refreshes, newest last."""

    def __init__(self, need: HistoryNeed) -> None:
        """Start without samples; keep the history that `need` describes."""
        self.need = need
        self._index: dict[str, int] = {}
        self._layers: list[_RefreshSamples] = []
        self._newest: _Floats = np.zeros(0)

    def add(self, samples: Mapping[str, Sample]) -> None:
        """Add a refresh; ignore samples that are not newer than the newest of their node.

        Samples that show that a clock was set back restart the history of their node
        (`HistoryNeed`).
        """
        if samples and len(self._index) > _SPARE_NODES + 2 * len(samples):
            self._drop_nodes_without_samples()
        self._add_nodes(samples)
        layer = self._make_refresh_samples(samples)
        is_reset = layer.times < self._newest - self.need.max_age_seconds
        is_reset &= np.isfinite(layer.times)
        if is_reset.any():
            self._mark_samples_missing(is_reset)
        is_new = layer.times > self._newest
        if not is_new.any():
            return
        self._newest = np.where(is_new, layer.times, self._newest)
        self._layers.append(layer._replace(times=np.where(is_new, layer.times, -np.inf)))
        self._drop_old_refreshes()

    def add_older(self, older: OlderSamples) -> None:
        """Add samples that are older than the known samples; add a repeated sample only once."""
        self._add_nodes(older.names)
        places = np.array([self._index[name] for name in older.names], np.intp)
        is_older = self.need.select_valid_samples(older.times, older.values) & (
            older.times < self._oldest_sample_times[places]
        )
        times = np.where(is_older, older.times, -np.inf)
        known = np.maximum.accumulate(times, axis=0)[:-1]
        times[1:][times[1:] <= known] = -np.inf
        all_times, all_values = _make_missing_samples(len(times), len(self._newest))
        all_times[:, places], all_values[:, places] = times, older.values
        layers = [_RefreshSamples(*both) for both in zip(all_times, all_values, strict=True)]
        self._layers = [layer for layer in layers if np.isfinite(layer.times).any()] + self._layers
        self._newest = np.maximum(self._newest, all_times.max(axis=0, initial=-np.inf))
        self._drop_old_refreshes()

    def set_times_back(self, seconds: float) -> None:
        """Move all times back by `seconds`, because the clock was set back."""
        self._newest = self._newest - seconds
        self._layers = [layer._replace(times=layer.times - seconds) for layer in self._layers]

    def forget(self, name: str, before_seconds: float) -> bool:
        """Drop the samples of a node measured before a time; return whether any were dropped."""
        place = self._index.get(name)
        if place is None:
            return False
        is_dropped = False
        for layer in self._layers:
            if place < len(layer.times) and -np.inf < layer.times[place] < before_seconds:
                layer.times[place] = -np.inf
                is_dropped = True
        if self._newest[place] < before_seconds:
            self._newest[place] = -np.inf
        return is_dropped

    def aggregate_by_node(
        self, aggregate: WindowAggregate, names: Sequence[str]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return, for each of N nodes, the aggregate and the time of the newest sample.

        Both are float64 (N,). The time is in seconds since 1970, -inf for a missing sample.
        """
        size = len(self._newest)
        times, values = self._stack_refreshes()
        # The extra last node has no samples; unknown names map to it.
        newest = np.append(self._newest, -np.inf)
        found = aggregate_window(aggregate, values, times > newest - aggregate.seconds)
        places = np.array([self._index.get(name, size) for name in names], np.intp)
        return found[places], newest[places]

    # --- layers -----------------------------------------------------------------------------------

    @property
    def _max_refresh_count(self) -> int:
        """Maximum number of layers: twice the expected number, for sources that are too fast."""
        need = self.need
        return 8 + 2 * math.ceil((need.seconds + need.max_age_seconds) / need.refresh_seconds)

    @property
    def _oldest_sample_times(self) -> _Floats:
        """Float64 (M,): time of the oldest sample of each node; inf if it has none."""
        times, _ = self._stack_refreshes()
        oldest: _Floats = np.where(np.isfinite(times), times, np.inf).min(axis=0, initial=np.inf)
        return oldest[:-1]

    def _add_nodes(self, names: Iterable[str]) -> None:
        """Add nodes that are not known yet, without samples."""
        for name in names:
            self._index.setdefault(name, len(self._index))
        new = len(self._index) - len(self._newest)
        self._newest = np.append(self._newest, np.full(new, -np.inf))

    def _make_refresh_samples(self, samples: Mapping[str, Sample]) -> _RefreshSamples:
        times, values = _make_missing_samples(len(self._index))
        places = [self._index[name] for name in samples]
        times[places] = [sample.measured_at_seconds for sample in samples.values()]
        values[places] = [sample.value for sample in samples.values()]
        return _RefreshSamples(
            np.where(self.need.select_valid_samples(times, values), times, -np.inf), values
        )

    def _mark_samples_missing(self, is_reset: _Bools) -> None:
        self._newest[is_reset] = -np.inf
        for layer in self._layers:
            layer.times[is_reset[: len(layer.times)]] = -np.inf

    def _drop_old_refreshes(self) -> None:
        """Drop the oldest refreshes while no window needs them or there are too many."""
        while len(self._layers) > 1:
            times = self._layers[0].times
            is_needed = (times > self._newest[: len(times)] - self.need.seconds).any()
            if is_needed and len(self._layers) <= self._max_refresh_count:
                return
            del self._layers[0]

    def _drop_nodes_without_samples(self) -> None:
        """Drop nodes that have no sample in any stored refresh."""
        places = np.flatnonzero(np.isfinite(self._newest))
        self._layers = [self._select_nodes_of_refresh(layer, places) for layer in self._layers]
        is_kept = np.isfinite([layer.times for layer in self._layers]).any(axis=0)
        self._layers = [
            _RefreshSamples(*(each[is_kept] for each in layer)) for layer in self._layers
        ]
        places = places[is_kept]
        names = list(self._index)
        self._newest = self._newest[places]
        self._index = {names[place]: number for number, place in enumerate(places.tolist())}

    def _select_nodes_of_refresh(
        self, layer: _RefreshSamples, places: npt.NDArray[np.intp]
    ) -> _RefreshSamples:
        missing = len(self._newest) - len(layer.times)
        times = np.append(layer.times, np.full(missing, -np.inf))
        return _RefreshSamples(times[places], np.append(layer.values, np.zeros(missing))[places])

    def _stack_refreshes(self) -> tuple[_Floats, _Floats]:
        """Return the times and values of all refreshes, (K, M + 1); the last node has none."""
        times, values = _make_missing_samples(len(self._layers), len(self._newest) + 1)
        for number, layer in enumerate(self._layers):
            times[number, : len(layer.times)] = layer.times
            values[number, : len(layer.values)] = layer.values
        return times, values


def _make_missing_samples(*shape: int) -> tuple[_Floats, _Floats]:
    return np.full(shape, -np.inf), np.zeros(shape)


def aggregate_window(aggregate: WindowAggregate, values: _Floats, is_in: _Bools) -> _Floats:
    """Return float64 (M,): the aggregate of each node's samples (K, M) that are in its window.

    The value is undefined for a node without samples. Example: the 0.5-quantile of 1, 2, 3, 4 is
    2.5.
    """
    if len(values) == 0:
        return np.zeros(values.shape[1])
    with np.errstate(all="ignore"):  # values that are not finite count as missing
        match aggregate.function:
            case "avg":
                count = np.maximum(is_in.sum(axis=0), 1)
                mean: _Floats = np.where(is_in, values, 0.0).sum(axis=0) / count
                return mean
            case "min":
                smallest: _Floats = np.where(is_in, values, np.inf).min(axis=0)
                return smallest
            case "max":
                largest: _Floats = np.where(is_in, values, -np.inf).max(axis=0)
                return largest
            case "quantile":
                return _compute_quantile(values, is_in, aggregate.quantile or 0.0)


def _compute_quantile(values: _Floats, is_in: _Bools, quantile: float) -> _Floats:
    """Return the quantile as PromQL's quantile_over_time does (promql/quantile.go)."""
    ordered = np.sort(np.where(is_in, values, np.inf), axis=0)
    last = np.maximum(is_in.sum(axis=0) - 1, 0)
    rank = quantile * last
    low = np.floor(rank).astype(np.intp)
    high = np.minimum(low + 1, last)
    share = rank - low
    below = np.take_along_axis(ordered, low[np.newaxis], axis=0)[0]
    above = np.take_along_axis(ordered, high[np.newaxis], axis=0)[0]
    between: _Floats = below * (1 - share) + above * share
    return between
