"""What a pod requests, container by container, in exact fractions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from policysched import quantity
from policysched.cluster.objects import objects

Exact = Mapping[str, Fraction]
_MEBIBYTE = 1024 * 1024
DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(200 * _MEBIBYTE)}


def requested(pod: objects.Pod) -> dict[str, int]:
    """Return resource → milli-CPU or whole units, for the Filter."""
    return _whole(_total(pod, {}, with_pod_level=True))


def placed_nonzero(pod: objects.Pod) -> dict[str, int]:
    """Return what a placed pod counts for in scores: cpu and memory."""
    total = _total(pod, {}, with_pod_level=True)
    missing = DEFAULTS
    if _pod_level(pod):
        missing = {r: v for r, v in DEFAULTS.items() if r not in total}
    return _whole(_total(pod, missing, with_pod_level=True))


def incoming_scored(pod: objects.Pod) -> dict[str, int]:
    """Return what an incoming pod counts for in the scores of NodeResourcesFit."""
    return _whole(_total(pod, DEFAULTS, with_pod_level=False))


def limited(pod: objects.Pod, resource: str) -> int | None:
    """Return what a pod is limited to of a resource, None for no limit."""
    spec = pod.spec
    every = [*spec.init_containers, *spec.containers]
    is_native = resource in ("cpu", "memory", "ephemeral-storage")
    whole = _exact(spec.resources.limits) if spec.resources is not None else {}
    is_pod_level = resource in whole and _has_pod_level(resource)
    said = [_exact(c.resources.limits).get(resource, Fraction(0)) for c in every]
    if resource == "pods" or (is_native and not is_pod_level and not all(said)):
        return None
    phases = [
        [c for c in every if c in spec.containers or _is_sidecar(c)],
        *(
            [*(c for c in spec.init_containers[:n] if _is_sidecar(c)), own]
            for n, own in enumerate(spec.init_containers)
        ),
    ]
    sums = [sum(_exact(c.resources.limits).get(resource, Fraction(0)) for c in p) for p in phases]
    total = whole[resource] if is_pod_level else max(sums)
    if is_pod_level or any(resource in c.resources.limits for c in every):
        total += _exact(spec.overhead).get(resource, Fraction(0))
    return _whole({resource: Fraction(total)})[resource]


def _total(pod: objects.Pod, defaults: Exact, *, with_pod_level: bool) -> Exact:
    """Return running containers and sidecars together, or the peak while starting up, if larger."""
    spec = pod.spec
    running = [_held(pod, c, defaults) for c in spec.containers]
    running += [_held(pod, c, defaults) for c in spec.init_containers if _is_sidecar(c)]
    phases = [running]
    for index, container in enumerate(spec.init_containers):
        before = [_held(pod, c, defaults) for c in spec.init_containers[:index] if _is_sidecar(c)]
        phases.append([*before, _held(pod, container, defaults)])
    sums = [_sum(phase) for phase in phases]
    names = {name for total in sums for name in total}
    total = {name: max(s[name] for s in sums if name in s) for name in names}
    if with_pod_level:
        total.update(_pod_level(pod))
    return _sum([total, _exact(spec.overhead)])


def _held(pod: objects.Pod, container: objects.Container, defaults: Exact) -> Exact:
    """Return what a container holds: its spec, or more where its status says so."""
    spec = _exact(container.resources.requests)
    is_resizable = container in pod.spec.containers or _is_sidecar(container)
    found = [
        s
        for s in (*pod.status.container_statuses, *pod.status.init_container_statuses)
        if s.name == container.name and s.resources is not None and is_resizable
    ]
    held = spec
    for one in found:
        assert one.resources is not None
        held = _largest(pod, spec, _exact(one.resources.requests), _exact(one.allocated_resources))
    return {**defaults, **held}


def _pod_level(pod: objects.Pod) -> Exact:
    if pod.spec.resources is None:
        return {}
    spec = _exact(pod.spec.resources.requests)
    held = spec
    if pod.status.resources is not None:
        actual = _exact(pod.status.resources.requests)
        held = _largest(pod, spec, actual, _exact(pod.status.allocated_resources))
    return {r: held.get(r, Fraction(0)) for r in spec if _has_pod_level(r)}


def _has_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _largest(pod: objects.Pod, spec: Exact, actual: Exact, allocated: Exact) -> Exact:
    states = [spec, actual, allocated]
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending" and condition.reason == "Infeasible":
            states = [actual, allocated]
    names = {name for state in states for name in state}
    return {name: max(s[name] for s in states if name in s) for name in names}


def _is_sidecar(container: objects.Container) -> bool:
    return container.restart_policy == "Always"


def _exact(resources: objects.ResourceList) -> Exact:
    return {name: quantity.parse_quantity(str(text)) for name, text in resources.items()}


def _sum(parts: list[Exact]) -> Exact:
    total: dict[str, Fraction] = defaultdict(Fraction)
    for part in parts:
        for name, value in part.items():
            total[name] += value
    return total


def _whole(total: Exact) -> dict[str, int]:
    return {r: math.ceil(v * 1000) if r == "cpu" else math.ceil(v) for r, v in total.items()}
