"""One run of one scheduler, with a backlog or with pods that arrive."""

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

from benchmarks import workload_devices
from benchmarks import workload_files as workloads
from benchmarks.comparison import arrivals, churn, quality, schedulers
from benchmarks.process import machine, process_usage
from benchmarks.records import measurements, origins
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
_CLAIMS = f"{workload_devices.API}/namespaces/{workloads.NAMESPACE}/resourceclaims"
CLAIM_TEMPLATES = f"{_CLAIMS[:-1]}templates"
"""The path of the templates of claims of the measured pods."""
_SCHEDULED = {"fieldSelector": "reason=Scheduled"}
_PROBE = "probe"


class BenchmarkError(Exception):
    """A scheduler did not bind all pods; the text contains the end of its log."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """A control plane with the nodes of a case, on which schedulers run in turn."""

    plane: control_plane.ControlPlane
    case: measurements.Case
    workload: workloads.Workload

    @property
    def client(self) -> api_client.ApiClient:
        """The client of the administrator."""
        return self.plane.client

    def restore(self) -> None:
        """Create the missing initial pods: all of them, or those that were preempted."""
        namespace = workloads.INITIAL_NAMESPACE
        existing = {pod["metadata"]["name"] for pod in self.client.pods(namespace)}
        pods = self.workload.initial_pods(self.case.nodes, schedulers.SCHEDULER_NAME)
        missing = [pod for pod in pods if pod["metadata"]["name"] not in existing]
        self.client.create_pods(namespace, missing)

    def clear(self) -> None:
        """Delete the measured pods, and the events of all pods."""
        _delete_all(self.client, _PODS)
        self._delete_claims()
        for namespace in (workloads.NAMESPACE, workloads.INITIAL_NAMESPACE, churn.NAMESPACE):
            _delete_all(self.client, f"/api/v1/namespaces/{namespace}/events")

    def _delete_claims(self) -> None:
        """Delete the claims, and remove their finalizers if no controller does."""
        if self.workload.devices is None:
            return
        if not self.workload.claim_templates():
            for claim in self.client.items(_CLAIMS):
                path = f"{_CLAIMS}/{claim['metadata']['name']}"
                self.client.patch(path, {"metadata": {"finalizers": None}})
        _delete_all(self.client, _CLAIMS)


@dataclasses.dataclass
class Times:
    """Moments of a run, in seconds since the epoch.

    Attributes:
        started: start of the scheduler's process.
        began: deletion of the first victim of preemption; infinite without victims.
        ended: when the last event was seen.
        arrived: the times of arriving pods.
        usage: at the first binding or preemption, and at the last event.
        churn_turns: numbers of churn cycles until the same moments.
    """

    started: float = 0.0
    began: float = math.inf
    ended: float = 0.0
    arrived: arrivals.Arrived = dataclasses.field(default_factory=arrivals.Arrived)
    usage: list[process_usage.Usage] = dataclasses.field(default_factory=list)
    churn_turns: list[int] = dataclasses.field(default_factory=list)


class Turn:
    """One run of a scheduler on a scene."""

    def __init__(
        self, scene: Scene, scheduler: process.ServerProcess, origin: measurements.Origin
    ) -> None:
        """Prepare the run; the scheduler is not started yet."""
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
        """Let the scheduler bind the pods, stop it, and return the measurement.

        Raises:
            BenchmarkError: the scheduler has ended, or has not bound all pods that fit.
        """
        self._client.create_many(_CLAIMS, self._scene.workload.claims(self._scene.case.pods))
        if not self._scene.case.arrivals_per_second:
            self._client.create_pods(workloads.NAMESPACE, self._pods)
            self._wait_for_claims()
        with (
            watching.Watch(
                self._client, _PODS, query=watching.BOUND_PODS, on_first=self._begin
            ) as bound,
            watching.Watch(
                self._client, _INITIAL_PODS, counted="DELETED", on_first=self._begin_preempting
            ),
            watching.Watch(self._client, _EVENTS, query=_SCHEDULED) as events,
            self._run_scheduler(),
        ):
            self._bind(bound, events)
        return self._make_measurement(name, repeat)

    @contextlib.contextmanager
    def _run_scheduler(self) -> Iterator[None]:
        """Start the scheduler, and stop it with SIGTERM."""
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

    def _wait_for_claims(self) -> None:
        """Wait until the resource claim controller has made the claims of the pods."""
        if not self._scene.workload.claim_templates():
            return
        limit = time.monotonic() + _STALL_LIMIT_SECONDS
        while not all(map(_has_claims, self._client.pods(workloads.NAMESPACE))):
            if time.monotonic() > limit:
                raise BenchmarkError("the resource claim controller has not made all claims")
            time.sleep(_POLL_SECONDS)

    def _begin(self) -> None:
        if not self._times.usage:
            self._note_usage()

    def _begin_preempting(self) -> None:
        """Begin with the first victim; if pods arrive, the deleted pod is the probe."""
        if not self._scene.case.arrivals_per_second:
            self._times.began = time.time()
            self._begin()

    def _wait_ready(self) -> None:
        """Wait until the scheduler has bound a probe, which does not count."""
        namespace = workloads.INITIAL_NAMESPACE
        probe = manifests.pod(_PROBE, scheduler_name=schedulers.SCHEDULER_NAME)
        self._client.create_pods(namespace, [probe])
        self._scheduler.wait_until(
            lambda: bool(self._client.pod(namespace, _PROBE)["spec"].get("nodeName")),
            time_limit_seconds=_READY_LIMIT_SECONDS,
        )
        self._client.delete(f"/api/v1/namespaces/{namespace}/pods/{_PROBE}")

    def _wait_for(self, watch: watching.Watch) -> None:
        """Wait until all expected lines have come, or none for _STALL_LIMIT_SECONDS."""
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

    def _make_measurement(self, name: str, repeat: int) -> measurements.Measurement:
        cluster = cluster_state.Cluster.read(self._client)
        bound_at = self._read_bound_times(name, cluster)
        if len(bound_at) < 2:
            raise BenchmarkError(
                f"{name} bound {len(bound_at)} pods; a duration needs at least two"
            )
        times, (begin, end) = self._times, self._times.usage
        first, last = min(bound_at.values()), max(bound_at.values())
        seconds = last - min(first, times.began)
        if seconds <= 0:
            raise BenchmarkError(f"{name} bound all pods at once; a duration needs more pods")
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
            quality=quality.judge(cluster, workloads.NAMESPACE, _list_pending(cluster)),
            machine=machine.describe(),
            origin=self._origin,
            churn_turns=times.churn_turns[-1] - times.churn_turns[0],
            sent_late_p99_ms=times.arrived.late_p99_ms,
        )

    def _read_bound_times(self, name: str, cluster: cluster_state.Cluster) -> dict[str, float]:
        """Return when each pod was bound.

        Raises:
            BenchmarkError: a pod that fits is not bound, or the event of a bound pod is missing.
        """
        own = [pod for pod in cluster.pods if pod["metadata"]["namespace"] == workloads.NAMESPACE]
        bound = {pod["metadata"]["name"] for pod in own if cluster_state.node_name(pod)}
        event_times = self._read_event_times()
        problem = describe_unfinished(self._expected, bound, event_times, _find_message(own))
        if problem:
            raise BenchmarkError(f"{name} {problem}\n{self._scheduler.log_tail()}")
        return {pod: event_times[pod] for pod in bound}

    def _read_event_times(self) -> dict[str, float]:
        """Return when each pod was bound, in seconds since the epoch, from its `Scheduled` event.

        Both schedulers read the same clock right after the server has accepted a binding. The
        times of watch events would be late: a loaded API server delays its watches.
        """
        return {
            event["regarding"]["name"]: datetime.datetime.fromisoformat(
                event["eventTime"]
            ).timestamp()
            for event in self._client.items(_EVENTS, **_SCHEDULED)
        }


def _has_claims(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod has the claims that it needs from templates."""
    needed = [
        claim["name"]
        for claim in pod["spec"].get("resourceClaims") or []
        if "resourceClaimTemplateName" in claim
    ]
    made = [claim["name"] for claim in pod["status"].get("resourceClaimStatuses") or []]
    return set(needed) <= set(made)


def _list_pending(cluster: cluster_state.Cluster) -> list[str]:
    """Return the keys of pods without a node; `describe_unfinished` has checked their number."""
    return [cluster_state.key(pod) for pod in cluster.pods if not cluster_state.node_name(pod)]


def _find_message(pods: Sequence[Mapping[str, Any]]) -> str:
    """Return the message of the first condition PodScheduled that is False."""
    for pod in pods:
        for condition in (pod.get("status") or {}).get("conditions") or []:
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                return str(condition.get("message", ""))
    return "no pod reports a reason"


def describe_unfinished(
    expected: int, bound: set[str], event_times: Mapping[str, float], why: str
) -> str:
    """Describe the pods or events that are missing after the wait; "" if none is.

    Args:
        expected: number of pods that fit.
        bound: names of the pods with a node.
        event_times: by pod, from the `Scheduled` events.
        why: message of the condition PodScheduled of a pod without a node.
    """
    if len(bound) < expected:
        return f"bound {len(bound):,} of {expected:,} pods; {why}"
    missing = len(bound - set(event_times))
    if missing:
        return (
            f"bound {len(bound):,} pods, but {missing:,} of their events are missing after "
            f"{_STALL_LIMIT_SECONDS:.0f} s; schedulers are compared with one event per pod "
            "(policysched drops events while QUEUE_LIMIT of its event_recorder.py are waiting)"
        )
    return ""


def latency(bound_at: Mapping[str, float], times: Times) -> measurements.Latency:
    """Return how long pods waited since they were due, or since the start of the scheduler.

    Args:
        bound_at: seconds since the epoch, by pod; at least two pods.
        times: of the run.
    """
    waits = [
        1000 * (at - times.arrived.due.get(name, times.started)) for name, at in bound_at.items()
    ]
    quantiles = statistics.quantiles(waits, n=100, method="inclusive")
    return measurements.Latency(quantiles[49], quantiles[89], quantiles[98], max(waits))


def _delete_all(client: api_client.ApiClient, collection: str) -> None:
    """Delete the objects of a collection in parts, because a request has a time limit."""
    query = {"gracePeriodSeconds": "0", "limit": str(_DELETED_AT_ONCE)}
    while client.get(collection, limit="1")["items"]:
        client.raw("DELETE", collection, query=query)


def run_turn(
    scene: Scene, name: str, repeat: int, folder: pathlib.Path, options: schedulers.Options
) -> measurements.Measurement:
    """Run a scheduler once, and delete the measured pods afterwards.

    Raises:
        BenchmarkError: the scheduler has ended, or has not bound all pods that fit.
        workload_files.FileError: files of policysched have changed meanwhile.
    """
    scene.restore()
    scheduler = schedulers.prepare(name, scene.plane, folder, options)
    try:
        origin = origins.origin(scene.workload, name, options)
        measurement = Turn(scene, scheduler, origin).run(name, repeat)
        origins.check_unchanged(options)
        return measurement
    finally:
        scene.clear()


def namespaces() -> Sequence[str]:
    """Return the namespaces that a scene needs."""
    return workloads.NAMESPACE, workloads.INITIAL_NAMESPACE, churn.NAMESPACE
