"""Two replicas and a steady stream of pods that fill a cluster to the last place.

There is exactly as much room as there are pods: a place that is lost leaves a pod without a node,
and a place that is given out twice leaves a node with more than it can take.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import threading
import time
from typing import TYPE_CHECKING, Self

from tests.e2e.checker import cluster_state, placement_checker
from tests.e2e.scenes import scheduler_process
from tests.realcluster import manifests, process, watching

if TYPE_CHECKING:
    import pathlib
    import types
    from collections.abc import Callable, Mapping, Sequence

    from tests.realcluster import api_client, control_plane

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
LEASE = f"{LEASES}/policysched"
LIMIT_SECONDS = 120.0
_BATCH = 10


@dataclasses.dataclass(frozen=True)
class LeaseTimes:
    """As on the command line."""

    lease_duration: str = "3s"
    renew_deadline: str = "2s"
    retry_period: str = "500ms"

    @property
    def flags(self) -> list[str]:
        """Options of `run`."""
        return [
            "--leader-elect",
            f"--leader-elect-lease-duration={self.lease_duration}",
            f"--leader-elect-renew-deadline={self.renew_deadline}",
            f"--leader-elect-retry-period={self.retry_period}",
        ]


class BindingTimes(watching.Watch):
    """When pods were bound, by the monotonic clock, as a watch sees it."""

    def __init__(self, client: api_client.ApiClient) -> None:
        super().__init__(client, "/api/v1/pods", query=watching.BOUND_PODS)
        self.seconds: list[float] = []

    def _take(self, line: bytes) -> None:
        before = self._count
        super()._take(line)
        if self._count > before:
            self.seconds.append(time.monotonic())

    def longest_pause_seconds(self) -> float:
        """Return the longest time between two bindings."""
        return max((b - a for a, b in itertools.pairwise(self.seconds)), default=0.0)


class Replicas:
    """Processes that elect a leader, each with a folder of its own."""

    def __init__(
        self,
        plane: control_plane.ControlPlane,
        folder: pathlib.Path,
        *,
        count: int = 2,
        times: LeaseTimes | None = None,
        servers: Mapping[int, str] | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Prepare; `servers` are addresses that replicas reach the API server by, by number."""
        self._client = plane.client
        self.all: list[scheduler_process.PolicyScheduler] = []
        for number in range(count):
            own = folder / f"replica-{number}"
            own.mkdir()
            made = scheduler_process.PolicyScheduler(
                plane,
                own,
                flags=[*(times or LeaseTimes()).flags, *flags],
                server=(servers or {}).get(number),
            )
            self.all.append(made)

    def __enter__(self) -> Self:
        """Start them, the first one as the leader."""
        for replica in self.all:
            self.start(replica)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        """Kill them."""
        for replica in self.all:
            replica.process.kill()

    def start(self, replica: scheduler_process.PolicyScheduler) -> None:
        """Start a replica, and return once it leads or stands by."""
        log = replica.process.log
        before = len(log.read_text(encoding="utf-8")) if log.exists() else 0
        replica.process.start()

        def is_ready() -> bool:
            news = log.read_text(encoding="utf-8")[before:]
            return "leading by the lease" in news or "standing by" in news

        replica.wait_until(is_ready, time_limit_seconds=LIMIT_SECONDS)

    def holder(self) -> str:
        """Return the identity in the lease, "" for nobody."""
        holder: str = self._client.get(LEASE)["spec"].get("holderIdentity") or ""
        return holder

    def leader(self) -> scheduler_process.PolicyScheduler:
        """Return the replica that the lease names."""
        said = f"leading by the lease kube-system/policysched as {self.holder()}"
        return next(one for one in self.all if said in one.process.log.read_text(encoding="utf-8"))

    def wait_until_led_by_another(self, former: str) -> None:
        """Return once the lease names somebody else than `former`."""
        wait_until(lambda: self.holder() not in ("", former))


class Load:
    """Pods that are created as fast as a test says, by a thread."""

    def __init__(
        self, client: api_client.ApiClient, namespace: str, prefix: str, count: int, per_second: int
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._names = [f"{prefix}-{number}" for number in range(count)]
        self._pause_seconds = _BATCH / per_second
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the end of it."""
        self._thread.join()

    def _run(self) -> None:
        for first in range(0, len(self._names), _BATCH):
            names = self._names[first : first + _BATCH]
            pods = [manifests.pod(name, scheduler_name="policysched") for name in names]
            self._client.create_pods(self._namespace, pods)
            self._is_over.wait(self._pause_seconds)


def make_nodes(client: api_client.ApiClient, count: int, pods_per_node: int) -> None:
    """Create nodes that take so many pods."""
    resources = {"pods": str(pods_per_node)}
    client.create_nodes(
        [manifests.node(f"node-{number}", resources=resources) for number in range(count)]
    )


def make_pods(client: api_client.ApiClient, namespace: str, count: int) -> None:
    """Create pods that ask for nothing but a place."""
    names = [f"pod-{number}" for number in range(count)]
    pods = [manifests.pod(name, scheduler_name="policysched") for name in names]
    client.create_pods(namespace, pods)


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once `holds()`.

    Raises:
        process.ProcessError: it did not come true in time.
    """
    deadline = time.monotonic() + LIMIT_SECONDS
    pause = threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            raise process.ProcessError(f"not within {LIMIT_SECONDS} s")
        pause.wait(0.05)


def violations(client: api_client.ApiClient) -> list[str]:
    """Return what is wrong: pods without a node, nodes with too much, pods told of two places."""
    cluster = cluster_state.Cluster.read(client)
    return [*placement_checker.violations(cluster), *_told_twice(client)]


def _told_twice(client: api_client.ApiClient) -> list[str]:
    """Return the pods that were said to be assigned more than once."""
    told = collections.Counter(
        event["regarding"].get("uid")
        for event in client.items("/apis/events.k8s.io/v1/events")
        if event["reason"] == "Scheduled"
    )
    return [f"pod {uid} was assigned {count} times" for uid, count in told.items() if count > 1]
