"""Simulate pods that claim GPUs; the real engine decides, without a server."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from benchmarks.partitions import gpus
from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster.pods import pod_shape
from policysched.framework import handles, runtime
from policysched.lang import source
from policysched.offline import simulating
from policysched.profiles import policies

MIX: Final = {
    gpus.GpuRequest("mig-1g"): 50,
    gpus.GpuRequest("mig-2g"): 20,
    gpus.GpuRequest("mig-3g"): 16,
    gpus.GpuRequest(gpus.WHOLE): 10,
    gpus.GpuRequest(gpus.WHOLE, 2): 3,
    gpus.GpuRequest(gpus.WHOLE, 4): 1,
}
"""Pods of 100 with each request; requests for whole GPUs are for half of all memory."""
_LOG_HOURS: Final = (-0.5, 1.0)
"""Mean and deviation of the logarithm of the hours that pods run: one hour on average."""


@dataclasses.dataclass(frozen=True)
class Arrival:
    """A pod, when it arrives, and how long it runs."""

    name: str
    request: gpus.GpuRequest
    at_hours: float
    duration_hours: float


@dataclasses.dataclass(frozen=True)
class Load:
    """How many slices of memory all pods need on average, and for how many hours pods arrive."""

    memory_slices: float
    hours: float

    def make_arrivals(self, rng: random.Random) -> Iterator[Arrival]:
        """Yield pods in the order in which they arrive."""
        mean_slices = sum(request.memory_slices * share for request, share in MIX.items()) / 100
        now = 0.0
        for number in itertools.count():
            now += rng.expovariate(self.memory_slices / mean_slices)
            if now >= self.hours:
                return
            (request,) = rng.choices(list(MIX), list(MIX.values()))
            yield Arrival(f"pod-{number}", request, now, rng.lognormvariate(*_LOG_HOURS))


class Cluster:
    """Nodes with GPUs, and the engine with one profile."""

    def __init__(self, gpus_of_nodes: Sequence[int], text: str) -> None:
        """Make a node for each number of GPUs; `text` has the policies and the profile."""
        cache = caches.Cache(clocks.SystemClock())
        for number, count in enumerate(gpus_of_nodes):
            name = f"node-{number:03}"
            cache.set_node(gpus.make_node(name, count))
            for slice_ in gpus.make_slices(name, count):
                cache.devices.slices.set(slice_)
        for device_class in gpus.make_classes():
            cache.devices.classes.set(device_class)
        profiles = policies.require_profiles(
            policies.make_profiles(
                policies.make_policy_set_from_texts([source.SourceText("p.policy", text)], {}),
                handles.Handle(owners=cache.owners, devices=cache.devices),
            )
        )
        (profile,) = profiles.by_name.values()
        self._cache = cache
        self._claims = cache.devices.claims
        self._framework = runtime.Framework(profile, random.Random(1))
        self._shapes = pod_shape.PodShapeCache(profiles.annotation_keys)
        self._simulation = simulating.SchedulingSimulation(cache, {})

    def make_pod(self, arrival: Arrival) -> pod_shape.PodInfo:
        """Create a pod and its claim."""
        self._claims.set(arrival.request.make_claim(arrival.name))
        return self._shapes.make_pod_info(arrival.request.make_pod(arrival.name))

    def place(self, pod: pod_shape.PodInfo) -> set[tuple[str, str]]:
        """Try a pod once; return the GPUs that it got, each as node and name."""
        if self._simulation.place_pod(self._framework, pod).node is None:
            return set()
        claim = self._claims.get(pod.pod.metadata.name, pod.pod.metadata.namespace)
        if claim is None or claim.allocation is None:
            raise AssertionError("a placed pod has devices")
        results = claim.allocation.devices.results
        return {(each.pool, gpus.find_gpu(each.device)) for each in results}

    def remove(self, pod: pod_shape.PodInfo) -> None:
        """Delete a pod and its claim."""
        self._cache.remove_pod(pod)
        self._claims.remove(pod.pod.metadata.name, pod.pod.metadata.namespace)


@dataclasses.dataclass(frozen=True)
class _RunningPod:
    """A pod that has devices, and the GPUs to which they belong."""

    arrival: Arrival
    pod: pod_shape.PodInfo
    gpus: set[tuple[str, str]]


class Run:
    """A simulation of some hours; it counts what happens after a warm-up.

    Attributes:
        arrived, at_once, later: number of pods that arrived, and of those that were placed at
            their first attempt and later, by their requests.
        slice_hours: allocated slices of memory, times hours.
        gpu_hours: GPUs of which anything is allocated, times hours.
        attempts: number of all attempts to place a pod.
    """

    def __init__(self, cluster: Cluster, warm_up_hours: float) -> None:
        """Start with an empty cluster."""
        self.arrived = Counter[gpus.GpuRequest]()
        self.at_once = Counter[gpus.GpuRequest]()
        self.later = Counter[gpus.GpuRequest]()
        self.slice_hours = self.gpu_hours = 0.0
        self.attempts = 0
        self._cluster = cluster
        self._warm_up_hours = self._now = warm_up_hours
        self._ends: list[tuple[float, str]] = []
        self._running: dict[str, _RunningPod] = {}
        self._waiting: list[tuple[Arrival, pod_shape.PodInfo]] = []
        self._slices = 0
        self._uses_of_gpu = Counter[tuple[str, str]]()

    def play(self, arrivals: Iterable[Arrival], hours: float) -> None:
        """Let pods arrive and end until so many hours have passed."""
        for arrival in arrivals:
            while self._ends and self._ends[0][0] <= arrival.at_hours:
                self._end_next_pod()
            self._pass_time(arrival.at_hours)
            self._let_arrive(arrival)
        while self._ends and self._ends[0][0] <= hours:
            self._end_next_pod()
        self._pass_time(hours)

    def _pass_time(self, now: float) -> None:
        if now > self._now:
            self.slice_hours += self._slices * (now - self._now)
            self.gpu_hours += len(self._uses_of_gpu) * (now - self._now)
            self._now = now

    def _let_arrive(self, arrival: Arrival) -> None:
        pod = self._cluster.make_pod(arrival)
        is_placed = self._place(arrival, pod, arrival.at_hours)
        if not is_placed:
            self._waiting.append((arrival, pod))
        if arrival.at_hours > self._warm_up_hours:
            self.arrived[arrival.request] += 1
            self.at_once[arrival.request] += is_placed

    def _end_next_pod(self) -> None:
        now, name = heapq.heappop(self._ends)
        self._pass_time(now)
        ended = self._running.pop(name)
        self._cluster.remove(ended.pod)
        self._slices -= ended.arrival.request.memory_slices
        self._uses_of_gpu -= Counter(ended.gpus)
        self._retry_waiting_pods(now)

    def _retry_waiting_pods(self, now: float) -> None:
        """Try the waiting pods in the order of their arrival, equal ones until one does not fit."""
        rejected: set[gpus.GpuRequest] = set()
        waiting, self._waiting = self._waiting, []
        for arrival, pod in waiting:
            if arrival.request in rejected or not self._place(arrival, pod, now):
                rejected.add(arrival.request)
                self._waiting.append((arrival, pod))
            elif arrival.at_hours > self._warm_up_hours:
                self.later[arrival.request] += 1

    def _place(self, arrival: Arrival, pod: pod_shape.PodInfo, now: float) -> bool:
        self.attempts += 1
        found = self._cluster.place(pod)
        if found:
            self._running[arrival.name] = _RunningPod(arrival, pod, found)
            heapq.heappush(self._ends, (now + arrival.duration_hours, arrival.name))
            self._slices += arrival.request.memory_slices
            self._uses_of_gpu.update(found)
        return bool(found)
