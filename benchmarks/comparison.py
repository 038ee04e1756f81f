"""One backlog after another on one real API server: who binds it how fast, at what cost."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks import process_usage, profiles, schedulers, workload_files
from tests.realcluster import api_client, control_plane, process, watching

_POLL_SECONDS = 0.02
_STALL_LIMIT_SECONDS = 60.0
_STOP_LIMIT_SECONDS = 30.0
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{workload_files.NAMESPACE}/events"


class BenchmarkError(Exception):
    """A scheduler did not bind all pods; the text has the end of its log."""


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured: a workload at a size."""

    workload: str
    nodes: int
    pods: int


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One run of one scheduler.

    Attributes:
        case, scheduler: what ran.
        repeat: which turn it was, from 0.
        start_seconds: from the start of the process to the first binding.
        bind_seconds: from the first to the last binding.
        pods_per_second: bindings a second between the first and the last.
        events_behind_seconds: from the last binding until the last event was written.
        cpu_seconds: of the scheduler between the first binding and the last event.
        server_cpu_seconds: of kube-apiserver and etcd in the same time.
        total_cpu_seconds: of the scheduler since its start.
        peak_memory_mib: of the scheduler since its start.
    """

    case: Case
    scheduler: str
    repeat: int
    start_seconds: float
    bind_seconds: float
    pods_per_second: float
    events_behind_seconds: float
    cpu_seconds: float
    server_cpu_seconds: float
    total_cpu_seconds: float
    peak_memory_mib: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is compared.

    Attributes:
        cases: in this order.
        names: the schedulers; the order alternates from repeat to repeat.
        repeats: how often each case is run by each scheduler.
        options: for policysched.
    """

    cases: Sequence[Case]
    names: Sequence[str] = schedulers.NAMES
    repeats: int = 3
    options: schedulers.Options = dataclasses.field(default_factory=schedulers.Options)


def run(
    plan: Plan, folder: pathlib.Path, note: Callable[[str], None] = lambda _: None
) -> Iterator[Measurement]:
    """Give the measurements as they are made; `note` gets a line of progress now and then.

    Raises:
        BenchmarkError: a scheduler did not bind all pods.
    """
    with control_plane.ControlPlane(
        folder / "control-plane", flags=control_plane.THROUGHPUT_FLAGS
    ) as plane:
        plane.client.create_namespace(workload_files.NAMESPACE)
        for case in plan.cases:
            workload = workload_files.load(case.workload)
            plane.client.create_nodes(workload.nodes(case.nodes))
            note(f"{case.nodes} nodes for {case.workload}")
            for repeat in range(plan.repeats):
                turn = plan.names if repeat % 2 == 0 else plan.names[::-1]
                for name in turn:
                    run_folder = folder / f"{case.workload}-{case.nodes}-{repeat}-{name}"
                    scheduler = schedulers.prepare(name, plane, run_folder, plan.options)
                    _create_pods(plane.client, workload, case.pods)
                    made = _measure(plane, case, name, repeat, scheduler)
                    profile = run_folder / schedulers.PROFILE
                    if profile.exists():
                        note(profiles.tables(profile, case.pods, made.total_cpu_seconds))
                    yield made
                    _delete_pods(plane.client)
            plane.clear()


def _measure(
    plane: control_plane.ControlPlane,
    case: Case,
    name: str,
    repeat: int,
    scheduler: process.ServerProcess,
) -> Measurement:
    """Start a scheduler on a backlog that lies ready and watch it until all events are written."""
    client = plane.client
    servers = (plane.api_server.pid, plane.etcd.pid)
    at_first: list[tuple[float, float]] = []
    started = time.time()
    with (
        watching.Watch(
            client,
            "/api/v1/pods",
            query=watching.BOUND_PODS,
            on_first=lambda: at_first.append(_cpu_seconds(scheduler.pid, servers)),
        ) as bound,
        watching.Watch(client, _EVENTS) as events,
    ):
        scheduler.start()
        try:
            for watch in (bound, events):
                _wait_for(watch, case.pods, scheduler)
            ended = time.time()
            cpu_seconds, server_cpu_seconds = _cpu_seconds(scheduler.pid, servers)
            peak_memory_mib = process_usage.peak_memory_mib(scheduler.pid)
            scheduler.signal(signal.SIGTERM)
            scheduler.wait(_STOP_LIMIT_SECONDS)
        finally:
            scheduler.kill()
    times = sorted(_scheduled_times(client))
    if len(times) < case.pods:
        text = f"{name} bound {len(bound)} of {case.pods} pods and wrote {len(times)} events"
        raise BenchmarkError(f"{text}\n{scheduler.log_tail()}")
    first, last = times[0], times[-1]
    return Measurement(
        case,
        name,
        repeat,
        start_seconds=first - started,
        bind_seconds=last - first,
        pods_per_second=(case.pods - 1) / (last - first),
        events_behind_seconds=ended - last,
        cpu_seconds=cpu_seconds - at_first[0][0],
        server_cpu_seconds=server_cpu_seconds - at_first[0][1],
        total_cpu_seconds=cpu_seconds,
        peak_memory_mib=peak_memory_mib,
    )


def _wait_for(watch: watching.Watch, count: int, scheduler: process.ServerProcess) -> None:
    """Return when `count` lines have come, or none for a while.

    Raises:
        BenchmarkError: the scheduler has ended.
    """
    seen, since = 0, time.monotonic()
    while len(watch) < count:
        if not scheduler.is_running():
            raise BenchmarkError(f"{scheduler.name} has ended\n{scheduler.log_tail()}")
        if len(watch) != seen:
            seen, since = len(watch), time.monotonic()
        elif time.monotonic() - since > _STALL_LIMIT_SECONDS:
            return
        time.sleep(_POLL_SECONDS)


def _cpu_seconds(scheduler: int, servers: Sequence[int]) -> tuple[float, float]:
    """Return the CPU time of a scheduler so far, and that of the servers together."""
    used = [process_usage.cpu_seconds(pid) for pid in (scheduler, *servers)]
    return used[0], sum(used[1:])


def _scheduled_times(client: api_client.ApiClient) -> list[float]:
    """Return when each pod was bound, in seconds since the epoch, from its `Scheduled` event.

    Both schedulers take the time right after the server has accepted a binding, from the same
    clock. What a watch shows would come late: a loaded API server lets its watchers wait.
    """
    return [
        datetime.datetime.fromisoformat(event["eventTime"]).timestamp()
        for event in client.items(_EVENTS)
        if event["reason"] == "Scheduled"
    ]


def _create_pods(
    client: api_client.ApiClient, workload: workload_files.Workload, count: int
) -> None:
    pods = workload.pods(count, schedulers.SCHEDULER_NAME)
    client.create_pods(workload_files.NAMESPACE, pods)


def _delete_pods(client: api_client.ApiClient) -> None:
    for kind in ("pods", "events"):
        client.delete(f"/api/v1/namespaces/{workload_files.NAMESPACE}/{kind}")
