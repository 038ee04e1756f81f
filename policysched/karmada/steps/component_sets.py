"""Count the whole sets of a workload's components that fit (MultiplePodTemplatesScheduling).

A workload with several components, such as a job manager and its workers, is placed as a whole in
one cluster, or not at all.

Source: Karmada v1.18.2 `pkg/scheduler/core/estimation.go`, `pkg/estimator/client/general.go`
(`maxAvailableComponentSets`), `pkg/estimator/scheduling_simulator_components.go`.
"""

from __future__ import annotations

import collections
import math
from typing import TYPE_CHECKING

import msgspec

from policysched import quantity
from policysched.karmada import objects
from policysched.karmada.steps import capacity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from policysched.cluster.objects import wire
    from policysched.karmada.state import snapshot

_ONE_CLUSTER = ("cluster", 1, 1)


def is_placed_in_one_cluster(spec: objects.BindingSpec) -> bool:
    """Return whether the binding has components, and its placement requires exactly one cluster."""
    if not spec.components or spec.placement is None:
        return False
    return any(
        (each.spread_by_field, each.min_groups, each.max_groups) == _ONE_CLUSTER
        for each in spec.placement.spread_constraints
    )


def count_available_sets(
    spec: objects.BindingSpec,
    clusters: snapshot.ControlPlaneSnapshot,
    feasible: Sequence[int] = (),
    *,
    with_models: bool = True,
) -> capacity.Room:
    """Return the number of component sets that fit in each cluster.

    For a binding that is not placed as whole sets, return the number of replicas that fit.

    Raises:
        EstimatesMissing: estimators must be queried first.
    """
    if not is_placed_in_one_cluster(spec):
        return capacity.count_available_replicas(spec, clusters, feasible, with_models=with_models)
    key = msgspec.json.encode(spec.components, order="sorted")
    rooms: capacity.Room = clusters.memoize(
        ("sets", key, with_models),
        lambda: [_count_cluster_sets(c, spec.components, with_models) for c in clusters.clusters],
    )
    return capacity.limit_replicas_by_estimators(rooms, spec, clusters, feasible, counts_sets=True)


def _count_cluster_sets(
    cluster: objects.Cluster,
    components: Sequence[objects.Component],
    with_models: bool,  # noqa: FBT001 - passed on by its caller
) -> int:
    """Return the number of component sets that fit according to the status of one cluster."""
    summary = cluster.status.resource_summary
    if summary is None:
        return 0
    pods = math.ceil(capacity.compute_available_amount(summary, capacity.PODS) or 0)
    if pods <= 0:
        return 0
    of_set = sum(each.replicas for each in components)
    if of_set <= 0:
        return objects.wrap_int32(pods)
    sets = objects.wrap_int32(pods // of_set)
    for resource, asked in _sum_set_requests(components).items():
        if asked <= 0:
            continue
        left = capacity.compute_available_amount(summary, resource)
        amount = (
            0 if left is None else _convert_to_written_unit(summary.allocatable[resource], left)
        )
        if amount <= 0:
            return 0
        sets = min(sets, objects.wrap_int32(amount // asked))
    nodes = (
        capacity.count_nodes_by_size(cluster.spec.resource_models, summary) if with_models else None
    )
    return sets if nodes is None else _count_sets_on_nodes(nodes, components, sets)


def _sum_set_requests(components: Sequence[objects.Component]) -> dict[str, int]:
    total: collections.Counter[str] = collections.Counter()
    for each in components:
        if each.replica_requirements is not None:
            for resource, asked in each.replica_requirements.resource_request.items():
                amount = _convert_to_written_unit(asked, quantity.parse_quantity(str(asked)))
                total[resource] += amount * each.replicas
    return total


def _convert_to_written_unit(written: wire.Quantity, amount: Fraction) -> int:
    """Return an amount in thousandths, or in whole units if `written` has a binary suffix.

    As in Karmada, the compared units differ if only one side has a binary suffix.
    """
    return math.ceil(amount * (1 if str(written).endswith("i") else 1000))


class _ModelNode:
    """A node of a resource model, with its free resources."""

    def __init__(self, size: dict[str, wire.Quantity]) -> None:
        self.pods = capacity.PODS_PER_NODE
        self.left = {
            name: capacity.convert_resource_amount(name, amount) for name, amount in size.items()
        }

    def reserve_fitting_replicas(self, wanted: dict[str, int], replicas: int) -> int:
        """Reserve resources for as many replicas as fit, up to `replicas`; return their number."""
        taken = min(
            (max(0, self.left.get(name, 0)) // amount for name, amount in wanted.items()),
            default=replicas,
        )
        taken = min(taken, self.pods, replicas)
        self.pods -= taken
        for name, amount in wanted.items():
            self.left[name] = self.left.get(name, 0) - amount * taken
        return taken


def _count_sets_on_nodes(
    nodes: Sequence[tuple[dict[str, wire.Quantity], int]],
    components: Sequence[objects.Component],
    limit: int,
) -> int:
    """Return the number of sets that fit if each replica is placed on the first fitting node."""
    standing = [_ModelNode(size) for size, count in nodes for _ in range(count)]
    asked = [(_convert_component_requests(each), each.replicas) for each in components]
    for number in range(limit):
        for wanted, replicas in asked:
            missing = replicas
            for node in standing:
                if missing <= 0:
                    break
                missing -= node.reserve_fitting_replicas(wanted, missing)
            if missing > 0:
                return number
    return limit


def _convert_component_requests(component: objects.Component) -> dict[str, int]:
    """Return the positive requests of a replica for resources that simulated nodes have."""
    requirements = component.replica_requirements
    request = {} if requirements is None else requirements.resource_request
    amounts = {
        name: capacity.convert_resource_amount(name, asked) for name, asked in request.items()
    }
    return {
        name: amount
        for name, amount in amounts.items()
        if amount > 0 and capacity.is_simulated_node_resource(name)
    }
