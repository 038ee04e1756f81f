"""policysched's scheduling cycle on a workload, in process: no API server, no I/O, one thread.

Every pod passes through the real loop from the queue to its node: pop, snapshot, filter, score, the
record of the decision, assume, reserve, permit. For a pod that fits nowhere, preemption runs and
may nominate a node; victims are not removed.
"""

from __future__ import annotations

import dataclasses
import gc
import random
import time
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from benchmarks import workload_files
from policysched import clock as clocks
from policysched import process
from policysched.cluster import cache as caches
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, profile, queued_pod, runtime, waiting_pods
from policysched.profiles import policies
from policysched.queue import scheduling_queue
from policysched.scheduler import decisions, failure, measurements, scheduling_cycle

NAME = "policysched"
_DECISION_LOG_SIZE = 1000
_HIGH_PRIORITY = 1000


@dataclasses.dataclass(frozen=True)
class Setting:
    """A workload at a size, under a profile of policy files.

    Attributes:
        is_different: whether every pod gets a unique label, so that no two pods are equal.
    """

    workload: str
    nodes: int
    pods: int
    policies: Sequence[str] = ()
    profile: str = NAME
    is_different: bool = False


@dataclasses.dataclass(frozen=True)
class Manifests:
    """A cluster and its backlog, as objects of the API server."""

    nodes: list[dict[str, Any]]
    initial_pods: list[dict[str, Any]]
    pods: list[dict[str, Any]]


def make_manifests(setting: Setting) -> Manifests:
    """Return the objects of a setting."""
    workload = workload_files.load(setting.workload)
    pods = workload.pods(setting.pods, setting.profile)
    if setting.is_different:
        for number, pod in enumerate(pods):
            pod["metadata"].setdefault("labels", {})["number"] = str(number)
    running = workload.initial_pods(setting.nodes, setting.profile)
    return Manifests(
        workload.nodes(setting.nodes),
        [_add_server_fields(pod, workload_files.INITIAL_NAMESPACE) for pod in running],
        [_add_server_fields(pod, workload_files.NAMESPACE) for pod in pods],
    )


def _add_server_fields(pod: dict[str, Any], namespace: str) -> dict[str, Any]:
    """Return a pod with the fields that the API server and its admission add."""
    spec = pod["spec"]
    if "priorityClassName" in spec:
        spec = {**spec, "priority": _HIGH_PRIORITY}
    name = pod["metadata"]["name"]
    added = {"namespace": namespace, "uid": f"{namespace}/{name}"}
    return {**pod, "metadata": pod["metadata"] | added, "spec": spec}


class _Failures:
    """Nominates the node on which preemption can make room, and drops the pod."""

    def __init__(self, queue: scheduling_queue.SchedulingQueue) -> None:
        self._queue = queue

    def requeue_and_report_pod(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        failed: failure.AttemptFailure,
        decision: decisions.SchedulingDecision,
    ) -> None:
        del prof, decision
        if failed.nominated_node_name:
            self._queue.nominator.nominate(queued.info, failed.nominated_node_name)
        self._queue.done(queued.uid)


@dataclasses.dataclass(frozen=True)
class Timed:
    """The result of placing a backlog; CPU seconds are of the whole process."""

    placed: int
    seconds: float
    cpu_seconds: float


class Run:
    """A cluster and its backlog, ready to be scheduled once."""

    def __init__(self, setting: Setting, manifests: Manifests | None = None) -> None:
        """Build everything up to the first cycle, from given objects or new ones."""
        manifests = manifests or make_manifests(setting)
        clock = clocks.SystemClock()
        self.cache = caches.Cache(clock)
        policy_set = policies.load_policy_set(setting.policies, {}, NAME)
        handle = handles.Handle(
            handles.NoBinder(),
            self.cache.owners,
            storage=self.cache.storage,
            budgets=self.cache.budgets,
            rng=random.Random(2),
        )
        profiles = policies.require_profiles(policies.make_profiles(policy_set, handle))
        self.framework = runtime.Framework(profiles.by_name[setting.profile], random.Random(1))
        self.framework.measure_by(clock.monotonic_seconds)
        self._queue = scheduling_queue.SchedulingQueue(
            {setting.profile: self.framework}, clock, nominator=self.cache.nominated
        )
        log = decisions.DecisionLog(_DECISION_LOG_SIZE, clock, measurements.SchedulingHistograms())
        failures = cast("failure.FailureHandler", _Failures(self._queue))
        waiting = waiting_pods.WaitingPods(clock)
        self._cycle = scheduling_cycle.SchedulingCycle(
            self.cache, self._queue, waiting, failures, log, clock
        )
        self._fill(manifests, pod_shape.PodShapeCache(profiles.annotation_keys))

    def _fill(self, manifests: Manifests, shapes: pod_shape.PodShapeCache) -> None:
        for node in manifests.nodes:
            self.cache.set_node(msgspec.convert(node, objects.Node))
        self.cache.add_pods(
            shapes.make_pod_info(msgspec.convert(pod, objects.Pod))
            for pod in manifests.initial_pods
        )
        for pod in manifests.pods:
            self._queue.add(shapes.make_pod_info(msgspec.convert(pod, objects.Pod)))

    def schedule(self) -> int:
        """Decide all pods one after the other; return how many found a node."""
        placed = 0
        while (is_placed := self.schedule_next()) is not None:
            placed += is_placed
        return placed

    def schedule_next(self) -> bool | None:
        """Decide one pod; return whether it found a node, None if no pod is left."""
        queued = self._queue.pop()
        return None if queued is None else self._cycle.run(self.framework, queued) is not None

    def measure(self) -> Timed:
        """Schedule and time all pods, with Python's garbage collector configured as in `run`."""
        gc.unfreeze()
        process.exempt_objects_from_gc()
        cpu_seconds, seconds = time.process_time(), time.perf_counter()
        placed = self.schedule()
        return Timed(placed, time.perf_counter() - seconds, time.process_time() - cpu_seconds)
