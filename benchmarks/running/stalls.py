"""Stalls of the event loop, on which pods are scheduled, by large answers of Prometheus.

python -m benchmarks stalls --nodes 5000 --metrics 5 --steps 65

A server in a separate process answers for all nodes; all metrics are refreshed at once, and their
windows are filled once. Meanwhile the loop only takes turns, and the longest time between two turns
is the stall: as CPU time of the loop's thread, and as wall time, which includes other threads and
processes.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import pathlib
import random
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from benchmarks import options
from benchmarks.process import orphans
from benchmarks.running import metric_server
from policysched import clock as clocks
from policysched import process
from policysched.cluster import cache as caches
from policysched.cluster.metrics import metric_table, metric_windows
from policysched.cluster.objects import objects
from policysched.framework import handles
from policysched.profiles import policies
from policysched.promapi import live_metrics_source, query_source, settings
from tests.e2e.scenes import metrics_scene

_REFRESH_SECONDS = metric_server.STEP_SECONDS
_MAX_AGE_SECONDS = 50.0
_FEWEST_STEPS = math.floor(_MAX_AGE_SECONDS / _REFRESH_SECONDS) + 2
"""For a window that is longer than the time between two refreshes, as every window must be."""


@dataclasses.dataclass(frozen=True)
class Size:
    """The size of the answers."""

    nodes: int
    metrics: int
    steps: int

    @property
    def policy(self) -> str:
        """A policy with metrics whose windows need `steps` steps to fill."""
        window = round(self.steps * _REFRESH_SECONDS - _MAX_AGE_SECONDS)
        names = [f"m{number}" for number in range(self.metrics)]
        declared = "".join(
            f"metric {name}: ratio = `{name}` node instance refresh {_REFRESH_SECONDS:.0f}s "
            f"maxAge {_MAX_AGE_SECONDS:.0f}s\n"
            for name in names
        )
        scores = "".join(
            f"  score {name} prefer low normalize linear(0%, 100%) missing score 0 as {name}\n"
            f"  score {name} over {window}s max prefer low normalize linear(0%, 100%)"
            f" missing score 0 as {name}-peak\n"
            for name in names
        )
        policy = f"policy p {{\n  for pods\n{scores}}}\nprofile p {{ policies p }}\n"
        return f"version 1\n{declared}{policy}"


class Turns:
    """The longest times between two turns of the loop since `begin`, in seconds."""

    def __init__(self) -> None:
        """Begin with no times."""
        self.wall_seconds = self.cpu_seconds = 0.0

    def begin(self) -> None:
        """Discard the former times."""
        self.wall_seconds = self.cpu_seconds = 0.0

    async def take(self) -> None:
        """Take turns until cancelled."""
        wall, cpu = time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(0)
            now_wall, now_cpu = time.perf_counter(), time.thread_time()
            self.wall_seconds = max(self.wall_seconds, now_wall - wall)
            self.cpu_seconds = max(self.cpu_seconds, now_cpu - cpu)
            wall, cpu = now_wall, now_cpu


class Cluster:
    """The scheduler's side: a cache, which receives the samples."""

    def __init__(self, size: Size, folder: pathlib.Path) -> None:
        """Build everything up to the first query."""
        (folder / "p.policy").write_text(size.policy, encoding="utf-8")
        self.policy_set = policies.load_policy_set([str(folder / "p.policy")], {})
        self.cache = caches.Cache(clocks.SystemClock())
        handle = handles.Handle(handles.NoBinder(), self.cache.owners)
        profiles = policies.require_profiles(policies.make_profiles(self.policy_set, handle))
        self.cache.retain_needed_metric_data(profiles.metric_needs)
        self.needs = profiles.metric_needs
        self._readers = profiles.metric_readers
        self.refreshed = self.filled = 0
        self._has_new_samples = asyncio.Event()
        for node in metrics_scene.nodes(size.nodes):
            self.cache.set_node(msgspec.convert(node, objects.Node))

    async def wait_synced(self) -> None:
        """Return at once: the nodes exist from the start."""

    def current(self) -> list[objects.Node]:
        """Return the nodes."""
        return [node for node in self.cache.nodes.nodes if node is not None]

    def refresh(self, samples: Mapping[str, Mapping[str, metric_table.Sample]]) -> None:
        """Store new samples, and read them as rules do."""
        for metric, by_node in samples.items():
            self.refreshed += 1
            self.cache.metrics.refresh(metric, by_node)
        self._read()

    def backfill(self, history: Mapping[str, metric_windows.OlderSamples]) -> None:
        """Store older samples, and read them as rules do."""
        for metric, older in history.items():
            self.filled += 1
            self.cache.metrics.backfill(metric, older)
        self._read()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked after each arrival of samples."""
        while not holds():
            self._has_new_samples.clear()
            await self._has_new_samples.wait()

    def _read(self) -> None:
        self._has_new_samples.set()
        snap = self.cache.snapshot()
        for reader in self._readers:
            reader.samples.current(snap)


async def _run(cluster: Cluster, size: Size, url: str) -> None:
    dependencies = query_source.SourceDependencies(clocks.SystemClock(), random.Random(1))
    servers = {"default": settings.PrometheusSource(url, timeout_seconds=60)}
    live = live_metrics_source.LiveMetricsSource(
        servers, cluster.policy_set.node_metrics, dependencies
    )
    turns = Turns()
    ticking = asyncio.create_task(turns.take())
    querying = asyncio.create_task(live.run(cluster.refresh, cluster, cluster.backfill))
    try:
        for phase in ("first answers", "refresh"):
            await _measure_refresh(cluster, size, turns, phase)
        windows = {key: need.seconds for key, need in cluster.needs.histories.items()}
        live.set_metrics(cluster.policy_set.node_metrics, windows)
        turns.begin()
        started = time.perf_counter()
        await cluster.until(lambda: cluster.filled >= size.metrics)
        await asyncio.sleep(0.1)
        _print_stall("windows", turns, time.perf_counter() - started)
        for stats in live.get_metric_stats():
            if stats.problem:
                raise SystemExit(f"{stats.name}: {stats.problem}")
    finally:
        for task in (ticking, querying):
            task.cancel()
        await asyncio.gather(ticking, querying, return_exceptions=True)


async def _measure_refresh(cluster: Cluster, size: Size, turns: Turns, phase: str) -> None:
    cluster.refreshed = 0
    turns.begin()
    started = time.perf_counter()
    await cluster.until(lambda: cluster.refreshed >= size.metrics)
    await asyncio.sleep(0.1)
    _print_stall(phase, turns, time.perf_counter() - started)


def _print_stall(phase: str, turns: Turns, seconds: float) -> None:
    print(
        f"{phase:<14} longest stall {1000 * turns.cpu_seconds:7.1f} ms of CPU, "
        f"{1000 * turns.wall_seconds:7.1f} ms; all done after {seconds:.1f} s",
        flush=True,
    )


def main(argv: Sequence[str]) -> int:
    """Measure once, and print the stalls."""
    parser = options.Parser(prog="python -m benchmarks stalls", description=__doc__)
    parser.add_argument("--nodes", type=options.at_least(1), default=5000)
    parser.add_argument("--metrics", type=options.at_least(1), default=5)
    parser.add_argument("--steps", type=options.at_least(_FEWEST_STEPS), default=65)
    args = parser.parse_args(argv)
    size = Size(args.nodes, args.metrics, args.steps)
    instances = list(metrics_scene.instances(size.nodes).values())
    with (
        orphans.folder_without_orphans() as folder,
        metric_server.serve_metrics(instances, steps=size.steps) as url,
    ):
        cluster = Cluster(size, folder)
        process.exempt_objects_from_gc()
        asyncio.run(_run(cluster, size, url))
    return 0
