from __future__ import annotations

import asyncio
import contextlib
import pathlib
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from policysched import clock as clocks
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import objects
from policysched.promapi import live_metrics_source, settings
from policysched.promapi import query_source as sources
from tests.kube.asynchronous import asynchronous
from tests.promapi import exporter as exporters
from tests.promapi import worlds
from tests.realcluster import prometheus

pytestmark = pytest.mark.e2e

NODES = ("n1", "n2")
FUNCTIONS = {
    "avg_over_time({}[{}ms])": ("avg", None),
    "max_over_time({}[{}ms])": ("max", None),
    "min_over_time({}[{}ms])": ("min", None),
    "quantile_over_time(0.8, {}[{}ms])": ("quantile", 0.8),
}


class _Scheduler:
    """What a scheduler keeps of one metric, from its start on."""

    def __init__(self, url: str, series: str, refresh: str, window_seconds: float) -> None:
        text = (
            f"version 1\nmetric m: ratio = `{series}` node instance refresh {refresh} maxAge 10s\n"
        )
        declared = worlds.metrics(text)
        self.window_seconds = window_seconds
        self.table = metric_table.MetricTable()
        need = metric_windows.HistoryNeed(window_seconds, 10.0, declared[0].refresh_seconds)
        self.table.keep_histories({"m": need})
        dependencies = sources.SourceDependencies(clocks.SystemClock(), random.Random(1))
        servers = {"default": settings.PrometheusSource(url)}
        self.live = live_metrics_source.LiveMetricsSource(servers, declared, dependencies)
        self.live.set_metrics(declared, {"m": window_seconds})

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run, from the moment on at which scheduling begins."""
        task = asyncio.create_task(
            self.live.run(
                lambda found: self.table.refresh("m", found["m"]),
                self,
                lambda found: self.table.backfill("m", found["m"]),
            )
        )
        try:
            await self.live.wait_until_metrics_asked()
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def wait_synced(self) -> None:
        """Nodes are there from the start."""

    def current(self) -> list[objects.Node]:
        """Return the nodes."""
        return [worlds.node(name) for name in NODES]

    def newest_seconds(self, node: str) -> float:
        """Return when the newest sample of a node was measured."""
        sample = self.table.get_newest_sample("m", node)
        assert sample is not None
        return sample.measured_at_seconds

    def value(self, node: str, function: Any, quantile: float | None) -> float:
        """Return what rules see of a node."""
        aggregate = metric_windows.WindowAggregate(self.window_seconds, function, quantile)
        column = self.table.get_metric_column("m", list(NODES), 0, aggregate)
        return float(column.values[NODES.index(node)])


def _is_equal(
    scheduler: _Scheduler, server: prometheus.Prometheus, series: str, late_seconds: float
) -> bool:
    """Compare with Prometheus' own functions, as of a little after the newest sample."""
    window_ms = round(scheduler.window_seconds * 1000)
    for node in NODES:
        at = scheduler.newest_seconds(node) + late_seconds
        for template, (function, quantile) in FUNCTIONS.items():
            of_node = series.replace("}", f'instance="{node}"}}')
            (own,) = server.query(template.format(of_node, window_ms), time=at)
            expected = float(own["value"][1])
            if scheduler.value(node, function, quantile) != pytest.approx(expected, rel=1e-9):
                return False
    return True


@asynchronous
async def test_after_a_restart_a_window_is_what_prometheus_says_it_is(
    tmp_path: pathlib.Path,
) -> None:
    """Ten minutes of scrapes that are there before the scheduler is; one query brings them.

    However long the server takes to start, a scrape of the last 8 s is there, as those of the next
    ten minutes are there as well.
    """
    chance = random.Random(7)
    now = round(clocks.SystemClock().now().timestamp())
    lines = ["# TYPE load gauge"]
    for number, node in enumerate(NODES):
        lines += [
            f'load{{instance="{node}"}} {chance.random():.6f} {at}'
            for at in range(now - number - 900, now - number + 600, 8)
        ]
    text = "\n".join([*lines, "# EOF", ""])
    with prometheus.Prometheus(tmp_path, openmetrics=text) as server:
        while not await _has_a_window_at_once(server):
            pass


async def _has_a_window_at_once(server: prometheus.Prometheus) -> bool:
    """Say whether a scheduler that starts now has the window; not if a scrape comes meanwhile."""
    scheduler = _Scheduler(server.url, "load", "5s", 590.0)
    async with scheduler.running():
        (stats,) = scheduler.live.get_metric_stats()
        assert stats.queries == 2
        return _is_equal(scheduler, server, "load{}", late_seconds=2.0)


@pytest.mark.proof
@asynchronous
async def test_a_window_goes_on_after_a_restart_as_if_there_had_been_none(
    tmp_path: pathlib.Path,
) -> None:
    """Over live scrapes that each refresh sees twice: before, right after, and later.

    A machine that is too busy for a refresh between two scrapes misses one, which leaves the window
    after its length; so equality is waited for.
    """
    series = 'busy_seconds_total{cpu="0",}'
    with exporters.Exporter() as exporter:
        config = exporter.prometheus_config({name: name for name in NODES}, "2s")
        with prometheus.Prometheus(tmp_path, config=config) as server:
            await _until(lambda: len(server.query(series)) == len(NODES))
            before = _Scheduler(server.url, series, "1s", 9.0)
            async with before.running():
                await _until(lambda: min(exporter.scrapes.values()) >= 7)
                await _until(lambda: _is_equal(before, server, series, late_seconds=0.3))
            while not await _goes_on_after_a_restart(server, series):
                pass


async def _goes_on_after_a_restart(server: prometheus.Prometheus, series: str) -> bool:
    """Say whether a scheduler that starts now has the window at once; if so it keeps it.

    It has not on a machine too busy for even scrapes: one query brings them as they were each
    second, so of two scrapes within one second it brings the last.
    """
    after = _Scheduler(server.url, series, "1s", 9.0)
    async with after.running():
        if not _is_equal(after, server, series, late_seconds=0.3):
            return False
        first = {node: after.newest_seconds(node) for node in NODES}
        await _until(lambda: all(after.newest_seconds(n) > first[n] + 3 for n in NODES))
        await _until(lambda: _is_equal(after, server, series, late_seconds=0.3))
        return True


async def _until(holds: Callable[[], bool]) -> None:
    """Wait for something that real servers bring about; the test's own limit ends it."""
    while not holds():  # noqa: ASYNC110 - another process does it and tells nobody
        await asyncio.sleep(0.1)
