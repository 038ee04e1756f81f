"""The samples of some time behind a metric's value (`over 10m max`): a ring of refreshes.

A window reaches back from the newest sample of each node, by the samples' own timestamps: what it
holds follows from the samples alone and is decided when they come. Whether the newest one is recent
enough is asked later, as without a window, so that a dead exporter turns missing all the same.
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
"""So many nodes that are gone are not worth tidying up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """A value and the time at which it was measured, in seconds since 1970 (its own timestamp)."""

    value: float
    measured_at_seconds: float


class WindowAggregate(NamedTuple):
    """How the samples of a window become one value.

    Attributes:
        seconds: how far the window reaches back from a node's newest sample, which is in it; a
            sample that is exactly so old is not.
        function: avg, min, max or quantile.
        quantile: 0..1, for quantile: between two samples it is interpolated, as PromQL does.
    """

    seconds: float
    function: Literal["avg", "min", "max", "quantile"]
    quantile: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryNeed:
    """What has to be remembered of a metric.

    Attributes:
        seconds: the longest window over it.
        max_age_seconds: a sample that is so much older than the newest one of its node means that
            a clock was set back: the history of the node begins anew.
        refresh_seconds: how often samples come.
        low, high: samples outside are no samples; None for no bound.
    """

    seconds: float
    max_age_seconds: float
    refresh_seconds: float
    low: float | None = None
    high: float | None = None

    def select_valid_samples(self, times: _Floats, values: _Floats) -> _Bools:
        """Return which samples count at all, in the form of the arrays."""
        is_taken: _Bools = np.isfinite(times) & np.isfinite(values)
        if self.low is not None:
            is_taken &= values >= self.low
        if self.high is not None:
            is_taken &= values <= self.high
        return is_taken


class OlderSamples(NamedTuple):
    """Samples of M nodes at K moments, as a range query gives them.

    Attributes:
        names: of the nodes, each once.
        times: float64 (K, M), of measurement; those of a node do not go back; -inf for no sample.
        values: float64 (K, M), undefined where there is no time.
    """

    names: tuple[str, ...]
    times: _Floats
    values: _Floats

    @property
    def has_any(self) -> bool:
        """Whether there is any sample."""
        return bool(np.isfinite(self.times).any())


class _RefreshLayer(NamedTuple):
    """What one refresh brought for the first m of M nodes; time -inf where it brought nothing."""

    times: _Floats
    values: _Floats


class SampleHistory:
    """Samples of one metric on M nodes, newest refresh last."""

    def __init__(self, need: HistoryNeed) -> None:
        """Remember what `need` says."""
        self.need = need
        self._index: dict[str, int] = {}
        self._layers: list[_RefreshLayer] = []
        self._newest: _Floats = np.zeros(0)

    def add(self, samples: Mapping[str, Sample]) -> None:
        """Take in a refresh; samples that are not newer than those of their node are known."""
        if samples and len(self._index) > _SPARE_NODES + 2 * len(samples):
            self._drop_nodes_without_samples()
        self._add_nodes(samples)
        layer = self._make_layer(samples)
        is_reset = layer.times < self._newest - self.need.max_age_seconds
        is_reset &= np.isfinite(layer.times)
        if is_reset.any():
            self._forget_samples(is_reset)
        is_new = layer.times > self._newest
        if not is_new.any():
            return
        self._newest = np.where(is_new, layer.times, self._newest)
        self._layers.append(layer._replace(times=np.where(is_new, layer.times, -np.inf)))
        self._drop_old_layers()

    def add_older(self, older: OlderSamples) -> None:
        """Take in samples from before those that are known; a scrape that is seen twice is one."""
        self._add_nodes(older.names)
        places = np.array([self._index[name] for name in older.names], np.intp)
        is_older = self.need.select_valid_samples(older.times, older.values) & (
            older.times < self._oldest_times[places]
        )
        times = np.where(is_older, older.times, -np.inf)
        known = np.maximum.accumulate(times, axis=0)[:-1]
        times[1:][times[1:] <= known] = -np.inf
        all_times, all_values = _make_empty_arrays(len(times), len(self._newest))
        all_times[:, places], all_values[:, places] = times, older.values
        layers = [_RefreshLayer(*both) for both in zip(all_times, all_values, strict=True)]
        self._layers = [layer for layer in layers if np.isfinite(layer.times).any()] + self._layers
        self._newest = np.maximum(self._newest, all_times.max(axis=0, initial=-np.inf))
        self._drop_old_layers()

    def set_times_back(self, seconds: float) -> None:
        """Move all times back: the clock was set back by so much."""
        self._newest = self._newest - seconds
        self._layers = [layer._replace(times=layer.times - seconds) for layer in self._layers]

    def forget(self, name: str, before_seconds: float) -> bool:
        """Drop the samples of a node that were measured before a time; return whether any was."""
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
        """Return for each of N nodes the value and when its newest sample was measured.

        Both are float64 (N,), the time -inf where there is no sample.
        """
        size = len(self._newest)
        times, values = self._stack_layers()
        newest = np.append(self._newest, -np.inf)
        found = aggregate_window(aggregate, values, times > newest - aggregate.seconds)
        places = np.array([self._index.get(name, size) for name in names], np.intp)
        return found[places], newest[places]

    # --- layers -----------------------------------------------------------------------------------

    @property
    def _max_layers(self) -> int:
        """A bound on memory: twice what comes in time, for a source that is faster than it says."""
        need = self.need
        return 8 + 2 * math.ceil((need.seconds + need.max_age_seconds) / need.refresh_seconds)

    @property
    def _oldest_times(self) -> _Floats:
        """Float64 (M,): when the oldest sample of each node was measured, inf for none."""
        times, _ = self._stack_layers()
        oldest: _Floats = np.where(np.isfinite(times), times, np.inf).min(axis=0, initial=np.inf)
        return oldest[:-1]

    def _add_nodes(self, names: Iterable[str]) -> None:
        """Make room for nodes."""
        for name in names:
            self._index.setdefault(name, len(self._index))
        new = len(self._index) - len(self._newest)
        self._newest = np.append(self._newest, np.full(new, -np.inf))

    def _make_layer(self, samples: Mapping[str, Sample]) -> _RefreshLayer:
        times, values = _make_empty_arrays(len(self._index))
        places = [self._index[name] for name in samples]
        times[places] = [sample.measured_at_seconds for sample in samples.values()]
        values[places] = [sample.value for sample in samples.values()]
        return _RefreshLayer(
            np.where(self.need.select_valid_samples(times, values), times, -np.inf), values
        )

    def _forget_samples(self, is_reset: _Bools) -> None:
        self._newest[is_reset] = -np.inf
        for layer in self._layers:
            layer.times[is_reset[: len(layer.times)]] = -np.inf

    def _drop_old_layers(self) -> None:
        """Drop the oldest refreshes while no window reaches them."""
        while len(self._layers) > 1:
            times = self._layers[0].times
            is_needed = (times > self._newest[: len(times)] - self.need.seconds).any()
            if is_needed and len(self._layers) <= self._max_layers:
                return
            del self._layers[0]

    def _drop_nodes_without_samples(self) -> None:
        """Forget nodes without samples in any refresh that is kept."""
        places = np.flatnonzero(np.isfinite(self._newest))
        self._layers = [self._select_nodes(layer, places) for layer in self._layers]
        is_kept = np.isfinite([layer.times for layer in self._layers]).any(axis=0)
        self._layers = [_RefreshLayer(*(each[is_kept] for each in layer)) for layer in self._layers]
        places = places[is_kept]
        names = list(self._index)
        self._newest = self._newest[places]
        self._index = {names[place]: number for number, place in enumerate(places.tolist())}

    def _select_nodes(self, layer: _RefreshLayer, places: npt.NDArray[np.intp]) -> _RefreshLayer:
        missing = len(self._newest) - len(layer.times)
        times = np.append(layer.times, np.full(missing, -np.inf))
        return _RefreshLayer(times[places], np.append(layer.values, np.zeros(missing))[places])

    def _stack_layers(self) -> tuple[_Floats, _Floats]:
        """Return times and values of all refreshes, (K, M + 1), the last node without any."""
        times, values = _make_empty_arrays(len(self._layers), len(self._newest) + 1)
        for number, layer in enumerate(self._layers):
            times[number, : len(layer.times)] = layer.times
            values[number, : len(layer.values)] = layer.values
        return times, values


def _make_empty_arrays(*shape: int) -> tuple[_Floats, _Floats]:
    return np.full(shape, -np.inf), np.zeros(shape)


def aggregate_window(aggregate: WindowAggregate, values: _Floats, is_in: _Bools) -> _Floats:
    """Return float64 (M,): one value for the samples (K, M) of each node that are in its window.

    Undefined for a node without any. Example: the 0.5-quantile of 1, 2, 3, 4 is 2.5.
    """
    if len(values) == 0:
        return np.zeros(values.shape[1])
    with np.errstate(all="ignore"):  # what is not finite counts as missing
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
    """Return the quantile as PromQL's quantile_over_time has it (promql/quantile.go)."""
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
