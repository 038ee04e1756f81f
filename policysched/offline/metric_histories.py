"""Read the samples of metrics over a time from Prometheus.

The last hour is read in steps that do not depend on the length of the history. Earlier samples are
read in longer steps.
"""

from __future__ import annotations

import bisect
import dataclasses
import datetime
import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from policysched import errors
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import node_aliases, objects
from policysched.lang.checked import checked
from policysched.promapi import connection, failures, older_samples, range_answers, settings
from policysched.promql import freshness, query_tokens

RECENT_SECONDS = 3600.0
"""The end of each history that is always read in the same steps."""
_MAX_STEPS = 60
"""Number of steps in which the recent and the earlier time of a metric are read, so that answers
stay small."""
_MAX_VALUES = range_answers.MAX_VALUES * 4 // 5
"""Number of values in an answer about all nodes; there may be series of other nodes."""
_JUST_BEFORE_SECONDS = 0.0005
"""Half of the resolution of times in Prometheus."""


@dataclasses.dataclass(frozen=True, slots=True)
class MetricHistory:
    """The samples of a metric at K times.

    Attributes:
        key: the key of the metric.
        at_seconds: the K times of the steps, ascending, in seconds since 1970. They include times
            at which the answer has no series.
        samples: one row for each time. Between two steps that are longer than the refresh interval,
            the state of the cluster is unknown; the last samples hold until the next step, so the
            times of measurement are set later if necessary.
    """

    key: str
    at_seconds: Sequence[float]
    samples: metric_windows.OlderSamples

    def get_samples(self, index: int) -> dict[str, metric_table.Sample]:
        """Return the samples at one of the times, keyed by node."""
        times, values = self.samples.times[index], self.samples.values[index]
        return {
            self.samples.names[place]: metric_table.Sample(values.item(place), times.item(place))
            for place in np.flatnonzero(np.isfinite(times)).tolist()
        }

    def find_last_step(self, until_seconds: float) -> int:
        """Return the index of the last step at a time or before; 0 if all are later."""
        return max(0, bisect.bisect_right(self.at_seconds, until_seconds) - 1)


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryTimes:
    """The time of a history.

    Attributes:
        end: its end.
        length_seconds: how long it is.
        window_seconds: the longest window over each metric, by key, for which samples from before
            the history are read.
        until_metrics: the keys of the metrics of rules with `until`, whose state follows from all
            refreshes.
    """

    end: datetime.datetime
    length_seconds: float
    window_seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    until_metrics: Collection[str] = ()

    @property
    def end_seconds(self) -> float:
        """Its end in seconds since 1970."""
        return self.end.timestamp()

    @property
    def first_seconds(self) -> float:
        """Its beginning in seconds since 1970, without windows."""
        return self.end_seconds - self.length_seconds


def read_metric_histories(
    server: settings.PrometheusSource,
    metrics: Iterable[checked.CheckedMetric],
    nodes: Sequence[objects.Node],
    times: HistoryTimes,
) -> list[MetricHistory]:
    """Send one or two range queries for each metric, and return the samples of the nodes.

    Raises:
        RemoteError: the server does not answer, or refuses a query.
    """
    names = node_aliases.NodeAliasIndex(nodes)
    with connection.PrometheusClient("audit", server) as opened:
        return [
            _read_history(opened, server.url, metric, names, plan_ranges(metric, times, len(nodes)))
            for metric in metrics
        ]


def plan_ranges(
    metric: checked.CheckedMetric, times: HistoryTimes, node_count: int
) -> list[range_answers.RangeQueryTimes]:
    """Return the times at which a metric is read, as ranges in ascending order.

    Windows and the state of `until` need each sample, so their metrics are read at the refresh
    interval; for `until`, in the recent time only.
    """
    window_seconds = times.window_seconds.get(metric.key, 0.0)
    if window_seconds:
        length_seconds = times.length_seconds + window_seconds
        return [
            range_answers.make_range_query_times(
                times.end_seconds, length_seconds, metric.refresh_seconds
            )
        ]
    max_steps = _MAX_STEPS
    if metric.key in times.until_metrics:
        # The answer has two series for each node: the values and the times of measurement.
        max_steps = min(_MAX_VALUES // (2 * max(1, node_count)), range_answers.MAX_POINTS - 1)
    recent = _plan_range(
        times.end_seconds, RECENT_SECONDS, metric.refresh_seconds, max(1, max_steps)
    )
    earlier_seconds = recent.first_seconds - times.first_seconds
    if earlier_seconds <= 0:
        return [recent]
    least_seconds = max(metric.refresh_seconds, RECENT_SECONDS / _MAX_STEPS)
    return [_plan_range(recent.first_seconds, earlier_seconds, least_seconds, _MAX_STEPS), recent]


def _plan_range(
    last_seconds: float, length_seconds: float, least_step_seconds: float, max_steps: int
) -> range_answers.RangeQueryTimes:
    step_seconds = max(least_step_seconds, math.ceil(length_seconds / max_steps))
    return range_answers.make_range_query_times(last_seconds, length_seconds, step_seconds)


def _read_history(
    opened: connection.PrometheusClient,
    where: str,
    metric: checked.CheckedMetric,
    names: node_aliases.NodeAliasIndex,
    ranges: Sequence[range_answers.RangeQueryTimes],
) -> MetricHistory:
    if query_tokens.depends_on_range_query_bounds(metric.promql):
        raise errors.RemoteError(
            f"the history of metric `{metric.name}` cannot be read: its query has `@ start()` or "
            "`@ end()`, which have another meaning in a range query"
        )
    asked = freshness.add_freshness(metric.promql, metric.label, metric.max_age_seconds)
    parts = []
    for steps in ranges:
        try:
            found = opened.ask_range(asked.promql, steps)
        except failures.QueryError as error:
            raise errors.RemoteError(f"{where}, metric `{metric.name}`: {error}") from error
        joined = older_samples.join_range_answer(
            found, metric, names, 0.0, has_freshness=asked.has_freshness
        )
        read = MetricHistory(metric.key, found.at_seconds.tolist(), joined.samples)
        filled = add_missing_steps(read, steps)
        parts.append(hold_samples(filled, metric, steps.step_seconds, ranges[-1].last_seconds))
    return functools.reduce(_join_parts, parts)


def add_missing_steps(
    history: MetricHistory, steps: range_answers.RangeQueryTimes
) -> MetricHistory:
    """Add the steps at which the answer has no series.

    VictoriaMetrics moves all steps, so the steps are aligned with those of the answer.
    """
    found = np.array(history.at_seconds, np.float64)
    first_seconds, step_seconds = steps.first_seconds, steps.step_seconds
    if len(found):
        moved_steps = (found[-1] - first_seconds) / step_seconds
        first_seconds += step_seconds * (moved_steps - round(moved_steps))
    numbers = np.arange(steps.count)
    found_numbers = np.round((found - first_seconds) / step_seconds)
    aligned = first_seconds + step_seconds * numbers
    is_asked = (aligned >= steps.first_seconds) & (aligned <= steps.last_seconds)
    missing = aligned[is_asked & ~np.isin(numbers, found_numbers)]
    at_seconds = np.concatenate([found, missing])
    order = np.argsort(at_seconds)
    gap = np.full((len(missing), len(history.samples.names)), -np.inf)
    samples = history.samples._replace(
        times=np.concatenate([history.samples.times, gap])[order],
        values=np.concatenate([history.samples.values, gap])[order],
    )
    return MetricHistory(history.key, at_seconds[order].tolist(), samples)


def hold_samples(
    history: MetricHistory,
    metric: checked.CheckedMetric,
    step_seconds: float,
    end_seconds: float,
) -> MetricHistory:
    """Let valid samples hold until the next step if steps are longer than the refresh interval.

    At the end, samples are as old as for `run`.
    """
    if step_seconds <= metric.refresh_seconds:
        return history
    at_seconds = np.array(history.at_seconds, np.float64)[:, np.newaxis]
    next_seconds = at_seconds + step_seconds
    times = history.samples.times
    is_held = (at_seconds - times <= metric.max_age_seconds) & (next_seconds <= end_seconds)
    least_seconds = next_seconds - _JUST_BEFORE_SECONDS - metric.max_age_seconds
    held = np.where(is_held, np.maximum(times, least_seconds), times)
    return dataclasses.replace(history, samples=history.samples._replace(times=held))


def _join_parts(earlier: MetricHistory, later: MetricHistory) -> MetricHistory:
    """Return the steps of both; of steps at the same time, the later part has the samples."""
    count = bisect.bisect_left(earlier.at_seconds, later.at_seconds[0])
    at_seconds = [*earlier.at_seconds[:count], *later.at_seconds]
    names = tuple(dict.fromkeys(earlier.samples.names + later.samples.names))
    place_of = {name: place for place, name in enumerate(names)}
    times, values = np.full((2, len(at_seconds), len(names)), -np.inf)
    before = [place_of[name] for name in earlier.samples.names]
    times[:count, before] = earlier.samples.times[:count]
    values[:count, before] = earlier.samples.values[:count]
    after = [place_of[name] for name in later.samples.names]
    times[count:, after], values[count:, after] = later.samples.times, later.samples.values
    return MetricHistory(later.key, at_seconds, metric_windows.OlderSamples(names, times, values))
