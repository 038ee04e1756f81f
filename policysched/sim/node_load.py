"""Generate node load as Prometheus would measure it on the nodes of the simulated pods.

Each pod uses a constant random share of its requests. A node adds the usage of the system and its
background load. As with real metrics, values lag: like a rate over a few minutes, each sample moves
only part of the way to the current load. Samples also have random noise.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from policysched import clock as clocks
from policysched.cluster.metrics import metric_table
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests

CPU_BUSY = "cpu_busy"
MEMORY_USED = "memory_used"
DISK_USED = "disk_used"
NETWORK_TRAFFIC = "network_traffic"
"""Names of the metrics that policies/load-aware.policy declares.

The first three are shares (0 to 1) of the node; the last is in bytes per second.
"""

METRICS = (CPU_BUSY, MEMORY_USED, DISK_USED, NETWORK_TRAFFIC)

Samples: TypeAlias = dict[str, dict[str, metric_table.Sample]]
"""Metric → node → sample."""

_SYSTEM_LOAD = {CPU_BUSY: 0.03, MEMORY_USED: 0.08, DISK_USED: 0.20, NETWORK_TRAFFIC: 200e3}
_USED_SHARE_OF_REQUEST = (0.5, 1.1)
_DISK_SHARE_PER_POD = (0.005, 0.03)
_BYTES_PER_SECOND_AND_CORE = (1e6, 20e6)


@dataclasses.dataclass(frozen=True, slots=True)
class _PodUse:
    """The usage of one pod; `disk_share` is a share of the node's disk."""

    cpu_milli: float
    memory_bytes: float
    disk_share: float
    bytes_per_second: float


class SimulatedNodeLoad:
    """Measures the load of all nodes of a simulated cluster.

    Attributes:
        background: node → metric → load that pods do not cause, in the unit of the metric.
    """

    def __init__(
        self,
        clock: clocks.Clock,
        rng: random.Random,
        *,
        lag_seconds: float = 30.0,
        jitter: float = 0.01,
    ) -> None:
        """Start without measurements.

        A sample covers 63 % of a change that happened `lag_seconds` ago. `jitter` is the standard
        deviation of the noise, as a share of the value.
        """
        self.background: dict[str, dict[str, float]] = {}
        self._clock = clock
        self._rng = rng
        self._lag_seconds = lag_seconds
        self._jitter = jitter
        self._uses: dict[str, _PodUse] = {}
        self._values: dict[tuple[str, str], float] = {}
        self._measured_at_seconds: float | None = None

    def measure_samples(
        self, nodes: Iterable[objects.Node], pods: Iterable[objects.Pod]
    ) -> Samples:
        """Return a new sample of every metric on every node, at the current time."""
        progress = self._compute_visible_share()
        now = self._clock.now().timestamp()
        targets = self._compute_target_load(list(nodes), pods)
        samples: Samples = {metric: {} for metric in METRICS}
        for node_name, by_metric in targets.items():
            for metric, target in by_metric.items():
                value = self._approach_target((node_name, metric), target, progress)
                measured = max(0.0, value * (1 + self._rng.gauss(0.0, self._jitter)))
                limit = math.inf if metric == NETWORK_TRAFFIC else 1.0
                samples[metric][node_name] = metric_table.Sample(min(measured, limit), now)
        return samples

    def _compute_visible_share(self) -> float:
        """Return the share of a load change that becomes visible in the next sample."""
        now_seconds = self._clock.monotonic_seconds()
        last_seconds, self._measured_at_seconds = self._measured_at_seconds, now_seconds
        if last_seconds is None or self._lag_seconds <= 0:
            return 1.0
        return 1.0 - math.exp(-(now_seconds - last_seconds) / self._lag_seconds)

    def _approach_target(self, key: tuple[str, str], target: float, progress: float) -> float:
        old = self._values.get(key, target)
        self._values[key] = old + (target - old) * progress
        return self._values[key]

    def _compute_target_load(
        self, nodes: list[objects.Node], pods: Iterable[objects.Pod]
    ) -> dict[str, dict[str, float]]:
        """Return node → metric → load that samples approach: idle load plus usage of pods."""
        targets = {node.name: self._generate_idle_load(node.name) for node in nodes}
        allocatable = {node.name: _get_cpu_and_memory(node.status.allocatable) for node in nodes}
        for pod in pods:
            node_name = pod.spec.node_name
            if node_name in targets and not pod.is_terminal:
                _add_use(targets[node_name], self._get_pod_usage(pod), *allocatable[node_name])
        return targets

    def _generate_idle_load(self, node_name: str) -> dict[str, float]:
        background: Mapping[str, float] = self.background.get(node_name, {})
        return {metric: _SYSTEM_LOAD[metric] + background.get(metric, 0.0) for metric in METRICS}

    def _get_pod_usage(self, pod: objects.Pod) -> _PodUse:
        use = self._uses.get(pod.key)
        if use is None:
            use = self._uses[pod.key] = self._generate_pod_usage(pod)
        return use

    def _generate_pod_usage(self, pod: objects.Pod) -> _PodUse:
        requests = pod_requests.compute_pod_requests(pod)
        cores = requests.nonzero_cpu_milli / 1000
        return _PodUse(
            cpu_milli=requests.nonzero_cpu_milli * self._rng.uniform(*_USED_SHARE_OF_REQUEST),
            memory_bytes=requests.nonzero_memory_bytes * self._rng.uniform(*_USED_SHARE_OF_REQUEST),
            disk_share=self._rng.uniform(*_DISK_SHARE_PER_POD),
            bytes_per_second=cores * self._rng.uniform(*_BYTES_PER_SECOND_AND_CORE),
        )


def _add_use(load: dict[str, float], use: _PodUse, cpu_milli: int, memory_bytes: int) -> None:
    load[CPU_BUSY] += use.cpu_milli / max(cpu_milli, 1)
    load[MEMORY_USED] += use.memory_bytes / max(memory_bytes, 1)
    load[DISK_USED] += use.disk_share
    load[NETWORK_TRAFFIC] += use.bytes_per_second


def _get_cpu_and_memory(allocatable: objects.ResourceList) -> tuple[int, int]:
    cpu, memory = (
        pod_requests.parse_amount(name, allocatable.get(name, 0))
        for name in (pod_requests.CPU, pod_requests.MEMORY)
    )
    return cpu, memory
