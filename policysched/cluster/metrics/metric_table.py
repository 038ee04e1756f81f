"""Store the samples of every metric on every node, in a column for each metric and window."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from policysched.cluster.metrics import hysteresis, metric_windows

Sample = metric_windows.Sample


@dataclasses.dataclass(frozen=True, slots=True)
class MetricColumn:
    """The samples of one metric on N nodes.

    Attributes:
        values: float64 (N,), undefined for a missing sample.
        measured_at_seconds: float64 (N,), seconds since 1970, -inf for a missing sample. Only the
            time marks a missing sample; no value is reserved for this.
    """

    values: npt.NDArray[np.float64]
    measured_at_seconds: npt.NDArray[np.float64]

    def is_fresh(self, now_seconds: float, max_age_seconds: float) -> npt.NDArray[np.bool_]:
        """Return bool (N,): the nodes whose sample is at most `max_age_seconds` old."""
        fresh: npt.NDArray[np.bool_] = now_seconds - self.measured_at_seconds <= max_age_seconds
        return fresh


class MetricTable:
    """Samples by metric and node; each refresh replaces all samples of one metric.

    Attributes:
        generation: number that increases with every change to the samples.
        moment: time of the last evaluation of sample ages, or None.
        looks: number of evaluations so far, including evaluations after refreshes.
        hysteresis: state of `until` rules.
        listeners: called with the key of a metric after each refresh of its samples.
    """

    def __init__(self) -> None:
        """Start without samples."""
        self._samples: dict[str, dict[str, Sample]] = {}
        self._histories: dict[str, metric_windows.SampleHistory] = {}
        self._columns: dict[_ColumnKey, tuple[tuple[int, int], MetricColumn]] = {}
        self._refreshes: dict[str, int] = {}
        self._first_seconds: dict[str, float] = {}
        self.generation = 0
        self.looks = 0
        self.moment: datetime.datetime | None = None
        self.hysteresis = hysteresis.HeldNodes()
        self.listeners: list[Callable[[str], None]] = []

    def keep_histories(self, needs: Mapping[str, metric_windows.HistoryNeed]) -> None:
        """Keep past samples of exactly the metrics in `needs`, for windows.

        An existing history is kept if its bounds for valid samples are unchanged. Otherwise it
        restarts with the newest samples.
        """
        known = self._histories
        self._histories = {}
        for metric, need in needs.items():
            history = known.get(metric)
            if history is None or not _have_same_valid_range(history.need, need):
                history = metric_windows.SampleHistory(need)
                history.add(self._samples.get(metric, {}))
            history.need = need
            self._histories[metric] = history
        self._columns.clear()

    def refresh(self, metric: str, samples: Mapping[str, Sample]) -> None:
        """Replace all samples of `metric`; values that are not finite count as missing.

        Samples that are older than their node are also dropped: they belong to a previous node of
        that name.
        """
        samples = {node: s for node, s in samples.items() if self._is_sample_new_enough(node, s)}
        self._samples[metric] = {n: s for n, s in samples.items() if math.isfinite(s.value)}
        history = self._histories.get(metric)
        if history is not None:
            history.add(samples)
        self._notify_metric_change(metric)
        if history is None and not self._samples[metric]:
            self._forget_metric(metric)

    def _forget_metric(self, metric: str) -> None:
        """Drop all state of a metric without samples, so that removed policies leave no state."""
        del self._samples[metric], self._refreshes[metric]
        self._columns.pop((metric, None), None)

    @property
    def metric_count(self) -> int:
        """Number of metrics for which any state is kept."""
        return len(self._samples.keys() | self._refreshes.keys())

    def get_newest_samples(self, metric: str) -> Mapping[str, Sample]:
        """Return the newest samples of a metric, keyed by node name."""
        return self._samples.get(metric, {})

    def replace_all_samples(self, metric: str, samples: Mapping[str, Sample]) -> None:
        """Replace all samples of a metric, including past samples for windows.

        Hysteresis state is not reset, because it depends on all earlier refreshes.
        """
        history = self._histories.get(metric)
        if history is not None:
            self._histories[metric] = metric_windows.SampleHistory(history.need)
        self.refresh(metric, samples)

    def backfill(self, metric: str, older: metric_windows.OlderSamples) -> None:
        """Add older samples of a metric to its history."""
        known = self._histories.get(metric)
        if known is not None:
            first_seconds = [self._first_seconds.get(name, -math.inf) for name in older.names]
            is_own = older.times >= np.array(first_seconds, np.float64)
            known.add_older(older._replace(times=np.where(is_own, older.times, -np.inf)))
            self._notify_metric_change(metric)

    def follow_clock(self, jump_seconds: float) -> None:
        """Adjust to a wall clock that was set forward or back by `jump_seconds`.

        If it was set back, samples keep their age: their times move with the clock, and windows
        stay complete. If it was set forward, samples age by the jump, because the machine may have
        been suspended. The start times of nodes move with the clock in both cases.
        """
        first_seconds = self._first_seconds.items()
        self._first_seconds = {node: first + jump_seconds for node, first in first_seconds}
        if jump_seconds >= 0:
            return
        for metric, samples in self._samples.items():
            self._samples[metric] = {
                node: Sample(each.value, each.measured_at_seconds + jump_seconds)
                for node, each in samples.items()
            }
            self._note_change(metric)
        for history in self._histories.values():
            history.set_times_back(-jump_seconds)

    def set_earliest_node_sample(self, name: str, first_seconds: float) -> None:
        """Accept only samples of a node that were measured at `first_seconds` or later.

        Earlier samples are dropped. `forget_node` drops all state of a previous node of that name.
        """
        self._first_seconds[name] = first_seconds
        self._drop_node_samples_before(name, first_seconds)

    def forget_node(self, name: str) -> None:
        """Drop the samples and hysteresis state of a removed node: a new node can have its name."""
        self._first_seconds.pop(name, None)
        self._drop_node_samples_before(name, math.inf)
        self.hysteresis.forget_node(name)

    def set_sample_age_reference_time(self, moment: datetime.datetime) -> None:
        """Record that the age of samples is evaluated at `moment`."""
        self.moment = moment
        self.looks += 1

    def get_newest_sample(self, metric: str, node: str) -> Sample | None:
        """Return the newest sample of a metric on a node, or None."""
        return self._samples.get(metric, {}).get(node)

    def get_metric_column(
        self,
        metric: str,
        names: list[str],
        nodes_generation: int,
        aggregate: metric_windows.WindowAggregate | None = None,
    ) -> MetricColumn:
        """Return the samples of `metric` for the nodes `names`, one for each of N rows.

        With `aggregate`, the values are those of a window; the metric must have been passed to
        `keep_histories`. `nodes_generation` identifies the assignment of nodes to rows; a new value
        invalidates the cached column.
        """
        version = (self._refreshes.get(metric, 0), nodes_generation)
        key = (metric, aggregate)
        kept = self._columns.get(key)
        if kept is None or kept[0] != version:
            if aggregate is None:
                made = self._build_metric_column(metric, names)
            else:
                made = MetricColumn(*self._histories[metric].aggregate_by_node(aggregate, names))
            kept = self._columns[key] = (version, made)
        return kept[1]

    def _is_sample_new_enough(self, node: str, sample: Sample) -> bool:
        return sample.measured_at_seconds >= self._first_seconds.get(node, -math.inf)

    def _drop_node_samples_before(self, node: str, before_seconds: float) -> None:
        """Drop the samples of a node measured before a time, without notifying listeners."""
        for metric, samples in self._samples.items():
            sample = samples.get(node)
            if sample is not None and sample.measured_at_seconds < before_seconds:
                del samples[node]
                self._note_change(metric)
        for metric, history in self._histories.items():
            if history.forget(node, before_seconds):
                self._note_change(metric)

    def _note_change(self, metric: str) -> None:
        self.generation += 1
        self._refreshes[metric] = self.generation

    def _notify_metric_change(self, metric: str) -> None:
        self._note_change(metric)
        for listener in self.listeners:
            listener(metric)

    def _build_metric_column(self, metric: str, names: list[str]) -> MetricColumn:
        samples = self._samples.get(metric, {})
        found = [samples.get(name, _NONE) for name in names]
        return MetricColumn(
            np.array([sample.value for sample in found], np.float64),
            np.array([sample.measured_at_seconds for sample in found], np.float64),
        )


_NONE = Sample(0.0, -math.inf)
_ColumnKey = tuple[str, metric_windows.WindowAggregate | None]


def _have_same_valid_range(
    one: metric_windows.HistoryNeed, other: metric_windows.HistoryNeed
) -> bool:
    return (one.low, one.high) == (other.low, other.high)
