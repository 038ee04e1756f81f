"""Validate values that the object types do not check: quantities, times and int32 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched import quantity
from policysched.cluster.objects import time_text
from policysched.karmada import objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from policysched.cluster.objects import wire


def find_object_problem(found: objects.Cluster | objects.Binding) -> str:
    """Return a description of the first invalid value, or "" if there is none.

    Decisions require objects without invalid values.
    """
    if isinstance(found, objects.Cluster):
        return _find_invalid_quantity(_list_cluster_amounts(found))
    times = (found.spec.reschedule_triggered_at, found.status.last_scheduled_time)
    return (
        _find_invalid_replica_count(_list_replica_counts(found.spec))
        or _find_invalid_quantity(_list_binding_amounts(found.spec))
        or _find_invalid_time(times)
    )


def _find_invalid_replica_count(replicas: Iterable[int]) -> str:
    for number in replicas:
        if number != objects.wrap_int32(number):
            return f"`{number}` replicas are outside the int32 range of the API"
    return ""


def _find_invalid_quantity(amounts: Iterable[wire.Quantity]) -> str:
    for amount in amounts:
        try:
            quantity.parse_quantity(str(amount))
        except quantity.QuantityError as error:
            return str(error)
    return ""


def _find_invalid_time(times: Iterable[str | None]) -> str:
    return next(filter(None, map(time_text.find_time_problem, times)), "")


def _list_replica_counts(spec: objects.BindingSpec) -> Iterator[int]:
    yield spec.replicas
    yield from (each.replicas for each in spec.components)
    yield from (each.replicas for each in spec.clusters)


def _list_cluster_amounts(cluster: objects.Cluster) -> Iterator[wire.Quantity]:
    for model in cluster.spec.resource_models:
        yield from (each.min for each in model.ranges)
    summary = cluster.status.resource_summary
    if summary is not None:
        for amounts in (summary.allocatable, summary.allocating, summary.allocated):
            yield from amounts.values()


def _list_binding_amounts(spec: objects.BindingSpec) -> Iterator[wire.Quantity]:
    asked = (spec.replica_requirements, *(each.replica_requirements for each in spec.components))
    for requirements in asked:
        if requirements is not None:
            yield from requirements.resource_request.values()
