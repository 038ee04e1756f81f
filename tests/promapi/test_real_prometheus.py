from __future__ import annotations

import asyncio
import contextlib
import pathlib
import random
from collections.abc import AsyncIterator, Callable, Mapping

import pytest

from policysched import clock as clocks
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.promapi import live_metrics_source, settings, status
from policysched.promapi import query_source as sources
from tests.kube.asynchronous import asynchronous
from tests.promapi import exporter as exporters
from tests.promapi import fake_prometheus as fake
from tests.promapi import worlds
from tests.realcluster import prometheus

METRIC = """\
version 1
metric busy: ratio = `avg by (instance) (rate(busy_seconds_total[1m]))`
  node instance refresh 1s maxAge 3s
"""
_SCRAPES = "250ms"
_ROUNDING_SECONDS = 0.01


class _Cluster:
    """The scheduler's side: nodes, samples, and what the source tells."""

    def __init__(self, url: str) -> None:
        self.samples: dict[str, metric_table.Sample] = {}
        self.changes: list[bool] = []
        self.nodes = [worlds.node("n1", "10.0.0.1"), worlds.node("n2", "10.0.0.2")]
        self._clock = clocks.SystemClock()
        dependencies = sources.SourceDependencies(self._clock, random.Random(1), observer=self)
        self.live = live_metrics_source.LiveMetricsSource(
            {"default": settings.PrometheusSource(url, timeout_seconds=5)},
            worlds.metrics(METRIC),
            dependencies,
        )

    @property
    def stats(self) -> status.MetricStats:
        (found,) = self.live.get_metric_stats()
        return found

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.live.run(self.refresh, self, _no_windows))
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def wait_synced(self) -> None:
        """Nodes are there from the start."""

    def current(self) -> list[objects.Node]:
        return self.nodes

    def without_data(self) -> int:
        """Return how many nodes have no sample within maxAge."""
        oldest = self._clock.now().timestamp() - 3
        times = [sample.measured_at_seconds for sample in self.samples.values()]
        return len(self.nodes) - sum(time >= oldest for time in times)

    def refresh(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        self.samples = dict(samples["busy"])

    def source_changed(self, health: status.SourceHealth) -> None:
        self.changes.append(health.is_up)

    def metric_asked(self, stats: status.MetricStats) -> None:
        pass


def _no_windows(_: object) -> None:
    """Nothing here has a window, so that nobody asks for older samples."""
    raise AssertionError


async def _until(holds: Callable[[], bool]) -> None:
    """Wait for something that real servers bring about; the test's own limit ends it."""
    while not holds():  # noqa: ASYNC110 - another process does it and tells nobody
        await asyncio.sleep(0.05)


@pytest.mark.e2e
@asynchronous
async def test_a_dead_exporter_and_a_dead_prometheus(tmp_path: pathlib.Path) -> None:
    """A node whose exporter died is missing though the query answers; an outage ends by itself."""
    targets = {"n1": "n1", "n2": "10.0.0.2:9100"}
    with exporters.Exporter() as exporter:
        config = exporter.prometheus_config(targets, _SCRAPES)
        with prometheus.Prometheus(tmp_path, config=config) as server:
            cluster = _Cluster(server.url)
            async with cluster.running():
                await _until(lambda: cluster.samples.keys() == {"n1", "n2"})
                first = dict(cluster.samples)
                for node, instance in targets.items():
                    assert first[node].measured_at_seconds <= _last_scrape(server, instance)

                exporter.dead.add("n2")
                await _until(lambda: cluster.without_data() == 1)
                measured_at_seconds = cluster.samples["n2"].measured_at_seconds
                assert measured_at_seconds <= _last_scrape(server, targets["n2"])
                assert measured_at_seconds >= first["n2"].measured_at_seconds
                answers = server.query("avg by (instance) (rate(busy_seconds_total[1m]))")
                assert "10.0.0.2:9100" in {one["metric"]["instance"] for one in answers}
                last_seen = _last_scrape(server, "n1")

                server.process.kill()
                await _until(lambda: cluster.changes == [False])
                kept = cluster.samples["n1"]
                assert kept.measured_at_seconds >= first["n1"].measured_at_seconds
                exporter.dead.clear()
                server.start()
                await _until(lambda: cluster.changes == [False, True])
                await _until(lambda: cluster.without_data() == 0)
                last_seen = max(kept.measured_at_seconds, last_seen)
                await _until(lambda: cluster.samples["n1"].measured_at_seconds > last_seen)


def _last_scrape(server: prometheus.Prometheus, instance: str) -> float:
    """Return the time of the last sample as Prometheus holds it, and no more than rounding."""
    (series, *_) = server.query(f'busy_seconds_total{{instance="{instance}"}}[5m]')
    last: float = series["values"][-1][0]
    return last + _ROUNDING_SECONDS


@asynchronous
async def test_one_request_brings_the_samples_of_all_nodes() -> None:
    """Over HTTP and threads as in a running scheduler."""
    answer = fake.success(
        [
            fake.series("0.25", instance="n1"),
            fake.measured(998.0, instance="n1"),
            fake.series("0.5", instance="10.0.0.2:9100"),
            fake.measured(998.0, instance="10.0.0.2:9100"),
        ]
    )
    with fake.FakePrometheus(answer) as server:
        cluster = _Cluster(server.url)
        async with cluster.running():
            await cluster.live.wait_until_metrics_asked()
            assert {n: s.value for n, s in cluster.samples.items()} == {"n1": 0.25, "n2": 0.5}
            assert len(server.requests) == cluster.stats.queries == 1
