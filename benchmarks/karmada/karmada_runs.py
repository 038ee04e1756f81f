"""One run of one binding scheduler: a backlog on a separate control plane, followed by a watch.

policysched can be killed midway and started again; bindings that are unfinished or written twice
are counted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import orjson

from benchmarks.process import process_usage
from tests.karmada import twins
from tests.realcluster import api_client, control_plane, karmada

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Iterator

    from tests.realcluster import process

NAMES = (twins.THEIRS, twins.OURS)

_LIMIT_SECONDS = 3600.0
_BINDINGS = f"{karmada.WORK}/namespaces/default/resourcebindings"
_EVENTS = "/api/v1/namespaces/default/events"
_WATCH_SECONDS = 0.3
"""Time after which the watch has shown all writes."""

_EVENTS_PAUSE_SECONDS = 2.0
"""Time without a new event after which the last one has come."""


@dataclasses.dataclass(frozen=True)
class Case:
    """The size of a run.

    Attributes:
        clusters, bindings: their numbers.
        kill_at: share of settled bindings at which the scheduler is killed and started again; 0 for
            never.
    """

    clusters: int
    bindings: int
    kill_at: float = 0.0


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The figures of a run.

    Attributes:
        scheduler, case: scheduler and size of the run.
        start_seconds: from the start of the process to the first binding with clusters.
        placed_seconds: from there until the last binding had clusters and the condition.
        settled_seconds: from there until the last status confirmed the newest generation of its
            binding, for which other controllers wait.
        cpu_seconds: of the scheduler, from its start to the last event.
        server_cpu_seconds: of kube-apiserver and etcd in the same time.
        others_share: share of the machine's CPU time that other processes used meanwhile.
        peak_memory_mib: of the scheduler.
        events: number of events.
        half_written: bindings with clusters but without the condition when the scheduler was
            killed.
        unfinished: bindings that at the end lack clusters for all replicas, the condition or the
            confirmed generation.
        written_twice: bindings whose clusters were written again.
    """

    scheduler: str
    case: Case
    start_seconds: float
    placed_seconds: float
    settled_seconds: float
    cpu_seconds: float
    server_cpu_seconds: float
    others_share: float
    peak_memory_mib: float
    events: int
    half_written: int
    unfinished: int
    written_twice: int

    @property
    def placed_per_second(self) -> float:
        """Bindings per second, until the last one had clusters and the condition."""
        return self.case.bindings / self.placed_seconds

    @property
    def settled_per_second(self) -> float:
        """Bindings per second, until the last status was confirmed."""
        return self.case.bindings / self.settled_seconds


class _Progress:
    """The progress of the bindings, as shown by a watch.

    Attributes:
        first_seconds: when a binding first had clusters.
        with_clusters: names of the bindings with clusters.
        placed, settled: when a binding was first seen placed or settled, by name.
        generations: by name; 1 is the created binding, each later one a write of clusters.
    """

    def __init__(self) -> None:
        self.first_seconds = 0.0
        self.with_clusters: set[str] = set()
        self.placed: dict[str, float] = {}
        self.settled: dict[str, float] = {}
        self.generations: dict[str, int] = {}

    def record(self, item: dict[str, Any]) -> None:
        """Record a state of a binding."""
        now_seconds, name = time.monotonic(), item["metadata"]["name"]
        self.generations[name] = item["metadata"]["generation"]
        if not item["spec"].get("clusters"):
            return
        self.first_seconds = self.first_seconds or now_seconds
        self.with_clusters.add(name)
        if _is_scheduled(item):
            self.placed.setdefault(name, now_seconds)
            if _is_confirmed(item):
                self.settled.setdefault(name, now_seconds)


def _is_scheduled(item: dict[str, Any]) -> bool:
    conditions = item.get("status", {}).get("conditions", [])
    return any(each["type"] == "Scheduled" and each["status"] == "True" for each in conditions)


def _is_confirmed(item: dict[str, Any]) -> bool:
    generation: int = item["metadata"]["generation"]
    return bool(item.get("status", {}).get("schedulerObservedGeneration") == generation)


def _is_complete(item: dict[str, Any]) -> bool:
    """Return whether every replica has a cluster; without division, all are on each cluster."""
    spec = item["spec"]
    replicas = [target.get("replicas", 0) for target in spec.get("clusters", [])]
    if "replicaScheduling" in spec["placement"]:
        return bool(sum(replicas) == spec["replicas"])
    return bool(replicas) and set(replicas) == {spec["replicas"]}


def _follow(client: api_client.ApiClient, progress: _Progress) -> None:
    """Feed the progress from lists and watches until the API server ends.

    A loaded API server ends watches early.
    """
    with contextlib.suppress(api_client.TransportError, api_client.ApiError):
        while True:
            page = client.get(karmada.BINDINGS)
            for item in page["items"]:
                progress.record(item)
            version = page["metadata"]["resourceVersion"]
            with contextlib.suppress(api_client.TransportError):
                _watch(client, progress, version)


def _watch(client: api_client.ApiClient, progress: _Progress, version: str) -> None:
    stream = client.open(karmada.BINDINGS, watch="1", resourceVersion=version)
    rest = b""
    for chunk in stream.stream(amt=None):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            event = orjson.loads(line)
            if event["type"] == "MODIFIED":
                progress.record(event["object"])


def _make_bindings(count: int, scheduler: str) -> Iterator[dict[str, Any]]:
    """Yield bindings of five strategies in equal parts."""
    rng = random.Random(1)
    placements = (
        twins.dynamic(),
        twins.divided("Aggregated"),
        {"clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}}},
        twins.divided("Weighted"),
        twins.dynamic()
        | {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 5}]},
    )
    for number in range(count):
        binding = twins.binding(f"app{number}", placements[number % 5], replicas=rng.randint(1, 20))
        binding["spec"]["schedulerName"] = scheduler
        yield binding


def _fill(plane: control_plane.ControlPlane, case: Case, scheduler: str) -> None:
    karmada.install(plane)
    for number in range(case.clusters):
        labels = {"tier": "gold" if number % 4 == 0 else "silver"}
        karmada.create(plane.client, twins.cluster(f"m{number:03}", cpu="4000", labels=labels))
    plane.client.create_many(_BINDINGS, _make_bindings(case.bindings, scheduler))


class _Usage:
    """The usage of a scheduler, across its restarts, and of the servers."""

    def __init__(self, plane: control_plane.ControlPlane, scheduler: process.ServerProcess) -> None:
        self._scheduler = scheduler
        self._servers = (plane.api_server.pid, plane.etcd.pid)
        self._servers_before = self._read_servers()
        self._all_before = process_usage.machine_cpu_seconds()
        self._own_before = process_usage.cpu_seconds(os.getpid())
        self._ended_seconds = 0.0
        self._peak_mib = 0.0

    def note_end(self) -> None:
        """Record the usage of the process, before it is killed."""
        self._ended_seconds += process_usage.cpu_seconds(self._scheduler.pid)
        self._peak_mib = self.peak_memory_mib

    @property
    def cpu_seconds(self) -> float:
        return self._ended_seconds + process_usage.cpu_seconds(self._scheduler.pid)

    @property
    def server_cpu_seconds(self) -> float:
        return self._read_servers() - self._servers_before

    @property
    def others_share(self) -> float:
        used = process_usage.machine_cpu_seconds() - self._all_before
        benchmark = process_usage.cpu_seconds(os.getpid()) - self._own_before
        return 1.0 - (self.cpu_seconds + self.server_cpu_seconds + benchmark) / used

    @property
    def peak_memory_mib(self) -> float:
        return max(self._peak_mib, process_usage.peak_memory_mib(self._scheduler.pid))

    def _read_servers(self) -> float:
        return sum(process_usage.cpu_seconds(pid) for pid in self._servers)


def run(name: str, case: Case, folder: pathlib.Path) -> Measurement:
    """Run a scheduler whose backlog exists when it starts, and return the figures.

    Args:
        name: one of NAMES; only policysched can be killed.
        case: the size of the run.
        folder: for the files of the servers.
    """
    flags = control_plane.THROUGHPUT_FLAGS
    with control_plane.ControlPlane(folder / "plane", flags=flags) as plane:
        _fill(plane, case, name)
        managed: process.Managed = (
            twins.ours(plane, folder)
            if name == twins.OURS
            else karmada.KarmadaScheduler(plane, folder)
        )
        try:
            return _measure(name, case, plane, managed.process)
        finally:
            managed.process.kill()


def _measure(
    name: str, case: Case, plane: control_plane.ControlPlane, scheduler: process.ServerProcess
) -> Measurement:
    progress = _Progress()
    threading.Thread(target=_follow, args=(plane.client, progress), daemon=True).start()
    usage = _Usage(plane, scheduler)
    started_seconds = time.monotonic()
    scheduler.start()
    half_written = _kill_midway(case, scheduler, usage, progress) if case.kill_at else 0
    scheduler.wait_until(
        lambda: len(progress.settled) >= case.bindings, time_limit_seconds=_LIMIT_SECONDS
    )
    events = _wait_for_events(plane.client)
    items = plane.client.items(karmada.BINDINGS)
    return Measurement(
        name,
        case,
        start_seconds=progress.first_seconds - started_seconds,
        placed_seconds=max(progress.placed.values()) - progress.first_seconds,
        settled_seconds=max(progress.settled.values()) - progress.first_seconds,
        cpu_seconds=usage.cpu_seconds,
        server_cpu_seconds=usage.server_cpu_seconds,
        others_share=usage.others_share,
        peak_memory_mib=usage.peak_memory_mib,
        events=events,
        half_written=half_written,
        unfinished=sum(not _is_finished(item) for item in items),
        written_twice=sum(item["metadata"]["generation"] > 2 for item in items),
    )


def _is_finished(item: dict[str, Any]) -> bool:
    return _is_complete(item) and _is_scheduled(item) and _is_confirmed(item)


def _kill_midway(
    case: Case, scheduler: process.ServerProcess, usage: _Usage, progress: _Progress
) -> int:
    """Kill and restart the scheduler; return the number of bindings between their two writes."""
    scheduler.wait_until(
        lambda: len(progress.settled) >= case.kill_at * case.bindings,
        time_limit_seconds=_LIMIT_SECONDS,
    )
    usage.note_end()
    scheduler.kill()
    time.sleep(_WATCH_SECONDS)
    half_written = len(progress.with_clusters) - len(progress.placed)
    scheduler.start()
    return half_written


def _wait_for_events(client: api_client.ApiClient) -> int:
    """Return the number of events when it no longer grows."""
    count, before = _count_events(client), -1
    while count != before:
        time.sleep(_EVENTS_PAUSE_SECONDS)
        count, before = _count_events(client), count
    return count


def _count_events(client: api_client.ApiClient) -> int:
    page = client.get(_EVENTS, limit="1")
    return len(page["items"]) + int(page["metadata"].get("remainingItemCount", 0))
