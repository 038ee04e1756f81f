"""Export the metrics of `run` in Prometheus' exposition format; docs/metrics.md lists them.

Each scrape reads the values from the objects that own them. Metrics are not stored twice, cost
nothing between scrapes, and disappear with their objects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import prometheus_client
from prometheus_client import core, exposition, registry

import policysched
from policysched.cluster import snapshot
from policysched.cluster.metrics import sample_states
from policysched.inputs import metrics_source
from policysched.observability import scheduler_metrics
from policysched.promapi import status
from policysched.scheduler import scheduler as schedulers
from policysched.serving import http_server

if TYPE_CHECKING:
    from policysched.compiler.metrics import readings

PATH = "/metrics"

Families = Iterator[core.Metric]


class MetricsExporter:
    """A registry for one scheduler, so that several schedulers in one process do not conflict."""

    def __init__(self) -> None:
        """Start with the metrics of the process, the garbage collector and the build."""
        self.registry = prometheus_client.CollectorRegistry()
        prometheus_client.ProcessCollector(registry=self.registry)
        prometheus_client.GCCollector(registry=self.registry)
        info = prometheus_client.Gauge(
            "policysched_build_info", "Always 1.", ("version",), registry=self.registry
        )
        info.labels(policysched.__version__).set(1)

    def add_collector(self, collect: Callable[[], Iterable[core.Metric]]) -> None:
        """Call `collect` at each scrape and export the metrics that it yields."""
        self.registry.register(_Collector(collect))

    def add_scheduler_metrics(
        self,
        scheduler: schedulers.Scheduler,
        readers: Callable[[], Iterable[readings.MetricReader]],
        source: metrics_source.MetricsSource | None,
    ) -> None:
        """Export the metrics of a scheduler, of the samples that rules read, and of `source`."""
        self.add_collector(lambda: scheduler_metrics.collect_scheduler_metrics(scheduler))
        self.add_collector(lambda: collect_sample_metrics(readers(), scheduler.cache.snapshot()))
        if source is not None:
            self.add_collector(lambda: collect_source_metrics(source.get_server_health()))
            self.add_collector(lambda: collect_query_metrics(source.get_metric_stats()))

    def make_page(self, _query: http_server.QueryParameters | None = None) -> http_server.HttpPage:
        """Return all metrics in the text format of the exposition."""
        body = exposition.generate_latest(self.registry)
        return http_server.HttpPage(body, exposition.CONTENT_TYPE_PLAIN_0_0_4)


class _Collector(registry.Collector):
    def __init__(self, collect: Callable[[], Iterable[core.Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterable[core.Metric]:
        return self._collect()


def collect_source_metrics(health: Iterable[status.SourceHealth]) -> Families:
    """Yield a gauge of whether each metric source is up."""
    up = core.GaugeMetricFamily(
        "policysched_metrics_source_up",
        "1 if the source answered the last queries, 0 while it is down.",
        labels=("source",),
    )
    for each in health:
        up.add_metric((each.name,), int(each.is_up))
    yield up


def collect_query_metrics(stats: Iterable[status.MetricStats]) -> Families:
    """Yield the number, duration and results of the queries for each metric."""
    labels = ("metric", "source")
    queries = core.CounterMetricFamily(
        "policysched_metric_queries", "Queries that were sent.", labels=labels
    )
    answers = core.CounterMetricFamily(
        "policysched_metric_answer_remarks",
        "Invalid answers, by the rule that handled them (docs/metrics.md).",
        labels=(*labels, "cause"),
    )
    success = core.GaugeMetricFamily(
        "policysched_metric_last_success_timestamp_seconds",
        "Time of the last usable answer.",
        labels=labels,
    )
    durations = core.HistogramMetricFamily(
        "policysched_metric_query_duration_seconds",
        "Duration of queries for metrics, including failed ones.",
        labels=labels,
    )
    for each in stats:
        key = (each.key, each.source)
        queries.add_metric(key, each.queries)
        durations.add_metric(
            key, scheduler_metrics.count_cumulative_buckets(each.durations), each.durations.total
        )
        for cause, count in each.counts.items():
            answers.add_metric((*key, cause.value), count)
        if each.last_success is not None:
            success.add_metric(key, each.last_success.timestamp())
    yield from (queries, answers, success, durations)


def collect_sample_metrics(
    readers: Iterable[readings.MetricReader], snap: snapshot.Snapshot
) -> Families:
    """Yield gauges about the current samples of each metric that rules read for nodes."""
    own = _select_reader_per_metric(readers)
    yield from collect_sample_age_metrics(own, snap, "nodes")
    added = _make_gauge(
        "policysched_metric_added_load",
        ("Sum over all nodes of the load that just-placed pods add, in the unit of the metric."),
    )
    pods = _make_gauge("policysched_metric_added_pods", "Just-placed pods whose load is added.")
    alive = snap.view_rows(np.flatnonzero(snap.is_alive))
    for reader in own:
        found = reader.read(alive)
        added.add_metric((reader.metric.key,), float(found.added.sum()))
        pods.add_metric((reader.metric.key,), int(found.added_pods.sum()))
    yield from (added, pods)


def collect_sample_age_metrics(
    readers: Iterable[readings.MetricReader], snap: snapshot.Snapshot, objects: str
) -> Families:
    """Yield the number of rows with a value of each metric, and the age of the samples.

    Args:
        readers: metrics to export; of several readers of one metric, only the first is used.
        snap: snapshot of the nodes or clusters.
        objects: kind of the rows in metric names and help texts: `nodes` or `clusters`.
    """
    counted = _make_gauge(
        f"policysched_metric_{objects}",
        f"{objects.capitalize()} by whether they have a value.",
        "state",
    )
    newest = _make_gauge(
        "policysched_metric_newest_sample_age_seconds", "Age of the newest sample."
    )
    oldest = _make_gauge(
        "policysched_metric_oldest_sample_age_seconds", "Age of the oldest sample."
    )
    outage = _make_gauge(
        "policysched_metric_outage", f"1 while none of the {objects} has a valid sample."
    )
    alive = snap.view_rows(np.flatnonzero(snap.is_alive))
    for reader in _select_reader_per_metric(readers):
        key = (reader.metric.key,)
        found = reader.read(alive)
        states = [found.state(index) for index in range(len(alive))]
        for state in sample_states.SampleState:
            counted.add_metric((*key, state.value), states.count(state))
        ages = found.age_seconds[found.is_known]
        newest.add_metric(key, float(ages.min(initial=math.inf)))
        oldest.add_metric(key, float(ages.max(initial=0.0)) if len(ages) else math.inf)
        outage.add_metric(key, int(bool(states) and sample_states.SampleState.OK not in states))
    yield from (counted, newest, oldest, outage)


def _make_gauge(name: str, text: str, *labels: str) -> core.GaugeMetricFamily:
    return core.GaugeMetricFamily(name, text, labels=("metric", *labels))


def _select_reader_per_metric(
    readers: Iterable[readings.MetricReader],
) -> list[readings.MetricReader]:
    """Return the first reader of each metric; windows of a metric have the same ages and nodes."""
    found: dict[str, readings.MetricReader] = {}
    for reader in readers:
        found.setdefault(reader.metric.key, reader)
    return list(found.values())
