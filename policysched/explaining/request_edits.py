"""Requests that are lowered, and room that is made: how much exactly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import structs

from policysched.cluster import objects, pod_requests
from policysched.explaining import amounts_text, edit, obstacles, trials
from policysched.lang import units
from policysched.plugins import names

_MEBIBYTE = 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Shortage:
    """A node on which one resource lacks and nothing else stands in the way.

    Attributes:
        node: its name.
        resource: `pods` for places.
        free: milli-CPU, bytes or pieces that are left, below 0 where too much was given away.
        missing: how much more the pod wants.
        is_possible: whether an empty node of this size would do.
    """

    node: str
    resource: str
    free: int
    missing: int
    is_possible: bool


def shortages(tried: trials.Trials, known: obstacles.Obstacles) -> list[Shortage]:
    """Return the nodes on which a single resource lacks, by row."""
    nodes = tried.decider.cluster.cache.nodes
    amounts = tried.info.shape.requests.amounts
    ids = [nodes.resource_column(resource) for resource in amounts]
    named = known.only(names.NODE_RESOURCES_FIT)
    rows = np.array([nodes.row_of[name] for name in named], np.intp)
    resources = [*amounts, trials.PODS]
    wanted = np.array([*amounts.values(), 1], np.int64)
    sizes = np.column_stack([nodes.allocatable[rows][:, ids], nodes.allowed_pods[rows]])
    taken = np.column_stack([nodes.requested[rows][:, ids], nodes.pod_count[rows]])
    free = sizes - taken
    lacks = (wanted > free) & (wanted > 0)
    found = []
    for at in np.flatnonzero(lacks.sum(axis=1) == 1).tolist():
        column = int(np.flatnonzero(lacks[at])[0])
        left = int(free[at, column])
        found.append(
            Shortage(
                named[at],
                resources[column],
                left,
                int(wanted[column]) - left,
                bool(wanted[column] <= sizes[at, column]),
            )
        )
    return found


def find(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[edit.Edit]:
    """Yield for each resource that lacks the largest request of one container that fits."""
    lacking = shortages(tried, known)
    for resource in tried.info.shape.requests.amounts:
        free = max((each.free for each in lacking if each.resource == resource), default=0)
        target = _rounded(resource, free)
        if target <= 0 or tried.is_over:
            continue
        wanted = tried.info.shape.requests.amounts[resource]
        found = _lowered(tried, resource, wanted - target)
        if found is not None:
            yield found


def _rounded(resource: str, free: int) -> int:
    """Return the amount that fits; of bytes whole mebibytes, which people write."""
    if units.of_resource(resource) == units.BYTES and free >= _MEBIBYTE:
        return free - free % _MEBIBYTE
    return free


def _lowered(tried: trials.Trials, resource: str, excess: int) -> edit.Edit | None:
    """Return the edit of the container that requests most, of those whose edit is enough."""
    pod = tried.info.pod
    held = [
        (pod_requests.amount(resource, container.resources.requests[resource]), field, at)
        for field in ("containers", "init_containers")
        for at, container in enumerate(getattr(pod.spec, field))
        if resource in container.resources.requests
    ]
    for amount, field, at in sorted(held, key=lambda each: (-each[0], each[1:])):
        if amount <= excess:
            return None
        container = getattr(pod.spec, field)[at]
        after = amounts_text.resource(resource, amount - excess)
        nodes = tried.fits(_requesting(pod, field, at, {resource: after}))
        if nodes:
            before = str(container.resources.requests[resource])
            what = f"container {container.name}: resources.requests[{resource}]"
            change = f"of container {container.name} from {before} to {after}"
            text = f"lower the {resource} request {change}"
            return edit.Edit("pod", "requests", what, before, after, text, edit.ADJUSTS_POD, nodes)
    return None


def _requesting(pod: objects.Pod, field: str, at: int, changes: dict[str, str]) -> objects.Pod:
    """Return a pod of which one container requests otherwise."""
    containers: Sequence[objects.Container] = getattr(pod.spec, field)
    container = containers[at]
    requests = {**container.resources.requests, **changes}
    resources = structs.replace(container.resources, requests=requests)
    changed = structs.replace(container, resources=resources)
    several = (*containers[:at], changed, *containers[at + 1 :])
    return structs.replace(pod, spec=structs.replace(pod.spec, **{field: several}))
