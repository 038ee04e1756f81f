"""The samples of one metric that count now."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np

from policysched.cluster import snapshot
from policysched.cluster.columns import columns
from policysched.cluster.metrics import metric_windows
from policysched.lang.checked import checked, checked_expr

_MARGIN_SECONDS = 0.001
"""Answers end this much before a sample turns stale: times are rounded on the way to a datetime."""

_END_OF_TIME_SECONDS = datetime.datetime.max.replace(tzinfo=datetime.UTC).timestamp()


@dataclasses.dataclass(frozen=True, slots=True)
class Samples:
    """What a metric says about the N nodes of a snapshot.

    Attributes:
        values: float64 (N,), NaN where no sample is fresh and inside the declared range.
        measured: float64 (N,), the values of all samples.
        measured_at_seconds: float64 (N,), of the newest sample; -inf where there is none.
        is_out: no existing node has a valid sample: an outage, whatever the cause.
        valid_until: when the next sample turns stale; None for never.
    """

    values: columns.FloatArray
    measured: columns.FloatArray
    measured_at_seconds: columns.FloatArray
    is_out: bool
    valid_until: datetime.datetime | None


def aggregate_of(window: checked_expr.MetricWindow) -> metric_windows.WindowAggregate:
    """Return what a window asks of the samples."""
    return metric_windows.WindowAggregate(window.seconds, window.function, window.quantile)


class MetricSamples:
    """Reads one metric, or a window over it, which is missing wherever the metric is.

    The answer is kept until something changes or a sample turns stale.
    """

    def __init__(
        self, metric: checked.CheckedMetric, window: checked_expr.MetricWindow | None = None
    ) -> None:
        """Read `metric`, the newest samples without a `window`."""
        self.metric = metric
        self.window = window
        self._aggregate = None if window is None else aggregate_of(window)
        self._nodes: columns.NodeColumns | None = None
        self._version = (-1, -1)
        self._read_at = datetime.datetime.min.replace(tzinfo=datetime.UTC)
        self._samples: Samples | None = None

    def current(self, snap: snapshot.Snapshot) -> Samples:
        """Return the samples that count at the time of the snapshot."""
        version = (snap.metrics.generation, snap.nodes.node_changes.generation)
        kept = self._samples
        is_current = (
            kept is not None
            and self._nodes is snap.nodes
            and self._version == version
            and self._read_at <= snap.now
            and (kept.valid_until is None or snap.now < kept.valid_until)
        )
        if kept is None or not is_current:
            kept = self._samples = self._read(snap)
            self._nodes, self._version, self._read_at = snap.nodes, version, snap.now
        return kept

    def _read(self, snap: snapshot.Snapshot) -> Samples:
        metric = self.metric
        read = snap.view_all_rows().metric(metric.key)
        is_fresh = read.is_fresh(snap.now.timestamp(), metric.max_age_seconds)
        is_valid = is_fresh & np.isfinite(read.values)
        if metric.low is not None:
            is_valid &= read.values >= metric.low
        if metric.high is not None:
            is_valid &= read.values <= metric.high
        values = read.values
        if self._aggregate is not None:
            window = snap.view_all_rows().metric(metric.key, self._aggregate)
            values = window.values
            is_valid &= np.isfinite(window.measured_at_seconds)
        return Samples(
            np.where(is_valid, values, np.nan),
            values,
            read.measured_at_seconds,
            is_out=not bool((is_valid & snap.is_alive).any()),
            valid_until=self._end_of_validity(read.measured_at_seconds[is_fresh]),
        )

    def _end_of_validity(self, measured_at_seconds: columns.FloatArray) -> datetime.datetime | None:
        if len(measured_at_seconds) == 0:
            return None
        end_seconds = float(measured_at_seconds.min()) + self.metric.max_age_seconds
        if end_seconds >= _END_OF_TIME_SECONDS:
            return None
        return datetime.datetime.fromtimestamp(end_seconds - _MARGIN_SECONDS, datetime.UTC)
