"""What a pod asks of a node, in the integers that scheduling compares.

Sources: component-helpers `resource/helpers.go` (PodRequests, AggregateContainerRequests),
`pkg/scheduler/framework/types.go` (CalculateResource), KEP-753 for restartable init containers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from policysched import quantity
from policysched.cluster import objects

CPU = "cpu"
MEMORY = "memory"
DEFAULT_CPU_MILLI = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024
"""What a container without a request counts for in scores (`util/pod_resources.go`)."""

_POD_LEVEL_RESOURCES = (CPU, MEMORY)
_HUGEPAGES_PREFIX = "hugepages-"


@dataclasses.dataclass(frozen=True, slots=True)
class Requests:
    """A pod's requests.

    `amounts` maps a resource name to an int64: milli-CPU for cpu, whole units (bytes, pieces) for
    all others. The non-zero pair counts containers without a request at their default.
    """

    amounts: Mapping[str, int]
    nonzero_cpu_milli: int
    nonzero_memory_bytes: int


def amount(resource: str, text: objects.Quantity) -> int:
    """Return a quantity of `resource` as int64: milli-CPU for cpu, else whole units."""
    return quantity.milli_value(text) if resource == CPU else quantity.value(text)


def pod_requests(pod: objects.Pod) -> Requests:
    """Return what the pod requests: containers, init containers, pod level and overhead."""
    pod_level = _pod_level(pod)
    amounts = _sum_with_overhead(pod, {}, pod_level)
    defaults = {CPU: DEFAULT_CPU_MILLI, MEMORY: DEFAULT_MEMORY_BYTES}
    if pod_level:
        defaults = {r: v for r, v in defaults.items() if r not in amounts}
    nonzero = _sum_with_overhead(pod, defaults, pod_level) if defaults else amounts
    return Requests(amounts, nonzero.get(CPU, 0), nonzero.get(MEMORY, 0))


def _sum_with_overhead(
    pod: objects.Pod, defaults: Mapping[str, int], pod_level: Mapping[str, int]
) -> dict[str, int]:
    total = _containers(pod, defaults)
    total.update(pod_level)
    _add(total, _amounts(pod.spec.overhead))
    return total


def _containers(pod: objects.Pod, defaults: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        _add(total, dict(defaults) | _amounts(container.resources.requests))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in pod.spec.init_containers:
        wanted = dict(defaults) | _amounts(container.resources.requests)
        if container.restart_policy == "Always":
            _add(total, wanted)
            _add(sidecars, wanted)
            _raise_to(peak, sidecars)
        else:
            _raise_to(peak, _sum((sidecars, wanted)))
    _raise_to(total, peak)
    return total


def _pod_level(pod: objects.Pod) -> dict[str, int]:
    if pod.spec.resources is None:
        return {}
    wanted = _amounts(pod.spec.resources.requests)
    return {
        r: v
        for r, v in wanted.items()
        if r in _POD_LEVEL_RESOURCES or r.startswith(_HUGEPAGES_PREFIX)
    }


def _amounts(resources: objects.ResourceList) -> dict[str, int]:
    return {name: amount(name, text) for name, text in resources.items()}


def _sum(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        _add(total, part)
    return total


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: dict[str, int], floor: Mapping[str, int]) -> None:
    for name, value in floor.items():
        total[name] = max(total.get(name, 0), value)
