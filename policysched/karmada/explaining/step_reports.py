"""Report how a decision selected clusters and divided replicas.

This module makes no decisions: `select_clusters` and `assignment` make them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias

from policysched.karmada import objects
from policysched.karmada.steps import assignment, capacity, region_groups, select_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policysched.karmada import interface
    from policysched.karmada.steps import candidates

Chooser: TypeAlias = Literal["all", "cluster", "region"]
Divider: TypeAlias = Literal["none", "duplicated", "staticWeights", "room", "fewest", "score"]


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSelectionReport:
    """A report on the selection among the clusters that passed the filters.

    Attributes:
        by: the field of the spread constraint; `all` if every cluster was selected.
        how: a description of the selection in words.
        clusters: the selected clusters, best first.
    """

    by: Chooser
    how: str
    clusters: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicaDivisionReport:
    """A report on the division of replicas among the selected clusters.

    Attributes:
        by: the kind of division; `none` if there are no replicas to divide.
        how: a description of the division in words.
        replicas: number of divided replicas, excluding replicas that stay on their clusters.
        kept: replicas that stay, keyed by cluster.
        weights: the proportions of the division, keyed by cluster; empty without weights, or if
            each overflow tier has weights of its own.
    """

    by: Divider
    how: str
    replicas: int
    kept: Mapping[str, int]
    weights: Mapping[str, int]


def report_cluster_selection(
    request: interface.SchedulingRequest, chosen: Sequence[candidates.CandidateCluster]
) -> ClusterSelectionReport:
    """Return how the clusters `chosen` were selected for a request."""
    names = tuple(candidate.name for candidate in chosen)
    placement = request.placement
    if not placement.spread_constraints:
        return ClusterSelectionReport(
            "all", "no spread constraint, so all clusters that pass, the best first", names
        )
    fields = {each.spread_by_field for each in placement.spread_constraints}
    by: Chooser = "region" if "region" in fields else "cluster"
    if select_clusters.ignores_spread_constraints(placement.replica_scheduling):
        return ClusterSelectionReport(
            "all",
            "static weights use all clusters that pass, regardless of spread constraints",
            names,
        )
    bounds = [
        _format_spread_bounds(placement, field)
        for field in ("region", "cluster")
        if field in fields
    ]
    is_divided = placement.scheduling_type != objects.DUPLICATED
    swaps = ", the worst replaced by clusters with more capacity until all replicas fit"
    more = swaps if is_divided and by == "cluster" else ""
    return ClusterSelectionReport(by, f"the best by {' and '.join(bounds)}{more}", names)


def _format_spread_bounds(placement: objects.Placement, field: str) -> str:
    bound = region_groups.find_spread_constraint(placement, field)
    most = "any number" if bound.max_groups == capacity.MAX_INT32 else f"{bound.max_groups:,}"
    return f"{field} ({bound.min_groups:,} to {most})"


def report_replica_division(
    request: interface.SchedulingRequest,
    chosen: Sequence[candidates.CandidateCluster],
    *,
    afresh: bool,
) -> ReplicaDivisionReport:
    """Return how a request divides its replicas among `chosen`, even if the division fails."""
    spec, strategy = request.spec, request.placement.replica_scheduling
    if not assignment.has_replicas_to_divide(spec):
        return ReplicaDivisionReport(
            "none", "no replicas to divide: every chosen cluster gets the resource", 0, {}, {}
        )
    if strategy is None or strategy.replica_scheduling_type == objects.DUPLICATED:
        return ReplicaDivisionReport(
            "duplicated",
            "duplicated: every chosen cluster gets all replicas",
            spec.replicas,
            {},
            {},
        )
    if assignment.fills_clusters_by_tier(request):
        how = "clusters of the affinity first, then the overflow clusters"
        return ReplicaDivisionReport(
            _get_division_method(strategy, chosen), how, spec.replicas, {}, {}
        )
    whole = assignment.ReplicaDivision(chosen, spec.replicas, spec, strategy, afresh)
    by = _get_division_method(strategy, chosen)
    if by == "staticWeights":
        weights = assignment.get_static_weights(whole)
        return ReplicaDivisionReport(
            by, "in proportion to static weights", spec.replicas, {}, weights
        )
    return _report_least_moving_division(whole, by)


def _get_division_method(
    strategy: objects.ReplicaScheduling, chosen: Sequence[candidates.CandidateCluster]
) -> Divider:
    """Return the kind of division that the strategy and the votes select."""
    if strategy.replica_division_preference == objects.AGGREGATED:
        return "fewest"
    if any(candidate.votes for candidate in chosen):
        return "score"
    weights = strategy.weight_preference
    return "room" if weights is not None and weights.dynamic_weight else "staticWeights"


_BY = {
    "room": "in proportion to the capacity of clusters",
    "fewest": "among as few clusters as have enough capacity",
    "score": "in proportion to points, limited by capacity",
}


def _report_least_moving_division(
    whole: assignment.ReplicaDivision, by: Divider
) -> ReplicaDivisionReport:
    """Report a division that moves as few replicas as possible."""
    present, words = whole.present_replicas, _BY[by]
    placed = sum(present.values())
    if whole.afresh:
        weights = _compute_division_votes(whole, by, with_present=True)
        return ReplicaDivisionReport(by, f"from the start, {words}", whole.replicas, {}, weights)
    if placed == whole.replicas:
        return ReplicaDivisionReport(by, "all replicas are placed and stay", 0, present, {})
    if placed > whole.replicas:
        how = "scaled down in proportion to the current replicas"
        return ReplicaDivisionReport(by, how, whole.replicas, {}, present)
    how = f"only the missing replicas, {words}" if placed else words
    weights = _compute_division_votes(whole, by, with_present=False)
    return ReplicaDivisionReport(by, how, whole.replicas - placed, present, weights)


def _compute_division_votes(
    whole: assignment.ReplicaDivision, by: Divider, *, with_present: bool
) -> dict[str, int]:
    if by == "score":
        return {each.name: each.votes or 0 for each in whole.clusters}
    return {each.name: each.available if with_present else each.room for each in whole.clusters}
