"""Decide which extenders are asked about a pod (`pkg/scheduler/extender.go`, IsInterested)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from policysched.cluster.objects import objects
from policysched.extenders import settings


def collect_managed_resources(extender: settings.ExtenderSettings) -> frozenset[str]:
    """Return the names of the resources that an extender manages; empty if it is always asked."""
    return frozenset(resource.name for resource in extender.managed_resources)


def is_interested(resources: frozenset[str], pod: objects.Pod) -> bool:
    """Return whether an extender that manages `resources` is asked about a pod."""
    if not resources:
        return True
    spec = pod.spec
    return any(
        _names_resource(container, resources)
        for container in (*spec.containers, *spec.init_containers)
    )


def _names_resource(container: objects.Container, resources: frozenset[str]) -> bool:
    named = container.resources
    return not resources.isdisjoint((*named.requests, *named.limits))


def make_interest_test(
    extenders: Iterable[settings.ExtenderSettings],
) -> Callable[[objects.Pod], bool]:
    """Return a function that returns whether any of some extenders is asked about a pod."""
    managed = [collect_managed_resources(extender) for extender in extenders]
    return lambda pod: any(is_interested(resources, pod) for resources in managed)


def list_interested_extenders(
    extenders: Iterable[settings.ExtenderSettings], pod: objects.Pod
) -> list[settings.ExtenderSettings]:
    """Return the extenders that are asked about a pod, in the order in which they are asked."""
    ordered = sorted(extenders, key=lambda extender: extender.ignorable)
    return [
        extender
        for extender in ordered
        if extender.verbs and is_interested(collect_managed_resources(extender), pod)
    ]


def describe_interest(
    extenders: Iterable[settings.ExtenderSettings], pod: objects.Pod
) -> list[dict[str, object]]:
    """Return the URLs of these extenders and the steps in which they take part, for reports."""
    return [
        {"url": extender.name, "verbs": list(extender.verbs)}
        for extender in list_interested_extenders(extenders, pod)
    ]


def count_pods_by_extender(
    extenders: Iterable[settings.ExtenderSettings], pods: Iterable[objects.Pod]
) -> dict[settings.ExtenderSettings, int]:
    """Return the extenders that are asked about any of some pods, with the number of these pods."""
    extenders = tuple(extenders)
    counts: Counter[settings.ExtenderSettings] = Counter()
    for pod in pods:
        counts.update(list_interested_extenders(extenders, pod))
    return counts
