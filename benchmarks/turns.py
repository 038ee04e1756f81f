"""One run of one scheduler: a backlog that lies ready, or pods that arrive."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import math
import pathlib
import signal
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks import (
    arrivals,
    churn,
    machine,
    measurements,
    origins,
    process_usage,
    quality,
    schedulers,
)
from benchmarks import workload_files as workloads
from tests.e2e.checker import cluster_state
from tests.realcluster import api_client, control_plane, manifests, process, watching

_POLL_SECONDS = 0.02
_STALL_LIMIT_SECONDS = 90.0
_READY_LIMIT_SECONDS = 120.0
_STOP_LIMIT_SECONDS = 30.0
_DELETED_AT_ONCE = 1000
_PODS = f"/api/v1/namespaces/{workloads.NAMESPACE}/pods"
_INITIAL_PODS = f"/api/v1/namespaces/{workloads.INITIAL_NAMESPACE}/pods"
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{workloads.NAMESPACE}/events"
_SCHEDULED = {"fieldSelector": "reason=Scheduled"}
_PROBE = "probe"


class BenchmarkError(Exception):
    """A scheduler did not bind all pods; the text has the end of its log."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """A control plane with the nodes of a case, on which schedulers take turns."""

    plane: control_plane.ControlPlane
    case: measurements.Case
    workload: workloads.Workload

    @property
    def client(self) -> api_client.ApiClient:
        """The administrator's."""
        return self.plane.client

    def restore(self) -> None:
        """Create the initial pods that are missing, all of them or those that were preempted."""
        namespace = workloads.INITIAL_NAMESPACE
        there = {pod["metadata"]["name"] for pod in self.client.pods(namespace)}
        pods = self.workload.initial_pods(self.case.nodes, schedulers.SCHEDULER_NAME)
        missing = [pod for pod in pods if pod["metadata"]["name"] not in there]
        self.client.create_pods(namespace, missing)

    def empty(self) -> None:
        """Delete the measured pods, and what was told about pods."""
        _delete_all(self.client, _PODS)
        for namespace in (workloads.NAMESPACE, workloads.INITIAL_NAMESPACE, churn.NAMESPACE):
            _delete_all(self.client, f"/api/v1/namespaces/{namespace}/events")


@dataclasses.dataclass
class Times:
    """Moments of a run, in seconds since the epoch.

    Attributes:
        began: when the first initial pod was preempted, before the first binding.
        arrived: by pod, where pods arrive.
        usage: at the first binding or preemption, and at the last event.
        churn_turns: how many there had been, at the same moments.
    """

    started: float = 0.0
    began: float = math.inf
    ended: float = 0.0
    arrived: arrivals.Arrived = dataclasses.field(default_factory=arrivals.Arrived)
    usage: list[process_usage.Usage] = dataclasses.field(default_factory=list)
    churn_turns: list[int] = dataclasses.field(default_factory=list)


class Turn:
    """One scheduler on a scene, once."""

    def __init__(
        self, scene: Scene, scheduler: process.ServerProcess, origin: measurements.Origin
    ) -> None:
        """Prepare; the scheduler is not started yet."""
        self._scene = scene
        self._origin = origin
        self._churning = churn.Churning(
            scene.client, scene.workload.churn, schedulers.SCHEDULER_NAME
        )
        self._client = scene.client
        self._scheduler = scheduler
        self._pods = scene.workload.pods(scene.case.pods, schedulers.SCHEDULER_NAME)
        self._expected = scene.workload.fitting(scene.case.pods)
        self._times = Times()
        self._peak_memory_mib = 0.0

    def run(self, name: str, repeat: int) -> measurements.Measurement:
        """Let the scheduler bind the pods, stop it and return what was measured.

        Raises:
            BenchmarkError: it has ended, or has not bound all pods that fit.
        """
        if not self._scene.case.arrivals_per_second:
            self._client.create_pods(workloads.NAMESPACE, self._pods)
        with (
            watching.Watch(
                self._client, _PODS, query=watching.BOUND_PODS, on_first=self._begin
            ) as bound,
            watching.Watch(
                self._client, _INITIAL_PODS, counted="DELETED", on_first=self._begin_preempting
            ),
            watching.Watch(self._client, _EVENTS, query=_SCHEDULED) as events,
            self._running(),
        ):
            self._bind(bound, events)
        return self._measurement(name, repeat)

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """Start the scheduler, and end it in order."""
        self._times.started = time.time()
        self._scheduler.start()
        try:
            yield
            self._scheduler.signal(signal.SIGTERM)
            self._scheduler.wait(_STOP_LIMIT_SECONDS)
        finally:
            self._scheduler.kill()

    def _bind(self, bound: watching.Watch, events: watching.Watch) -> None:
        rate = self._scene.case.arrivals_per_second
        with self._churning:
            if rate:
                self._wait_ready()
                self._times.arrived = arrivals.send(self._client, self._pods, rate)
            for watch in (bound, events):
                self._wait_for(watch)
            self._times.ended = time.time()
            self._note_usage()
            self._peak_memory_mib = process_usage.peak_memory_mib(self._scheduler.pid)

    def _begin(self) -> None:
        if not self._times.usage:
            self._note_usage()

    def _begin_preempting(self) -> None:
        """Begin with the first victim; the probe that arriving pods wait for is none."""
        if not self._scene.case.arrivals_per_second:
            self._times.began = time.time()
            self._begin()

    def _wait_ready(self) -> None:
        """Return when the scheduler has bound a pod that does not count."""
        namespace = workloads.INITIAL_NAMESPACE
        probe = manifests.pod(_PROBE, scheduler_name=schedulers.SCHEDULER_NAME)
        self._client.create_pods(namespace, [probe])
        self._scheduler.wait_until(
            lambda: bool(self._client.pod(namespace, _PROBE)["spec"].get("nodeName")),
            time_limit_seconds=_READY_LIMIT_SECONDS,
        )
        self._client.delete(f"/api/v1/namespaces/{namespace}/pods/{_PROBE}")

    def _wait_for(self, watch: watching.Watch) -> None:
        """Return when all lines that are expected have come, or none for a while."""
        seen, since = 0, time.monotonic()
        while len(watch) < self._expected:
            if not self._scheduler.is_running():
                raise BenchmarkError(f"the scheduler has ended\n{self._scheduler.log_tail()}")
            if len(watch) != seen:
                seen, since = len(watch), time.monotonic()
            elif time.monotonic() - since > _STALL_LIMIT_SECONDS:
                return
            time.sleep(_POLL_SECONDS)

    def _note_usage(self) -> None:
        plane = self._scene.plane
        servers = (plane.api_server.pid, plane.etcd.pid)
        self._times.usage.append(process_usage.Usage.now(self._scheduler.pid, servers))
        self._times.churn_turns.append(self._churning.turns)

    def _measurement(self, name: str, repeat: int) -> measurements.Measurement:
        cluster = cluster_state.Cluster.read(self._client)
        bound_at = self._bound_at(name, cluster)
        if len(bound_at) < 2:
            raise BenchmarkError(
                f"{name} bound {len(bound_at)} pods; it takes two to time anything"
            )
        times, (begin, end) = self._times, self._times.usage
        first, last = min(bound_at.values()), max(bound_at.values())
        seconds = last - min(first, times.began)
        if seconds <= 0:
            raise BenchmarkError(f"{name} bound all pods at once; more are needed to time it")
        return measurements.Measurement(
            case=self._scene.case,
            scheduler=name,
            repeat=repeat,
            bound=len(bound_at),
            start_seconds=min(first, times.began) - times.started,
            bind_seconds=seconds,
            pods_per_second=(len(bound_at) - 1) / seconds,
            events_behind_seconds=times.ended - last,
            cpu_seconds=end.scheduler - begin.scheduler,
            server_cpu_seconds=end.servers - begin.servers,
            total_cpu_seconds=end.scheduler,
            peak_memory_mib=self._peak_memory_mib,
            others_share=end.others_share(begin),
            stolen_share=end.stolen_share(begin),
            ended_at=times.ended,
            arrived_per_second=times.arrived.per_second,
            latency=latency(bound_at, times),
            quality=quality.judge(cluster, workloads.NAMESPACE, _pending(cluster)),
            machine=machine.told(),
            origin=self._origin,
            churn_turns=times.churn_turns[-1] - times.churn_turns[0],
            sent_late_p99_ms=times.arrived.late_p99_ms,
        )

    def _bound_at(self, name: str, cluster: cluster_state.Cluster) -> dict[str, float]:
        """Return when each pod was bound.

        Raises:
            BenchmarkError: one that fits is not bound, or one is bound that no event tells of.
        """
        own = [one for one in cluster.pods if one["metadata"]["namespace"] == workloads.NAMESPACE]
        bound = {one["metadata"]["name"] for one in own if cluster_state.node_name(one)}
        told = self._scheduled_times()
        problem = unfinished(self._expected, bound, told, _message(own))
        if problem:
            raise BenchmarkError(f"{name} {problem}\n{self._scheduler.log_tail()}")
        return {pod: told[pod] for pod in bound}

    def _scheduled_times(self) -> dict[str, float]:
        """Return when each pod was bound, in seconds since the epoch, from its `Scheduled` event.

        Both schedulers take the time right after the server has accepted a binding, from the same
        clock. What a watch shows would come late: a loaded API server lets its watchers wait.
        """
        return {
            event["regarding"]["name"]: datetime.datetime.fromisoformat(
                event["eventTime"]
            ).timestamp()
            for event in self._client.items(_EVENTS, **_SCHEDULED)
        }


def _pending(cluster: cluster_state.Cluster) -> list[str]:
    """Return the keys of pods without a node; that enough have one is known already."""
    return [cluster_state.key(pod) for pod in cluster.pods if not cluster_state.node_name(pod)]


def _message(pods: Sequence[Mapping[str, Any]]) -> str:
    """Return why the first pod without a node has none, as its condition says."""
    for pod in pods:
        for condition in (pod.get("status") or {}).get("conditions") or []:
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                return str(condition.get("message", ""))
    return "no condition says why"


def unfinished(expected: int, bound: set[str], told: Mapping[str, float], why: str) -> str:
    """Return what is missing after the wait, or "".

    Args:
        expected: how many pods there is a node for.
        bound: names of the pods that have one.
        told: by pod, those that a `Scheduled` event tells of.
        why: what the condition of a pod without a node says.
    """
    if len(bound) < expected:
        return f"bound {len(bound):,} of {expected:,} pods; {why}"
    missing = len(bound - set(told))
    if missing:
        return (
            f"bound {len(bound):,} pods, but {missing:,} of the events that tell of them are "
            f"missing after {_STALL_LIMIT_SECONDS:.0f} s; one event a pod is what is compared "
            "(policysched drops events while QUEUE_LIMIT of its event_recorder.py wait)"
        )
    return ""


def latency(bound_at: Mapping[str, float], times: Times) -> measurements.Latency:
    """Return how long pods waited from when they were due, or from the scheduler's start.

    Args:
        bound_at: seconds since the epoch, by pod; two pods at least.
        times: of the run.
    """
    waits = [
        1000 * (at - times.arrived.due.get(name, times.started)) for name, at in bound_at.items()
    ]
    quantiles = statistics.quantiles(waits, n=100, method="inclusive")
    return measurements.Latency(quantiles[49], quantiles[89], quantiles[98], max(waits))


def _delete_all(client: api_client.ApiClient, collection: str) -> None:
    """Delete the objects of a collection, some at a time, as one request has a time limit."""
    query = {"gracePeriodSeconds": "0", "limit": str(_DELETED_AT_ONCE)}
    while client.get(collection, limit="1")["items"]:
        client.raw("DELETE", collection, query=query)


def play(
    scene: Scene, name: str, repeat: int, folder: pathlib.Path, options: schedulers.Options
) -> measurements.Measurement:
    """Run a scheduler once on a scene that is then as it was.

    Raises:
        BenchmarkError: it has ended, or has not bound all pods that fit.
        workload_files.FileError: files of policysched were changed meanwhile.
    """
    scene.restore()
    scheduler = schedulers.prepare(name, scene.plane, folder, options)
    try:
        made_with = origins.origin(scene.workload, name, options)
        made = Turn(scene, scheduler, made_with).run(name, repeat)
        origins.check_unchanged(options)
        return made
    finally:
        scene.empty()


def namespaces() -> Sequence[str]:
    """Return the namespaces that a scene needs."""
    return workloads.NAMESPACE, workloads.INITIAL_NAMESPACE, churn.NAMESPACE
