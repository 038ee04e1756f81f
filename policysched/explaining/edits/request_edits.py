"""Finds the changes to requests and limits that make the pod fit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from msgspec import structs

from policysched import amounts, units
from policysched.cluster.columns import columns
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_requests, pod_shape
from policysched.explaining import suggested_edit, trials
from policysched.explaining.facts import pod_requirements, rejections, rule_values
from policysched.explaining.numbers import amount_search
from policysched.lang.checked import checked_expr, checked_selector
from policysched.plugins import names

_DIGITS = "0123456789"
_OTHER_AMOUNT = 1_000_000_000
"""The trial amount for a resource without a request, used to measure slopes of comparisons."""
_LARGEST = 2.0**62
_UNLIMITED = 2**62
_MOST_CONTAINERS = 3
"""The maximum number of containers for which separate edits are proposed."""
_MOST_PROBED_TOTALS = 2
"""Whole amounts are probed near this many totals, starting with the largest total."""

_Kind = Literal["requests", "limits"]
_READERS: dict[_Kind, type[checked_expr.PodRequests | checked_expr.PodLimits]] = {
    "requests": checked_expr.PodRequests,
    "limits": checked_expr.PodLimits,
}


@dataclasses.dataclass(frozen=True, slots=True)
class _RequestOrLimit:
    """A request or limit of a container or of the pod as a whole.

    Attributes:
        pod: the pod that contains the amount.
        kind: `requests` or `limits`.
        field: the field of the spec that contains it: `containers`, `init_containers` or
            `resources`.
        at: the index of the container in `field`; 0 for `resources`.
        resource: the name of the resource.
    """

    pod: objects.Pod
    kind: _Kind
    field: str
    at: int
    resource: str

    @property
    def _resources(self) -> objects.ResourceRequirements:
        if self.field == "resources":
            return self.pod.spec.resources or objects.ResourceRequirements()
        container: objects.Container = getattr(self.pod.spec, self.field)[self.at]
        return container.resources

    def _get_amounts(self, kind: _Kind) -> objects.ResourceList:
        return self._resources.requests if kind == "requests" else self._resources.limits

    @property
    def written_amount(self) -> str | None:
        """The amount as written in the pod; None if the pod has no amount."""
        found = self._get_amounts(self.kind).get(self.resource)
        return None if found is None else str(found)

    @property
    def amount(self) -> int:
        """The amount in milli-CPU, bytes or counts; 0 if the pod has no amount."""
        return pod_requests.parse_amount(self.resource, self.written_amount or 0)

    @property
    def search_start_amount(self) -> int:
        """The start of the search; an absent limit counts as larger than any limit."""
        return self.amount or (_UNLIMITED if self.kind == "limits" else 0)

    def keeps_request_within_limit(self, amount: int) -> bool:
        """Return whether `amount` keeps the request at most as large as a positive limit."""
        if self.kind == "requests":
            limit = self._get_amounts("limits").get(self.resource)
            return limit is None or amount <= pod_requests.parse_amount(self.resource, limit)
        request = self._get_amounts("requests").get(self.resource, 0)
        return amount >= max(1, pod_requests.parse_amount(self.resource, request))

    @property
    def owner(self) -> str:
        """The owner of the amount as shown in messages: `the pod` or `container NAME`."""
        if self.field == "resources":
            return "the pod"
        return f"container {getattr(self.pod.spec, self.field)[self.at].name}"

    def make_pod_with_amount(self, amount: int) -> objects.Pod:
        """Return the pod with this amount replaced."""
        text = amounts.format_quantity(self.resource, amount)
        changes = {self.kind: {**self._get_amounts(self.kind), self.resource: text}}
        resources = structs.replace(self._resources, **changes)
        changed: object = resources
        if self.field != "resources":
            several: tuple[objects.Container, ...] = getattr(self.pod.spec, self.field)
            container = structs.replace(several[self.at], resources=resources)
            changed = (*several[: self.at], container, *several[self.at + 1 :])
        spec = structs.replace(self.pod.spec, **{self.field: changed})
        return structs.replace(self.pod, spec=spec)


@dataclasses.dataclass(frozen=True, slots=True)
class _AmountReadingRules:
    """The rejecting rules that read the requests or the limits of the pod.

    Attributes:
        kind: `requests` or `limits`.
        compares: the comparisons in the rules' conditions that read the pod.
        numbers: the requirements on numbers in the rules' selectors.
        nodes: the nodes that no other plugin or rule rejects.
        probed: the resources that a `reject` rule of the profile reads. Such a rule can reject
            amounts in several ranges.
    """

    kind: _Kind
    compares: tuple[checked_expr.Compare, ...]
    numbers: tuple[checked_selector.NumberRequirement, ...]
    nodes: list[str]
    probed: frozenset[str]

    def list_resources_read(self) -> list[str]:
        """Return the names of the resources that the rules read, without duplicates."""
        read = _list_resources_read(self.kind, self.compares)
        every = dict.fromkeys([*read, *(n.resource for n in self.numbers if n.resource)])
        every.pop(units.STORAGE, None)  # claims request it, which rarely change
        return list(every)


def _list_resources_read(kind: _Kind, parts: Iterable[checked_expr.TypedExpr]) -> list[str]:
    every = (each for part in parts for each in checked_expr.walk_expressions(part))
    return [each.resource for each in every if isinstance(each, _READERS[kind])]


def find_request_edits(
    tried: trials.PodTrials, known: rejections.PodRejections
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield for each resource the nearest request and the nearest limit that make the pod fit."""
    for kind in _READERS:
        found = _find_rules_reading_amounts(tried, known, kind)
        asked = tried.info.shape.requests.amounts if kind == "requests" else ()
        for resource in (
            dict.fromkeys((*asked, *found.list_resources_read())) if found.nodes else ()
        ):
            yield from _find_container_edits(tried, found, resource)


def _find_rules_reading_amounts(
    tried: trials.PodTrials, known: rejections.PodRejections, kind: _Kind
) -> _AmountReadingRules:
    """Collect the rejecting rules that read requests or limits, and their comparisons."""
    rules = known.find_rules_reading(_READERS[kind])
    numbers = {
        name: [
            each
            for each in requirements
            if isinstance(each, checked_selector.NumberRequirement)
            and each.resource is not None
            and each.amount == kind
        ]
        for name, requirements in pod_requirements.find_requirements_by_rule(tried, known).items()
    }
    whom = {rule.head.name for rule in rules} | {name for name, has in numbers.items() if has}
    fit = {names.NODE_RESOURCES_FIT} if kind == "requests" else set[str]()
    nodes = known.find_nodes_rejected_only_by(*whom, *fit) if whom | fit else []
    compares = (
        each
        for rule in rules
        for each in checked_expr.walk_expressions(rule.condition.source)
        if isinstance(each, checked_expr.Compare) and checked_expr.reads_pod(each)
    )
    every = tuple(dict.fromkeys(each for has in numbers.values() for each in has))
    conditions = (rule.condition.source for rule in known.profile_rejects)
    probed = frozenset(_list_resources_read(kind, conditions))
    return _AmountReadingRules(kind, tuple(compares), every, nodes, probed)


def _find_container_edits(
    tried: trials.PodTrials, found: _AmountReadingRules, resource: str
) -> Iterator[suggested_edit.SuggestedEdit]:
    """Yield the edits to single containers, ordered by their current amount, largest first."""
    wanted = _compute_total_request_or_limit(tried.info.shape, found.kind, resource) or 0
    totals: list[int] | None = None
    for asked in _list_editable_amounts(tried.info.pod, found.kind, resource)[:_MOST_CONTAINERS]:
        if tried.is_limit_reached:
            return
        if totals is None:
            totals = [
                *(
                    _list_free_amounts(tried, found.nodes, resource)
                    if found.kind == "requests"
                    else ()
                ),
                *_find_threshold_totals(tried, found, asked),
            ]
        others = wanted - asked.amount
        proposals = [0, *(max(0, total - others) for total in totals)]
        probes = (
            amount_search.list_amounts_to_probe(resource, wanted, totals[:_MOST_PROBED_TOTALS])
            if resource in {*found.list_resources_read(), *found.probed}
            else []
        )
        amount = _find_fitting_amount(tried, asked, proposals, [each - others for each in probes])
        if amount is not None:
            totals.append(others + amount)
            yield _make_request_edit(asked, amount).add_fitting_nodes(
                tried.find_feasible_nodes(asked.make_pod_with_amount(amount))
            )


def _compute_total_request_or_limit(
    shape: pod_shape.PodShape, kind: _Kind, resource: str
) -> int | None:
    """Return the total request or limit of the pod; None if it has no limit."""
    if kind == "requests":
        return shape.get_requested_amount(resource)
    return pod_requests.get_resource_limit(shape.limits, resource)


def _list_editable_amounts(pod: objects.Pod, kind: _Kind, resource: str) -> list[_RequestOrLimit]:
    """Return the editable amounts, largest first; a single zero amount if none is set."""
    of_pod = _RequestOrLimit(pod, kind, "resources", 0, resource)
    if of_pod.written_amount is not None:
        return [of_pod]
    every = [
        _RequestOrLimit(pod, kind, field, at, resource)
        for field in ("containers", "init_containers")
        for at in range(len(getattr(pod.spec, field)))
    ]
    if kind == "limits":  # the pod has a limit only if every container has a limit
        every = [each for each in every if each.amount == 0] or every
    holding = [each for each in every if each.amount > 0] or every[:1]
    return sorted(holding, key=lambda each: -each.amount)


def _find_fitting_amount(
    tried: trials.PodTrials,
    asked: _RequestOrLimit,
    proposals: Sequence[int],
    probes: Sequence[int],
) -> int | None:
    """Return the fitting amount nearest to the current amount; None if no amount is found."""

    def fits(amount: int) -> bool:
        return (
            asked.keeps_request_within_limit(amount)
            and not tried.is_limit_reached
            and bool(tried.find_feasible_nodes(asked.make_pod_with_amount(amount)))
        )

    step = amount_search.get_amount_search_step(asked.resource, max(asked.amount, *proposals))
    amount = amount_search.find_nearest_fitting_amount(
        fits, asked.search_start_amount, proposals, step, probes
    )
    return None if tried.is_limit_reached else amount


def _make_request_edit(asked: _RequestOrLimit, amount: int) -> suggested_edit.SuggestedEdit:
    """Return the edit that lowers, raises or sets an amount."""
    before, after = asked.written_amount, amounts.format_quantity(asked.resource, amount)
    noun = asked.kind.removesuffix("s")
    verb = "lower" if amount < asked.search_start_amount else "raise"
    if asked.kind == "limits" and before is None:
        verb = "set"
    shown = "" if before is None else f" from {_format_like(after, asked, before)}"
    change = f"of {asked.owner}{shown}"
    text = f"{verb} the {asked.resource} {noun} {change} to {after}"
    what = f"{asked.owner}: resources.{asked.kind}[{asked.resource}]"
    return suggested_edit.SuggestedEdit(
        "pod", asked.kind, what, before, after, text, suggested_edit.ADJUSTS_POD
    )


def _format_like(after: str, asked: _RequestOrLimit, written: str) -> str:
    """Return the present amount in the unit of `after` if it has a short form, or as written."""
    if asked.resource == "cpu" and written.endswith("m") and not after.endswith("m"):
        return f"{asked.amount / 1000:.12g}"
    exact = amounts.format_quantity(asked.resource, asked.amount)
    return exact if exact.lstrip(_DIGITS) == after.lstrip(_DIGITS) != "" else written


# --- amounts at which something changes ----------------------------------------------------------


def _list_free_amounts(tried: trials.PodTrials, nodes: list[str], resource: str) -> list[int]:
    """Return the positive free amounts of a resource on the nodes, the largest first."""
    columns = tried.decider.cluster.cache.nodes
    rows = np.array([columns.row_of[name] for name in nodes], np.intp)
    at = columns.get_resource_column_index(resource)
    free = np.unique(columns.allocatable[rows, at] - columns.requested[rows, at])
    return [int(amount) for amount in free[free > 0][::-1]]


def _find_threshold_totals(
    tried: trials.PodTrials, found: _AmountReadingRules, asked: _RequestOrLimit
) -> list[int]:
    """Return the amounts of the whole pod near which comparisons of rules change their result.

    The amounts are computed from the slopes of the comparisons. They are exact for comparisons that
    are linear in the amount and approximate for others.
    """
    start = asked.amount or _OTHER_AMOUNT
    bases = [start, start // 2 if start > 1 else _OTHER_AMOUNT]
    if asked.kind == "requests":
        bases[0] = asked.amount
    step = amount_search.get_amount_search_step(asked.resource, max(bases))
    turns: set[float] = {each.value for each in found.numbers if each.resource == asked.resource}
    for compare in found.compares:
        turns.update(_find_comparison_crossings(tried, found, asked, compare, bases))
    several: set[int] = set()
    for turn in turns:
        several.update((math.floor(turn) - step, math.floor(turn), math.ceil(turn)))
        several.add(math.ceil(turn) + step)
    return sorted(several, reverse=True)


def _find_comparison_crossings(
    tried: trials.PodTrials,
    found: _AmountReadingRules,
    asked: _RequestOrLimit,
    compare: checked_expr.Compare,
    bases: Sequence[int],
) -> Iterator[float]:
    """Yield the amounts of the whole pod at which both sides of a comparison are equal."""
    shapes = [
        tried.decider.cluster.shapes.make_pod_info(asked.make_pod_with_amount(base)).shape
        for base in bases
    ]
    here, there = (
        _compute_total_request_or_limit(shape, asked.kind, asked.resource) for shape in shapes
    )
    if here is None or there is None or here == there:
        return
    before, after = (
        _compute_operand_difference(tried, compare, found.nodes, shape) for shape in shapes
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = here - before * (there - here) / (after - before)
    yield from np.unique(roots[np.abs(roots) < _LARGEST]).tolist()


def _compute_operand_difference(
    tried: trials.PodTrials,
    compare: checked_expr.Compare,
    nodes: list[str],
    shape: pod_shape.PodShape,
) -> columns.FloatArray:
    """Return float64 (n,): the left side minus the right side of a comparison on n nodes."""
    left, right = (
        rule_values.evaluate_expression_on_nodes(tried, side, nodes, shape)
        for side in (compare.left, compare.right)
    )
    return left - right
