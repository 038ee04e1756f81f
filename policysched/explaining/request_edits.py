"""Requests of the pod that are changed: the amount nearest to the present one that fits."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from msgspec import structs

from policysched.cluster import objects, pod_requests
from policysched.compiler.rules import reject
from policysched.explaining import (
    amount_search,
    edit,
    obstacles,
    rule_values,
    trials,
)
from policysched.lang import amounts, checked_expr
from policysched.plugins import names

_OTHER_AMOUNT = 1_000_000_000
"""Of a resource that is not requested, to see how rules follow it."""
_LARGEST = 2.0**62


@dataclasses.dataclass(frozen=True, slots=True)
class _Request:
    """A request of a container, or of the pod as a whole.

    Attributes:
        pod: that requests it.
        field: of the spec: `containers`, `init_containers` or `resources`.
        at: which container.
        resource: its name.
    """

    pod: objects.Pod
    field: str
    at: int
    resource: str

    @property
    def _resources(self) -> objects.ResourceRequirements:
        if self.field == "resources":
            return self.pod.spec.resources or objects.ResourceRequirements()
        container: objects.Container = getattr(self.pod.spec, self.field)[self.at]
        return container.resources

    @property
    def written(self) -> str | None:
        """The amount as the pod has it, None for nothing."""
        found = self._resources.requests.get(self.resource)
        return None if found is None else str(found)

    @property
    def amount(self) -> int:
        """Milli-CPU, bytes or pieces."""
        return pod_requests.amount(self.resource, self.written or 0)

    @property
    def limit(self) -> int | None:
        """What a request must not exceed, None for no limit."""
        found = self._resources.limits.get(self.resource)
        return None if found is None else pod_requests.amount(self.resource, found)

    @property
    def owner(self) -> str:
        """Whose request it is."""
        if self.field == "resources":
            return "the pod"
        return f"container {getattr(self.pod.spec, self.field)[self.at].name}"

    def with_amount(self, amount: int) -> objects.Pod:
        """Return a pod that requests another amount."""
        text = amounts.quantity_text(self.resource, amount)
        requests = {**self._resources.requests, self.resource: text}
        resources = structs.replace(self._resources, requests=requests)
        changed: object = resources
        if self.field != "resources":
            several: tuple[objects.Container, ...] = getattr(self.pod.spec, self.field)
            container = structs.replace(several[self.at], resources=resources)
            changed = (*several[: self.at], container, *several[self.at + 1 :])
        spec = structs.replace(self.pod.spec, **{self.field: changed})
        return structs.replace(self.pod, spec=spec)


def find(tried: trials.Trials, known: obstacles.Obstacles) -> Iterator[edit.Edit]:
    """Yield for each resource the nearest request with which the pod fits."""
    rules = known.readers(checked_expr.PodRequests)
    nodes = known.only(names.NODE_RESOURCES_FIT, *(rule.head.name for rule in rules))
    if not nodes:
        return
    read = known.resources_read(checked_expr.PodRequests)
    for resource in dict.fromkeys((*tried.info.shape.requests.amounts, *read)):
        found = _find_edit(tried, rules, nodes, resource)
        if found is not None:
            yield found


def _find_edit(
    tried: trials.Trials, rules: list[reject.Reject], nodes: list[str], resource: str
) -> edit.Edit | None:
    """Return the edit of the request that is largest, of those whose edit is enough."""
    wanted = tried.info.shape.requests.amounts.get(resource, 0)
    totals: list[int] | None = None
    for request in _requests(tried.info.pod, resource):
        if tried.is_over:
            return None
        if totals is None:
            totals = [
                *_free(tried, nodes, resource),
                *_threshold_requests(tried, rules, nodes, request),
            ]
        others = wanted - request.amount
        proposals = [0, *(max(0, total - others) for total in totals)]
        found = _edit_of_request(tried, request, proposals)
        if found is not None:
            return found
    return None


def _requests(pod: objects.Pod, resource: str) -> list[_Request]:
    """Return the requests that may be edited, the largest first; one of 0 if there is none."""
    if pod.spec.resources is not None and resource in pod.spec.resources.requests:
        return [_Request(pod, "resources", 0, resource)]
    every = [
        _Request(pod, field, at, resource)
        for field in ("containers", "init_containers")
        for at in range(len(getattr(pod.spec, field)))
    ]
    holding = [each for each in every if each.amount > 0] or every[:1]
    return sorted(holding, key=lambda each: -each.amount)


def _edit_of_request(
    tried: trials.Trials, request: _Request, proposals: list[int]
) -> edit.Edit | None:
    most = math.inf if request.limit is None else request.limit

    def fits(amount: int) -> bool:
        return (
            amount <= most and not tried.is_over and bool(tried.fits(request.with_amount(amount)))
        )

    step = amount_search.step_of(request.resource, max(request.amount, *proposals))
    amount = amount_search.find_nearest(fits, request.amount, proposals, step)
    if amount is None or tried.is_over:
        return None
    before, after = request.written, amounts.quantity_text(request.resource, amount)
    verb = "lower" if amount < request.amount else "raise"
    change = f"of {request.owner}" + (f" from {before}" if before is not None else "")
    text = f"{verb} the {request.resource} request {change} to {after}"
    what = f"{request.owner}: resources.requests[{request.resource}]"
    said = edit.Edit("pod", "requests", what, before, after, text, edit.ADJUSTS_POD)
    return said.helping(tried.fits(request.with_amount(amount)))


# --- amounts at which something changes ----------------------------------------------------------


def _free(tried: trials.Trials, nodes: list[str], resource: str) -> list[int]:
    """Return the free amounts of a resource on the nodes, the largest first."""
    columns = tried.decider.cluster.cache.nodes
    rows = np.array([columns.row_of[name] for name in nodes], np.intp)
    at = columns.resource_column(resource)
    free = np.unique(columns.allocatable[rows, at] - columns.requested[rows, at])
    return [int(amount) for amount in free[free > 0][::-1]]


def _threshold_requests(
    tried: trials.Trials, rules: list[reject.Reject], nodes: list[str], request: _Request
) -> list[int]:
    """Return the requests of the whole pod at which comparisons of rules change, by their slope.

    A comparison that is linear in the request turns exactly there, others somewhere near.
    """
    here, resource = tried.info.shape, request.resource
    other = request.amount // 2 if request.amount > 1 else _OTHER_AMOUNT
    there = tried.decider.cluster.shapes.info(request.with_amount(other)).shape
    wanted = here.requests.amounts.get(resource, 0)
    change = there.requests.amounts.get(resource, 0) - wanted
    step = amount_search.step_of(resource, max(request.amount, other))
    found: set[int] = set()
    for compare in _comparisons(rules) if change else ():
        before, after = (
            rule_values.evaluate_on_nodes(tried, compare.left, nodes, shape)
            - rule_values.evaluate_on_nodes(tried, compare.right, nodes, shape)
            for shape in (here, there)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = wanted - before * change / (after - before)
        for root in np.unique(roots[np.abs(roots) < _LARGEST]).tolist():
            found.update((math.floor(root) - step, math.floor(root), math.ceil(root)))
            found.add(math.ceil(root) + step)
    return sorted(found, reverse=True)


def _comparisons(rules: list[reject.Reject]) -> Iterator[checked_expr.Compare]:
    for rule in rules:
        for each in checked_expr.walk(rule.condition.source):
            if isinstance(each, checked_expr.Compare) and checked_expr.reads_pod(each):
                yield each
