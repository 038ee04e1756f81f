"""The latest sample of every metric on every node: a column per metric."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """A value and the time at which it was measured, in seconds since 1970 (its own timestamp)."""

    value: float
    measured_at_seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class MetricColumn:
    """One metric on N nodes.

    Attributes:
        values: float64 (N,), undefined where there is no sample.
        measured_at_seconds: float64 (N,), -inf where there is no sample, so that age tells
            missing data and no value ever has to.
    """

    values: npt.NDArray[np.float64]
    measured_at_seconds: npt.NDArray[np.float64]

    def is_fresh(self, now_seconds: float, max_age_seconds: float) -> npt.NDArray[np.bool_]:
        """Return bool (N,): the nodes whose sample is at most `max_age_seconds` old."""
        fresh: npt.NDArray[np.bool_] = now_seconds - self.measured_at_seconds <= max_age_seconds
        return fresh


class MetricTable:
    """Samples by metric and node name; replaced a metric at a time by whoever refreshes them."""

    def __init__(self) -> None:
        """Start without samples."""
        self._samples: dict[str, Mapping[str, Sample]] = {}
        self._columns: dict[str, tuple[tuple[int, int], MetricColumn]] = {}
        self._refreshes: dict[str, int] = {}
        self.generation = 0
        """Grows with every refresh of any metric."""

    def refresh(self, metric: str, samples: Mapping[str, Sample]) -> None:
        """Replace all samples of `metric`; values that are not finite count as missing."""
        self._samples[metric] = {n: s for n, s in samples.items() if np.isfinite(s.value)}
        self.generation += 1
        self._refreshes[metric] = self.generation

    def sample(self, metric: str, node: str) -> Sample | None:
        """Return the sample of one node."""
        return self._samples.get(metric, {}).get(node)

    def column(self, metric: str, names: list[str], nodes_generation: int) -> MetricColumn:
        """Return the samples of `metric` for the rows that `names` (N) labels.

        `nodes_generation` says when the meaning of rows last changed; columns are kept per it.
        """
        version = (self._refreshes.get(metric, 0), nodes_generation)
        kept = self._columns.get(metric)
        if kept is None or kept[0] != version:
            kept = self._columns[metric] = (version, self._build(metric, names))
        return kept[1]

    def _build(self, metric: str, names: list[str]) -> MetricColumn:
        values = np.zeros(len(names), np.float64)
        measured = np.full(len(names), -np.inf)
        samples = self._samples.get(metric, {})
        for row, name in enumerate(names):
            sample = samples.get(name)
            if sample is not None:
                values[row] = sample.value
                measured[row] = sample.measured_at_seconds
        return MetricColumn(values, measured)
