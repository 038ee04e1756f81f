"""Export metrics of requests to the API server, with client-go's names, labels and buckets."""

from __future__ import annotations

from prometheus_client import core

from policysched.kube.http import request_stats
from policysched.observability import scheduler_metrics


def collect_request_metrics(
    stats: request_stats.RequestStats, host: str
) -> scheduler_metrics.Families:
    """Yield the number and duration of requests; `host` is the label value, `HOST:PORT`."""
    requests = core.CounterMetricFamily(
        "rest_client_requests",
        "Requests to the API server; each attempt counts.",
        labels=("code", "method", "host"),
    )
    for (code, method), count in stats.counts.items():
        requests.add_metric((code, method, host), count)
    yield requests
    durations = core.HistogramMetricFamily(
        "rest_client_request_duration_seconds",
        "Time until the API server began to answer.",
        labels=("verb", "host"),
    )
    for (method,), made in stats.durations:
        durations.add_metric(
            (method, host), scheduler_metrics.count_cumulative_buckets(made), made.total
        )
    yield durations
