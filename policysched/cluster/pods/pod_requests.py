"""Compute the resource requests of a pod as integers.

Sources: component-helpers `resource/helpers.go` (PodRequests, AggregateContainerRequests),
`pkg/scheduler/framework/types.go` (CalculateResource), KEP-753 (restartable init containers),
KEP-1287 (in-place resize), KEP-2837 (pod-level resources), with the feature gates that
kube-scheduler 1.36 enables by default.

Quantities are summed in billionths, the smallest unit of Kubernetes, and the sum is rounded once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from policysched import int64, quantity
from policysched.cluster.objects import objects

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
DEFAULT_CPU_MILLI = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024
"""Default requests in scores for containers without a request (`util/pod_resources.go`)."""

Amounts: TypeAlias = dict[str, int]

_NANO = 10**9
_NANO_OF_MILLI = 10**6
_DEFAULTS: Amounts = {
    CPU: DEFAULT_CPU_MILLI * _NANO_OF_MILLI,
    MEMORY: DEFAULT_MEMORY_BYTES * _NANO,
}
_NATIVE = (CPU, MEMORY, EPHEMERAL_STORAGE)
_HUGEPAGES_PREFIX = "hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"


@dataclasses.dataclass(frozen=True, slots=True)
class PodResourceRequests:
    """The requests of a pod, in the forms that filters and scores use.

    Attributes:
        amounts: resource name → int64: milli-CPU for cpu, whole units (bytes or a count) for all
            others.
        nonzero_cpu_milli, nonzero_memory_bytes: requests of a placed pod in scores, with defaults
            for containers without a request.
        scored: requests of an incoming pod in scores of NodeResourcesFit. Containers without a
            request always count with the defaults, and pod-level requests are ignored, because
            `fit.go` creates its scorer without that feature.
    """

    amounts: Mapping[str, int]
    nonzero_cpu_milli: int
    nonzero_memory_bytes: int
    scored: Mapping[str, int]


def parse_amount(resource: str, text: objects.Quantity) -> int:
    """Return a quantity of `resource` as int64: milli-CPU for cpu, whole units for all others."""
    return quantity.parse_milli_units(text) if resource == CPU else quantity.parse_whole_units(text)


def is_extended_resource(name: str) -> bool:
    """Return whether `name` is an extended resource, such as one that a device plugin provides.

    Source: `pkg/apis/core/v1/helper/helpers.go`, IsExtendedResourceName.
    """
    return "/" in name and _NATIVE_DOMAIN not in name and not name.startswith("requests.")


def is_scalar_resource(name: str) -> bool:
    """Return whether `name` is a scalar resource (`util/utils.go`, IsScalarResourceName)."""
    return (
        is_extended_resource(name)
        or _NATIVE_DOMAIN in name
        or name.startswith((_HUGEPAGES_PREFIX, "attachable-volumes-"))
    )


def compute_pod_requests(pod: objects.Pod) -> PodResourceRequests:
    """Return the requests of a pod from its containers, init containers, pod level and overhead."""
    pod_level = _get_pod_level_requests(pod)
    exact = _sum_with_overhead(pod, {}, pod_level)
    defaults = _DEFAULTS
    if pod_level:
        defaults = {r: v for r, v in _DEFAULTS.items() if r not in exact}
    nonzero = _sum_with_overhead(pod, defaults, pod_level)
    scored = _sum_with_overhead(pod, _DEFAULTS, {})
    return PodResourceRequests(
        amounts=_round_up_to_canonical_units(exact),
        nonzero_cpu_milli=_round_up_to_canonical_units(nonzero).get(CPU, 0),
        nonzero_memory_bytes=_round_up_to_canonical_units(nonzero).get(MEMORY, 0),
        scored=_round_up_to_canonical_units(scored),
    )


def compute_pod_limits(pod: objects.Pod) -> Amounts:
    """Return the limits of a pod, keyed by resource; `get_resource_limit` reads them.

    CPU, memory and ephemeral storage have a limit only if every container, including init
    containers, has a limit above 0, or if the pod level has one. Every other resource always has a
    limit, because a container without a limit gets none of it. Unset limits are omitted from
    the result. For an omitted resource other than these three, `get_resource_limit` returns 0.

    Sources: `resource/helpers.go` (PodLimits, AggregateContainerLimits) for the sum; kubelet
    `cm/helpers_linux.go` (ResourceConfigForPod) for the cases in which the sum limits the pod.
    """
    total: Amounts = {}
    for container in pod.spec.containers:
        _add_amounts(total, _parse_exact_amounts(container.resources.limits))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        wanted = _parse_exact_amounts(container.resources.limits)
        if container.restart_policy == "Always":
            _add_amounts(total, wanted)
            _add_amounts(sidecars, wanted)
            _raise_to_floor(peak, sidecars)
        else:
            _add_amounts(wanted, sidecars)
            _raise_to_floor(peak, wanted)
    _raise_to_floor(total, peak)
    for name in _NATIVE:
        if not all(
            _parse_exact_amounts(c.resources.limits).get(name) for c in _list_all_containers(pod)
        ):
            total.pop(name, None)
    if pod.spec.resources is not None:
        total.update(_select_pod_level_amounts(_parse_exact_amounts(pod.spec.resources.limits)))
    _add_amounts(
        total, {r: v for r, v in _parse_exact_amounts(pod.spec.overhead).items() if r in total}
    )
    return _round_up_to_canonical_units(total)


def get_resource_limit(limits: Amounts, resource: str) -> int | None:
    """Return the limit of a resource from the limits of a pod, or None for no limit."""
    return limits.get(resource, None if resource in (*_NATIVE, "pods") else 0)


def _list_all_containers(pod: objects.Pod) -> Iterator[objects.Container]:
    yield from pod.spec.init_containers
    yield from pod.spec.containers


def compute_resized_requests(pod: objects.Pod) -> list[tuple[str, Amounts]]:
    """Return the requests that a running pod holds, if they differ from its spec after a resize.

    Each item is (container name, or "" for the pod level; amounts in billionths). For most running
    pods it is empty, because their status repeats the amounts of the spec.
    """
    if pod.status.resources is None and all(
        s.resources is None for s in _get_container_statuses(pod)
    ):
        return []
    requested = [
        (c.name, _parse_exact_amounts(c.resources.requests), _compute_container_requests(pod, c))
        for c in (*pod.spec.containers, *_list_sidecars(pod))
    ]
    if pod.spec.resources is not None:
        requested.append(
            (
                "",
                _select_pod_level_amounts(_parse_exact_amounts(pod.spec.resources.requests)),
                _get_pod_level_requests(pod),
            )
        )
    return [(name, held) for name, spec, held in requested if held != spec]


def _sum_with_overhead(
    pod: objects.Pod, defaults: Mapping[str, int], pod_level: Mapping[str, int]
) -> Amounts:
    total = _sum_container_requests(pod, defaults)
    total.update(pod_level)
    _add_amounts(total, _parse_exact_amounts(pod.spec.overhead))
    return total


def _sum_container_requests(pod: objects.Pod, defaults: Mapping[str, int]) -> Amounts:
    """Return the sum of the containers or the peak of the init containers, whichever is larger."""
    total: Amounts = {}
    for container in pod.spec.containers:
        _add_amounts(total, dict(defaults) | _compute_container_requests(pod, container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            wanted = dict(defaults) | _compute_container_requests(pod, container)
            _add_amounts(total, wanted)
            _add_amounts(sidecars, wanted)
            _raise_to_floor(peak, sidecars)
        else:
            wanted = dict(defaults) | _parse_exact_amounts(container.resources.requests)
            _add_amounts(wanted, sidecars)
            _raise_to_floor(peak, wanted)
    _raise_to_floor(total, peak)
    return total


# --- in-place resize -----------------------------------------------------------------------------


def _compute_container_requests(pod: objects.Pod, container: objects.Container) -> Amounts:
    """Return the amounts that a container holds, including amounts granted in its status."""
    spec = _parse_exact_amounts(container.resources.requests)
    held = next((s for s in _get_container_statuses(pod) if s.name == container.name), None)
    if held is None or held.resources is None:
        return spec
    return _compute_effective_amounts(pod, spec, held.resources.requests, held.allocated_resources)


def _get_pod_level_requests(pod: objects.Pod) -> Amounts:
    """Return the pod-level requests, which replace the sums of cpu, memory and huge pages."""
    if pod.spec.resources is None:
        return {}
    spec = _parse_exact_amounts(pod.spec.resources.requests)
    granted = pod.status.resources
    if granted is None:
        return _select_pod_level_amounts(spec)
    held = _compute_effective_amounts(pod, spec, granted.requests, pod.status.allocated_resources)
    return {name: held.get(name, 0) for name in _select_pod_level_amounts(spec)}


def _compute_effective_amounts(
    pod: objects.Pod,
    spec: Amounts,
    actuated: objects.ResourceList,
    allocated: objects.ResourceList,
) -> Amounts:
    """Return, for each resource, the largest of the spec, actuated and allocated amounts.

    The spec is left out if a resize is infeasible.

    Source: `resource/helpers.go`, determineEffectiveRequests.
    """
    total = {} if _is_resize_infeasible(pod) else dict(spec)
    _raise_to_floor(total, _parse_exact_amounts(actuated))
    _raise_to_floor(total, _parse_exact_amounts(allocated))
    return total


def _is_resize_infeasible(pod: objects.Pod) -> bool:
    pending = (c for c in pod.status.conditions if c.type == "PodResizePending")
    return next((c.reason == "Infeasible" for c in pending), False)


def _get_container_statuses(pod: objects.Pod) -> Iterator[objects.ContainerStatus]:
    yield from pod.status.init_container_statuses
    yield from pod.status.container_statuses


def _list_sidecars(pod: objects.Pod) -> Iterable[objects.Container]:
    return (c for c in pod.spec.init_containers if c.restart_policy == "Always")


# --- amounts in billionths -----------------------------------------------------------------------


def _select_pod_level_amounts(amounts: Amounts) -> Amounts:
    return {
        name: value
        for name, value in amounts.items()
        if name in (CPU, MEMORY) or name.startswith(_HUGEPAGES_PREFIX)
    }


def _parse_exact_amounts(resources: objects.ResourceList) -> Amounts:
    return {name: _parse_nano_units(str(text)) for name, text in resources.items()}


@functools.lru_cache(maxsize=65536)
def _parse_nano_units(text: str) -> int:
    exact = quantity.parse_quantity(text)
    return -(-exact.numerator * _NANO // exact.denominator)


def _round_up_to_canonical_units(amounts: Amounts) -> Amounts:
    return {
        name: min(int64.MAX, -(-value // (_NANO_OF_MILLI if name == CPU else _NANO)))
        for name, value in amounts.items()
        if name in _NATIVE or is_scalar_resource(name)
    }


def _add_amounts(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to_floor(total: Amounts, floor: Mapping[str, int]) -> None:
    for name, value in floor.items():
        total[name] = max(total.get(name, 0), value)
