"""Define the arguments of NodeResourcesFit and NodeResourcesBalancedAllocation.

Sources: `apis/config/types_pluginargs.go`, `apis/config/v1/defaults.go`,
`apis/config/validation/validation_pluginargs.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policysched.lang.words import kubernetes_names
from policysched.plugins import arguments
from policysched.plugins.kernels import allocation

DEFAULT_RESOURCES = (("cpu", 1), ("memory", 1))
_MAX_WEIGHT = 100
_MAX_SHAPE_SCORE = 10
_POINTS_PER_SHAPE_SCORE = 10


class ResourceSpec(arguments.ArgumentStruct, frozen=True):
    """A resource and its weight in the score."""

    name: str
    weight: int = 1


class UtilizationShapePoint(arguments.ArgumentStruct, frozen=True):
    """A point of the scoring function: utilisation (0 to 100) and score (0 to 10)."""

    utilization: int
    score: int


class RequestedToCapacityRatioParam(arguments.ArgumentStruct, frozen=True):
    """Parameters of the strategy RequestedToCapacityRatio, besides its resources."""

    shape: tuple[UtilizationShapePoint, ...]


class ScoringStrategy(arguments.ArgumentStruct, frozen=True):
    """The function that scores nodes by utilisation, and its parameters."""

    type: str = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments of NodeResourcesFit."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class BalancedAllocationArgs(arguments.ArgumentStruct, frozen=True):
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceSpec, ...] = ()


def make_scoring_strategy(given: ScoringStrategy) -> allocation.Strategy:
    """Return the scoring function of the arguments.

    Raises:
        ArgumentError: the type is unknown, or its parameters are invalid or of another type.
    """
    param = given.requested_to_capacity_ratio
    if given.type == "RequestedToCapacityRatio":
        if param is None:
            msg = "`scoringStrategy.requestedToCapacityRatio.shape` is missing"
            raise arguments.ArgumentError(msg)
        return allocation.RequestedToCapacityRatio(_make_utilization_shape(param.shape))
    if param is not None:
        msg = (
            "`scoringStrategy.requestedToCapacityRatio` is only allowed with the type of that name"
        )
        raise arguments.ArgumentError(msg)
    match given.type:
        case "LeastAllocated":
            return allocation.LEAST_ALLOCATED
        case "MostAllocated":
            return allocation.MOST_ALLOCATED
        case _:
            msg = (
                f"`scoringStrategy.type` is `{given.type}`, but must be LeastAllocated, "
                "MostAllocated or RequestedToCapacityRatio"
            )
            raise arguments.ArgumentError(msg)


def get_weighted_resources(given: Iterable[ResourceSpec]) -> tuple[tuple[str, int], ...]:
    """Return (name, weight) for each resource; by default, CPU and memory. Weight 0 means 1.

    Raises:
        ArgumentError: a weight is not between 0 and 100.
    """
    found = tuple((r.name, r.weight or 1) for r in given)
    for name, weight in found:
        arguments.require_range(f"scoringStrategy.resources: {name}", weight, 1, _MAX_WEIGHT)
    return found or DEFAULT_RESOURCES


def get_resource_names(given: Sequence[ResourceSpec]) -> tuple[str, ...]:
    """Return the names of the resources; by default, CPU and memory.

    Raises:
        ArgumentError: a resource is repeated, or its weight is neither 0 nor 1.
    """
    for resource in given:
        arguments.require_range(f"resources: {resource.name}", resource.weight or 1, 1, 1)
    found = tuple(r.name for r in given)
    if len(set(found)) < len(found):
        msg = "`resources` names a resource twice"
        raise arguments.ArgumentError(msg)
    return found or tuple(name for name, _ in DEFAULT_RESOURCES)


def get_ignored_resources(given: Iterable[str]) -> frozenset[str]:
    """Return the extended resources that Filter ignores.

    Raises:
        ArgumentError: a resource name is invalid.
    """
    found = tuple(given)
    for name in found:
        _require_resource_name("ignoredResources", name)
    return frozenset(found)


def get_ignored_resource_groups(given: Iterable[str]) -> frozenset[str]:
    """Return the groups of extended resources that Filter ignores (name up to the slash).

    Raises:
        ArgumentError: a group contains a slash or is invalid.
    """
    found = tuple(given)
    for group in found:
        if "/" in group:
            msg = f"`ignoredResourceGroups` names a group, without a slash, not `{group}`"
            raise arguments.ArgumentError(msg)
        _require_resource_name("ignoredResourceGroups", group)
    return frozenset(found)


def _require_resource_name(where: str, name: str) -> None:
    problem = kubernetes_names.find_label_key_problem(name)
    if problem:
        msg = f"`{where}` has `{name}`, which {problem}"
        raise arguments.ArgumentError(msg)


def _make_utilization_shape(points: Sequence[UtilizationShapePoint]) -> list[tuple[int, int]]:
    """Return (utilisation, score from 0 to 100) for each point, after validating all points."""
    where = "scoringStrategy.requestedToCapacityRatio.shape"
    if not points:
        msg = f"`{where}` needs at least one point"
        raise arguments.ArgumentError(msg)
    for point in points:
        arguments.require_range(f"{where}: utilization", point.utilization, 0, 100)
        arguments.require_range(f"{where}: score", point.score, 0, _MAX_SHAPE_SCORE)
    utilizations = [p.utilization for p in points]
    if sorted(set(utilizations)) != utilizations:
        msg = f"`{where}` must have increasing utilizations"
        raise arguments.ArgumentError(msg)
    return [(p.utilization, p.score * _POINTS_PER_SHAPE_SCORE) for p in points]
