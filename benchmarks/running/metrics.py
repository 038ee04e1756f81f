"""Queries to Prometheus while pods arrive, and the cost of metric scores in a cycle.

python -m benchmarks metrics --minutes 10

A real Prometheus scrapes an exporter for every node. Pods arrive at an even rate and are placed in
turn by two profiles on the same cluster: kube-scheduler's plugins alone, and the same plugins with
the five scores of node-load.policy. Both therefore meet the same refreshes and the same noise of
the machine.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import gc
import multiprocessing
import pathlib
import random
import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import connection
from typing import Any

import msgspec

from benchmarks import options
from benchmarks.process import orphans
from policysched import clock as clocks
from policysched import process
from policysched.cluster import cache as caches
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, runtime
from policysched.profiles import policies
from policysched.promapi import live_metrics_source, query_source, settings
from tests.e2e.scenes import metrics_scene
from tests.realcluster import manifests, node_exporter, prometheus

NONE, SCORES = "none", "five-scores"
_FEWEST_PODS = 200
_SCRAPE_INTERVAL_MS = 15_000
_MOST_PODS = 20_000
"""Older pods are removed, so that the cluster stays equally full."""


def _make_policy_text(*, placed_adds: bool) -> str:
    """Return the scores of node-load.policy, with a profile that has them and one without them."""
    text = (pathlib.Path("policies") / "node-load.policy").read_text(encoding="utf-8")
    text = re.sub(r"  reject when (.|\n)*? as [a-z-]+\n", "", text)
    text = re.sub(r"profile node-load \{(.|\n)*\}", "", text)
    if not placed_adds:
        text = re.sub(r"\n *placed adds .*", "", text)
    return f"{text}\nprofile {SCORES} {{ policies node-load }}\nprofile {NONE} {{ }}\n"


class Cluster:
    """The scheduler's side: two profiles, and a cache, which receives the samples."""

    def __init__(self, nodes: int, folder: pathlib.Path, *, placed_adds: bool = True) -> None:
        """Build everything up to the first cycle."""
        file = folder / "node-load.policy"
        file.write_text(_make_policy_text(placed_adds=placed_adds), encoding="utf-8")
        self.policy_set = policies.load_policy_set([str(file)], {})
        self.cache = caches.Cache(clocks.SystemClock())
        profiles = policies.require_profiles(
            policies.make_profiles(
                self.policy_set, handles.Handle(handles.NoBinder(), self.cache.owners)
            )
        )
        self.cache.retain_needed_metric_data(profiles.metric_needs)
        self.frameworks = {
            name: runtime.Framework(each, random.Random(1))
            for name, each in profiles.by_name.items()
        }
        self.shapes = pod_shape.PodShapeCache(profiles.annotation_keys)
        for node in metrics_scene.nodes(nodes):
            self.cache.set_node(msgspec.convert(node, objects.Node))
        self.seconds: dict[str, list[float]] = {NONE: [], SCORES: []}
        self.cpu_seconds: dict[str, list[float]] = {NONE: [], SCORES: []}
        self.refreshes = 0
        self._placed: collections.deque[pod_shape.PodInfo] = collections.deque()

    async def wait_synced(self) -> None:
        """Return at once: the nodes exist from the start."""

    def current(self) -> list[objects.Node]:
        """Return the nodes."""
        return [node for node in self.cache.nodes.nodes if node is not None]

    def refresh(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        """Store new samples."""
        for metric, by_node in samples.items():
            self.refreshes += 1
            self.cache.metrics.refresh(metric, by_node)

    def backfill(self, history: Mapping[str, metric_windows.OlderSamples]) -> None:
        """Store older samples; no metric here requests them."""
        for metric, older in history.items():
            self.cache.metrics.backfill(metric, older)

    def place(self, number: int) -> None:
        """Schedule, assume and time one pod."""
        name = (NONE, SCORES)[number % 2]
        requests = {"cpu": ("50m", "100m")[number // 2 % 2], "memory": "64Mi"}
        pod: dict[str, Any] = manifests.pod(f"p{number}", requests=requests)
        pod["metadata"] |= {"uid": f"u{number}", "namespace": "default"}
        info = self.shapes.make_pod_info(msgspec.convert(pod, objects.Pod))
        started, cpu_started = time.perf_counter(), time.thread_time()
        result = self.frameworks[name].schedule_pod(info, self.cache.snapshot())
        if result.node_name is not None:
            self.cache.assume_pod(info, result.node_name)
        self.cpu_seconds[name].append(time.thread_time() - cpu_started)
        self.seconds[name].append(time.perf_counter() - started)
        if result.node_name is None:
            raise SystemExit(f"pod {number} found no node: {result.message}")
        self._placed.append(info)
        if len(self._placed) > _MOST_PODS:
            self.cache.remove_pod(self._placed.popleft())


async def _run(
    cluster: Cluster, url: str, pods: int, rate: float
) -> live_metrics_source.LiveMetricsSource:
    dependencies = query_source.SourceDependencies(clocks.SystemClock(), random.Random(1))
    servers = {"default": settings.PrometheusSource(url)}
    live = live_metrics_source.LiveMetricsSource(
        servers, cluster.policy_set.node_metrics, dependencies
    )
    querying = asyncio.create_task(live.run(cluster.refresh, cluster, cluster.backfill))
    await live.wait_until_metrics_asked()
    process.exempt_objects_from_gc()
    started = time.perf_counter()
    for number in range(pods):
        cluster.place(number)
        await asyncio.sleep(max(0.0, started + (number + 1) / rate - time.perf_counter()))
    querying.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await querying
    return live


def _serve(nodes: int, pipe: connection.Connection) -> None:
    """Run the exporters until the other end of the pipe sends anything or closes."""
    names = metrics_scene.instances(nodes)
    rng = random.Random(1)
    with node_exporter.NodeExporter(names) as exporter:
        for name in names:
            shares = [rng.uniform(0.1, 0.6) for _ in range(5)]
            exporter.put([name], node_exporter.Load(*shares))
        pipe.send(exporter.prometheus_config(_SCRAPE_INTERVAL_MS))
        with contextlib.suppress(EOFError):
            pipe.recv()


@contextlib.contextmanager
def _run_prometheus(nodes: int, folder: pathlib.Path) -> Iterator[prometheus.Prometheus]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    exporting = context.Process(target=_serve, args=(nodes, theirs), daemon=True)
    exporting.start()
    try:
        with prometheus.Prometheus(folder / "prometheus", config=ours.recv()) as server:
            yield server
    finally:
        ours.send(None)
        exporting.join()


def _wait_for_rates(server: prometheus.Prometheus, nodes: int) -> None:
    query = 'count(sum by (instance) (rate(node_cpu_seconds_total{mode="idle"}[2m])))'
    server.process.wait_until(
        lambda: [series["value"][1] for series in server.query(query)] == [str(nodes)],
        time_limit_seconds=120,
    )


def main(argv: Sequence[str]) -> int:
    """Run for the selected time, and print the counts."""
    parser = options.Parser(prog="python -m benchmarks metrics", description=__doc__)
    parser.add_argument("--minutes", type=options.above_zero, default=1.0)
    parser.add_argument("--nodes", type=options.at_least(1), default=1000)
    parser.add_argument("--rate", type=options.above_zero, default=100.0, help="pods per second")
    parser.add_argument("--no-placed-adds", action="store_true", help="score by samples alone")
    args = parser.parse_args(argv)
    pods = round(args.minutes * 60 * args.rate)
    if pods < _FEWEST_PODS:
        parser.error(
            f"{pods} pods are too few: quantiles need {_FEWEST_PODS}; increase minutes or rate"
        )
    with orphans.folder_without_orphans() as folder:
        cluster = Cluster(args.nodes, folder, placed_adds=not args.no_placed_adds)
        with _run_prometheus(args.nodes, folder) as server:
            _wait_for_rates(server, args.nodes)
            served = server.served_queries()
            started = time.perf_counter()
            live = asyncio.run(_run(cluster, server.url, pods, args.rate))
            seconds = time.perf_counter() - started
            served = server.served_queries() - served
    gc.unfreeze()
    _print_report(cluster, live, seconds, served)
    return 0


def _print_report(
    cluster: Cluster, live: live_metrics_source.LiveMetricsSource, seconds: float, served: float
) -> None:
    placed = sum(map(len, cluster.seconds.values()))
    print(f"{placed:,} pods in {seconds:,.0f} s at {cluster.cache.nodes.alive_count:,} nodes")
    for stats, metric in zip(live.get_metric_stats(), cluster.policy_set.node_metrics, strict=True):
        due = seconds / metric.refresh_seconds
        print(f"  {stats.name:<16} {stats.queries:>4} queries, {due:.1f} refreshes")
    print(f"  Prometheus served {served:.0f} queries; {cluster.refreshes} delivered samples")
    _print_cycles("wall", cluster.seconds)
    _print_cycles("cpu", cluster.cpu_seconds)


def _print_cycles(clock: str, seconds: Mapping[str, Sequence[float]]) -> None:
    """Print quantiles; CPU time excludes waits for a processor on a busy machine."""
    print(f"{clock:<12}{'median µs':>10}{'p99 µs':>10}{'max µs':>10}")
    for name, times in seconds.items():
        micros = [1e6 * each for each in times]
        quantiles = statistics.quantiles(micros, n=100)
        print(f"{name:<12}{quantiles[49]:>10.0f}{quantiles[98]:>10.0f}{max(micros):>10.0f}")
    ratios = [
        _compute_quantile(seconds[SCORES], at) / _compute_quantile(seconds[NONE], at)
        for at in (49, 98)
    ]
    print(f"ratio of medians {ratios[0]:.2f}, of p99 {ratios[1]:.2f}")


def _compute_quantile(times: Sequence[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent]
