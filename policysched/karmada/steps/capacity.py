"""Compute available replicas from the status of clusters and the answers of estimators.

Source: Karmada v1.18.2 `pkg/estimator/client/general.go` and `pkg/scheduler/core/util.go`
(`calAvailableReplicas`). CPU is in millicores, all other resources in whole units, rounded up.
"""

from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from policysched import int64, quantity
from policysched.karmada import objects
from policysched.karmada.state import estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from policysched.cluster.objects import wire
    from policysched.karmada.state import snapshot

Room: TypeAlias = "Sequence[int]"
"""Available replicas of each cluster of a snapshot, in int32."""

MAX_INT32: Final = 2**31 - 1
PODS_PER_NODE: Final = 110
"""Number of pods that Karmada assumes for a node of a resource model."""

_CPU, PODS = "cpu", "pods"
_NATIVE = frozenset({_CPU, "memory", "ephemeral-storage"})


def count_available_replicas(
    spec: objects.BindingSpec,
    clusters: snapshot.ControlPlaneSnapshot,
    feasible: Sequence[int] = (),
    *,
    with_models: bool = True,
) -> Room:
    """Return the available replicas of the binding in each cluster.

    A binding that has neither replicas nor components is not estimated: each cluster gets the
    greatest int32. A cluster without a limit gets the replicas of the binding, so that sums stay in
    int32.

    Args:
        spec: the spec of the binding.
        clusters: all clusters.
        feasible: indices of the feasible clusters; only their estimators are used.
        with_models: whether to use the resource models of clusters, if they have any (the gate
            CustomizedClusterResourceModeling).

    Raises:
        EstimatesMissing: estimators must be queried first.
    """
    if spec.replicas == 0 and not spec.components:
        return [MAX_INT32] * len(clusters.clusters)
    requirements = spec.replica_requirements
    asked = None if requirements is None else requirements.resource_request
    key = b"" if asked is None else msgspec.json.encode(asked, order="sorted")
    rooms: Room = clusters.memoize(
        ("room", key, with_models),
        lambda: [
            _count_cluster_replicas(c, requirements, with_models=with_models)
            for c in clusters.clusters
        ],
    )
    return limit_replicas_by_estimators(rooms, spec, clusters, feasible)


def limit_replicas_by_estimators(
    rooms: Room,
    spec: objects.BindingSpec,
    clusters: snapshot.ControlPlaneSnapshot,
    feasible: Sequence[int],
    *,
    counts_sets: bool = False,
) -> Room:
    """Return the available replicas `rooms`, limited by the estimators of the clusters.

    Raises:
        EstimatesMissing: estimators must be queried first.
    """
    if clusters.estimated is not None:
        by_name = {clusters.clusters[i].metadata.name: i for i in feasible}
        about = estimates.EstimateRequest(spec, (), counts_sets)
        rooms = estimates.cap_available_replicas(rooms, by_name, clusters.estimated, about)
    return [spec.replicas if room == MAX_INT32 else room for room in rooms]


def _count_cluster_replicas(
    cluster: objects.Cluster,
    requirements: objects.ReplicaRequirements | None,
    *,
    with_models: bool,
) -> int:
    """Return the available replicas from the status of one cluster."""
    summary = cluster.status.resource_summary
    if summary is None:
        return 0
    pods = math.ceil(compute_available_amount(summary, PODS) or 0)
    if pods <= 0:
        return 0
    if requirements is None:
        return objects.wrap_int32(pods)
    models = cluster.spec.resource_models if with_models else ()
    by_nodes = _count_replicas_by_models(models, summary, requirements.resource_request)
    if by_nodes is None:
        by_nodes = _count_replicas_by_summary(summary, requirements.resource_request)
    return objects.wrap_int32(min(pods, by_nodes))


def compute_available_amount(summary: objects.ResourceSummary, resource: str) -> Fraction | None:
    """Return the allocatable minus the allocated and allocating amounts.

    Return None if the resource is not allocatable.
    """
    if resource not in summary.allocatable:
        return None
    taken = (summary.allocated, summary.allocating)
    listed = [
        quantity.parse_quantity(str(amounts[resource])) for amounts in taken if resource in amounts
    ]
    return quantity.parse_quantity(str(summary.allocatable[resource])) - sum(listed)


def _count_replicas_by_summary(
    summary: objects.ResourceSummary, request: objects.ResourceList
) -> int:
    """Return the number of replicas that fit in the cluster's free resources."""
    room = int64.MAX
    for resource, asked in request.items():
        if quantity.parse_whole_units(asked) <= 0:
            continue
        left = compute_available_amount(summary, resource)
        if left is None or left <= 0:
            return 0
        unit = 1000 if resource == _CPU else 1
        room = min(room, math.ceil(left * unit) // convert_resource_amount(resource, asked))
    return room


def _count_replicas_by_models(
    models: Sequence[objects.ResourceModel],
    summary: objects.ResourceSummary,
    request: objects.ResourceList,
) -> int | None:
    """Return the number of replicas that fit on minimum-size nodes; None without usable models."""
    nodes = count_nodes_by_size(models, summary)
    if nodes is None:
        return None
    return min(
        MAX_INT32, sum(count * _count_replicas_on_node(size, request) for size, count in nodes)
    )


def count_nodes_by_size(
    models: Sequence[objects.ResourceModel], summary: objects.ResourceSummary
) -> list[tuple[dict[str, wire.Quantity], int]] | None:
    """Return the minimum size of each grade and its number of nodes, smallest grade first.

    Return None without usable models.
    """
    counted = summary.allocatable_modelings
    if not counted or not models or any(grade.count < 0 for grade in counted):
        return None
    nodes: collections.Counter[int] = collections.Counter()
    for grade in counted:
        nodes[grade.grade] += grade.count
    sizes = {model.grade: {r.name: r.min for r in model.ranges} for model in models}
    return [(sizes[grade], nodes[grade]) for grade in sorted(sizes)]


def _count_replicas_on_node(
    size: Mapping[str, wire.Quantity], request: objects.ResourceList
) -> int:
    """Return the number of replicas that fit on a node of the given size."""
    room = PODS_PER_NODE
    for resource, asked in request.items():
        wanted = convert_resource_amount(resource, asked)
        if wanted > 0 and is_simulated_node_resource(resource):
            room = min(
                room, max(0, convert_resource_amount(resource, size.get(resource, 0))) // wanted
            )
    return room


def is_simulated_node_resource(resource: str) -> bool:
    """Return whether the simulated nodes have the resource, natively or as a scalar resource."""
    return (
        resource in _NATIVE
        or "/" in resource
        or resource.startswith(("hugepages-", "attachable-volumes-"))
    )


def convert_resource_amount(resource: str, amount: wire.Quantity) -> int:
    """Convert an amount: CPU to millicores, other resources to whole units, rounded up."""
    return (
        quantity.parse_milli_units(amount)
        if resource == _CPU
        else quantity.parse_whole_units(amount)
    )
