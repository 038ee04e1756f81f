"""Read the samples of metrics over a time from Prometheus, and replay them in a cluster."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from policysched import errors
from policysched.cluster import snapshot
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import node_aliases, objects
from policysched.lang.checked import checked
from policysched.offline import offline_cluster
from policysched.promapi import connection, failures, older_samples, range_answers, settings
from policysched.promql import freshness, query_tokens

_MAX_STEPS = 60
"""Number of times at which a metric without windows is read, so that answers stay small."""


@dataclasses.dataclass(frozen=True, slots=True)
class MetricHistory:
    """The samples of a metric at K times.

    Attributes:
        key: the key of the metric.
        at_seconds: the K times, ascending, in seconds since 1970.
        samples: one row for each time.
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


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryTimes:
    """The time of a history.

    Attributes:
        end: its end.
        length_seconds: how long it is.
        window_seconds: the longest window over each metric, by key, for which samples from before
            the history are read.
    """

    end: datetime.datetime
    length_seconds: float
    window_seconds: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def start(self) -> datetime.datetime:
        """The time of the oldest sample that can be read."""
        longest = max(self.window_seconds.values(), default=0.0)
        # VictoriaMetrics moves the times of a range by up to one step.
        spare = 2 * (self.length_seconds + longest) / _MAX_STEPS + 1.0
        return self.end - datetime.timedelta(seconds=self.length_seconds + longest + spare)


def read_metric_histories(
    server: settings.PrometheusSource,
    metrics: Iterable[checked.CheckedMetric],
    nodes: Iterable[objects.Node],
    times: HistoryTimes,
) -> list[MetricHistory]:
    """Send one range query for each metric, and return the samples of the nodes.

    Raises:
        RemoteError: the server does not answer, or refuses a query.
    """
    names = node_aliases.NodeAliasIndex(nodes)
    with connection.PrometheusClient("audit", server) as opened:
        return [_read_history(opened, server.url, metric, names, times) for metric in metrics]


def _read_history(
    opened: connection.PrometheusClient,
    where: str,
    metric: checked.CheckedMetric,
    names: node_aliases.NodeAliasIndex,
    times: HistoryTimes,
) -> MetricHistory:
    if query_tokens.depends_on_range_query_bounds(metric.promql):
        raise errors.RemoteError(
            f"the history of metric `{metric.name}` cannot be read: its query has `@ start()` or "
            "`@ end()`, which have another meaning in a range query"
        )
    asked = freshness.add_freshness(metric.promql, metric.label, metric.max_age_seconds)
    window_seconds = times.window_seconds.get(metric.key, 0.0)
    length_seconds = times.length_seconds + window_seconds
    step_seconds = metric.refresh_seconds
    if not window_seconds:
        step_seconds = max(step_seconds, math.ceil(length_seconds / _MAX_STEPS))
        length_seconds = math.ceil(length_seconds / step_seconds) * step_seconds
    steps = range_answers.make_range_query_times(
        times.end.timestamp(), length_seconds, step_seconds
    )
    try:
        found = opened.ask_range(asked.promql, steps)
    except failures.QueryError as error:
        raise errors.RemoteError(f"{where}, metric `{metric.name}`: {error}") from error
    joined = older_samples.join_range_answer(
        found, metric, names, 0.0, has_freshness=asked.has_freshness
    )
    return MetricHistory(metric.key, found.at_seconds.tolist(), joined.samples)


def replay_samples(
    cluster: offline_cluster.OfflineCluster,
    histories: Sequence[MetricHistory],
    times: HistoryTimes,
    observe: Callable[[snapshot.Snapshot], None] = lambda _: None,
) -> None:
    """Refresh the metrics of a cluster at each time of their histories, up to the end.

    The clock of the cluster moves with the samples. `observe` is called with the state at each time
    of the history with the longest steps: between two of them, its samples may be too old.
    """
    steps = sorted(
        (at_seconds, place, index)
        for place, history in enumerate(histories)
        for index, at_seconds in enumerate(history.at_seconds)
        if at_seconds <= times.end.timestamp()
    )
    first_seconds = times.end.timestamp() - times.length_seconds
    observed = choose_observed_times(histories, first_seconds)
    for number, (at_seconds, place, index) in enumerate(steps):
        _advance_clock(cluster, at_seconds)
        cluster.cache.metrics.refresh(histories[place].key, histories[place].get_samples(index))
        is_last_of_time = number + 1 == len(steps) or steps[number + 1][0] > at_seconds
        if is_last_of_time and at_seconds in observed and at_seconds < times.end.timestamp():
            observe(cluster.cache.snapshot())
    _advance_clock(cluster, times.end.timestamp())
    cluster.cache.expire_samples()
    observe(cluster.cache.snapshot())


def choose_observed_times(
    histories: Sequence[MetricHistory], first_seconds: float
) -> frozenset[float]:
    """Return the times of the history with the longest steps, from the last one before the first.

    Histories with windows begin earlier, so only times from then on are counted.
    """
    times_of: list[list[float]] = []
    for history in histories:
        earlier = [each for each in history.at_seconds if each <= first_seconds]
        least_seconds = max(earlier, default=first_seconds)
        times_of.append([each for each in history.at_seconds if each >= least_seconds])
    fewest: list[float] = min(times_of, key=len) if times_of else []
    return frozenset(fewest)


def _advance_clock(cluster: offline_cluster.OfflineCluster, to_seconds: float) -> None:
    cluster.clock.advance(max(0.0, to_seconds - cluster.clock.now().timestamp()))
