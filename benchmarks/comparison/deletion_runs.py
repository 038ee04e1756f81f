"""One run of one scheduler while pods of a full cluster are deleted in rounds."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import pathlib
import random
import ssl
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Any

import urllib3
from prometheus_client import parser

from benchmarks.comparison import schedulers
from benchmarks.process import process_usage
from tests.realcluster import control_plane, kube_scheduler, manifests, process

NAMESPACE = "deletions"
PODS_PER_NODE = 4
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
_REQUESTS = {"cpu": "1"}
_LIMIT_SECONDS = 120.0
_QUIET_SECONDS = 1.0
_POLL_SECONDS = 0.1
_WORKERS = 16
_ATTEMPTS = "scheduler_schedule_attempts_total"
_INCOMING = "scheduler_queue_incoming_pods_total"


@dataclasses.dataclass(frozen=True)
class Case:
    """The size of a run.

    Attributes:
        nodes: number of nodes, each with room for PODS_PER_NODE pods.
        waiting: pods that wait at the beginning of each round.
        deletions: pods that are deleted in each round.
        seconds: time in which they are deleted.
        rounds: number of rounds.
    """

    nodes: int
    waiting: int
    deletions: int
    seconds: float
    rounds: int


@dataclasses.dataclass(frozen=True)
class Counts:
    """The metrics of a scheduler at a moment.

    Attributes:
        attempts: by result.
        moves: pods that entered a queue, by (queue, event).
    """

    attempts: Counter[str]
    moves: Counter[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The figures of a run; counts are sums over its rounds.

    Attributes:
        scheduler: its name.
        attempts, failed: attempts, and those among them that bound no pod.
        moves: pods that entered a queue, by (queue, event).
        cpu_seconds: of the scheduler during the rounds.
        fit_seconds: per round, from the first deletion until the last pod was bound.
        waits_seconds: per bound pod, in order of time, since the deletion of the same rank.
        others_share: share of the machine's CPU time that other processes used during the rounds.
    """

    scheduler: str
    attempts: int
    failed: int
    moves: Counter[tuple[str, str]]
    cpu_seconds: float
    fit_seconds: list[float]
    waits_seconds: list[float]
    others_share: float


class Server:
    """A scheduler as a process, and its page of metrics."""

    def __init__(
        self,
        name: str,
        plane: control_plane.ControlPlane,
        folder: pathlib.Path,
        base: pathlib.Path | None,
    ) -> None:
        """Prepare the scheduler; it is not started yet."""
        port = process.free_port()
        folder.mkdir(parents=True)
        if name == schedulers.KUBE_SCHEDULER:
            flags = (
                f"--secure-port={port}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={folder / 'certificates'}",
                "--authorization-always-allow-paths=/metrics",
            )
            self.process = kube_scheduler.KubeScheduler(plane, folder, flags=flags).process
            self._pool: urllib3.HTTPConnectionPool = _make_https_pool(port)
        else:
            address = f"127.0.0.1:{port}"
            settings = schedulers.Options(("--metrics-address", address), base=base)
            self.process = schedulers.prepare(name, plane, folder, settings)
            self._pool = urllib3.HTTPConnectionPool("127.0.0.1", port, retries=False)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Start the scheduler, and kill it at the end."""
        self.process.start()
        try:
            self.process.wait_until(self._answers, time_limit_seconds=_LIMIT_SECONDS)
            yield
        finally:
            self.process.kill()
            self._pool.close()

    def _answers(self) -> bool:
        try:
            return self._pool.request("GET", "/metrics").status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def read_counts(self) -> Counts:
        """Return the counts from the page of metrics."""
        page = self._pool.request("GET", "/metrics").data.decode()
        counts = Counts(Counter(), Counter())
        for family in parser.text_string_to_metric_families(page):
            for sample in family.samples:
                if sample.name == _ATTEMPTS:
                    counts.attempts[sample.labels["result"]] += round(sample.value)
                elif sample.name == _INCOMING:
                    key = (sample.labels["queue"], sample.labels["event"])
                    counts.moves[key] += round(sample.value)
        return counts

    def wait_quiet(self) -> Counts:
        """Return the counts once no attempt has been made for _QUIET_SECONDS."""
        seen, since = self.read_counts(), time.monotonic()
        while time.monotonic() - since < _QUIET_SECONDS:
            time.sleep(_POLL_SECONDS)
            counts = self.read_counts()
            if counts.attempts != seen.attempts:
                seen, since = counts, time.monotonic()
        return seen


def _make_https_pool(port: int) -> urllib3.HTTPSConnectionPool:
    """Return a pool for a server with its own certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    return urllib3.HTTPSConnectionPool(
        "127.0.0.1", port, ssl_context=context, retries=False, assert_hostname=False
    )


class _Rounds:
    """The rounds of a run.

    Attributes:
        attempts, moves: counted during the rounds; see Counts.
        usages: CPU time before and after each round.
        fit_seconds, waits_seconds: see Measurement.
    """

    def __init__(self, plane: control_plane.ControlPlane, server: Server, case: Case) -> None:
        """Prepare the rounds."""
        self._plane = plane
        self._client = plane.client
        self._server = server
        self._case = case
        self._random = random.Random(1)
        self._created = 0
        self.attempts: Counter[str] = Counter()
        self.moves: Counter[tuple[str, str]] = Counter()
        self.usages: list[tuple[process_usage.Usage, process_usage.Usage]] = []
        self.fit_seconds: list[float] = []
        self.waits_seconds: list[float] = []

    def run(self) -> None:
        """Run all rounds."""
        self._add_waiting_pods(self._case.waiting)
        for _ in range(self._case.rounds):
            before = self._wait_until_rejected()
            usage = self._read_usage()
            bound_before = set(self._read_bound_times())
            deleted = self._delete_pods()
            bound = self._wait_until_bound(bound_before)
            after = self._server.wait_quiet()
            self.usages.append((usage, self._read_usage()))
            self.attempts += after.attempts - before.attempts
            self.moves += after.moves - before.moves
            self.fit_seconds.append(bound[-1] - deleted[0])
            self.waits_seconds += [b - d for d, b in zip(deleted, bound, strict=True)]
            self._add_waiting_pods(len(bound))

    def _read_usage(self) -> process_usage.Usage:
        servers = (self._plane.api_server.pid, self._plane.etcd.pid)
        return process_usage.Usage.now(self._server.process.pid, servers)

    def _add_waiting_pods(self, count: int) -> None:
        numbers = range(self._created, self._created + count)
        self._created += count
        pods = [manifests.pod(f"waits-{n}", requests=_REQUESTS) for n in numbers]
        self._client.create_pods(NAMESPACE, pods)

    def _wait_until_rejected(self) -> Counts:
        """Wait until each waiting pod was tried, and return the counts after the last attempt."""
        self._server.process.wait_until(
            lambda: all(
                pod["spec"].get("nodeName") or pod["status"].get("conditions")
                for pod in self._client.pods(NAMESPACE)
            ),
            time_limit_seconds=_LIMIT_SECONDS,
        )
        return self._server.wait_quiet()

    def _delete_pods(self) -> list[float]:
        """Delete running pods at an even rate, and return when, in seconds since the epoch."""
        running = [
            pod["metadata"]["name"]
            for pod in self._client.pods(NAMESPACE)
            if pod["spec"].get("nodeName")
        ]
        chosen = self._random.sample(sorted(running), self._case.deletions)
        began, sent = time.monotonic(), []
        with futures.ThreadPoolExecutor(_WORKERS) as pool:
            for number, name in enumerate(chosen):
                due = began + number * self._case.seconds / len(chosen)
                time.sleep(max(0.0, due - time.monotonic()))
                sent.append(time.time())
                pool.submit(self._client.delete, f"{_PODS}/{name}")
        return sent

    def _wait_until_bound(self, before: set[str]) -> list[float]:
        """Wait until as many pods as were deleted are bound; return when each was, in order."""
        self._server.process.wait_until(
            lambda: len(self._read_bound_times().keys() - before) >= self._case.deletions,
            time_limit_seconds=_LIMIT_SECONDS,
        )
        bound = self._read_bound_times()
        return sorted(bound[name] for name in bound.keys() - before)

    def _read_bound_times(self) -> dict[str, float]:
        """Return when each pod was bound, in seconds since the epoch, from its event."""
        return {
            event["regarding"]["name"]: datetime.datetime.fromisoformat(
                event["eventTime"]
            ).timestamp()
            for event in self._client.items(_EVENTS, fieldSelector="reason=Scheduled")
        }


def run(
    name: str,
    case: Case,
    plane: control_plane.ControlPlane,
    folder: pathlib.Path,
    base: pathlib.Path | None,
) -> Measurement:
    """Run a scheduler on a full cluster, and clear the cluster afterwards."""
    client = plane.client
    try:
        client.create_nodes(_make_nodes(case))
        client.create_pods(NAMESPACE, _make_running_pods(case))
        server = Server(name, plane, folder, base)
        rounds = _Rounds(plane, server, case)
        with server.running():
            rounds.run()
    finally:
        plane.clear()
    attempts = rounds.attempts
    return Measurement(
        name,
        attempts.total(),
        attempts.total() - attempts["scheduled"],
        rounds.moves,
        sum(end.scheduler - begin.scheduler for begin, end in rounds.usages),
        rounds.fit_seconds,
        rounds.waits_seconds,
        statistics.mean(end.others_share(begin) for begin, end in rounds.usages),
    )


def _make_nodes(case: Case) -> list[dict[str, Any]]:
    resources = {"cpu": str(PODS_PER_NODE)}
    return [manifests.node(f"node-{n}", resources=resources) for n in range(case.nodes)]


def _make_running_pods(case: Case) -> Sequence[dict[str, Any]]:
    return [
        manifests.pod(f"runs-{n}", requests=_REQUESTS, spec={"nodeName": f"node-{n % case.nodes}"})
        for n in range(case.nodes * PODS_PER_NODE)
    ]
