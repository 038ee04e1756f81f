"""Select clusters for a binding from the feasible clusters (Karmada's step SelectClusters).

Source: Karmada v1.18.2 `pkg/scheduler/core/spreadconstraint/select_clusters*.go`. Only spread
constraints on clusters and regions affect the selection; constraints on zones and providers only
filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from policysched.karmada import errors, objects
from policysched.karmada.steps import region_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada.steps import candidates

Selection: TypeAlias = "Sequence[candidates.CandidateCluster] | errors.PlacementFailure"


def select_clusters_for_binding(
    found: Sequence[candidates.CandidateCluster],
    spec: objects.BindingSpec,
    placement: objects.Placement,
    needed: int,
) -> Selection:
    """Return the clusters among which to divide the replicas, best first, or the failure.

    `needed` is the number of available replicas required in all selected clusters together; see
    `BindingAlgorithm.count_needed_replicas`.
    """
    ranked = sorted(found, key=lambda candidate: candidate.sort_key)
    if not placement.spread_constraints or ignores_spread_constraints(placement.replica_scheduling):
        return ranked
    fields = {constraint.spread_by_field for constraint in placement.spread_constraints}
    if "region" in fields:
        return _select_by_region(ranked, spec, placement)
    if "cluster" in fields:
        return _select_by_cluster(ranked, placement, needed)
    return errors.PlacementFailure("other", "just support cluster and region spread constraint")


def ignores_spread_constraints(strategy: objects.ReplicaScheduling | None) -> bool:
    """Return whether replicas are divided by static weights, which ignores spread constraints."""
    if strategy is None or strategy.replica_scheduling_type != objects.DIVIDED:
        return False
    if strategy.replica_division_preference != objects.WEIGHTED:
        return False
    weights = strategy.weight_preference
    return weights is None or bool(weights.static_weight_list and not weights.dynamic_weight)


def _select_by_cluster(
    ranked: Sequence[candidates.CandidateCluster], placement: objects.Placement, needed: int
) -> Selection:
    """Select the best clusters according to the spread constraint on clusters."""
    constraint = region_groups.find_spread_constraint(placement, "cluster")
    if len(ranked) < constraint.min_groups:
        return errors.PlacementFailure(
            "other", "the number of feasible clusters is less than spreadConstraint.MinGroups"
        )
    count = min(len(ranked), constraint.max_groups)
    if placement.scheduling_type == objects.DUPLICATED:
        return ranked[:count]
    chosen = _exchange_for_roomier_clusters(ranked, count, needed)
    return chosen or errors.PlacementFailure(
        "other", f"no enough resource when selecting {count} clusters"
    )


def _exchange_for_roomier_clusters(
    ranked: Sequence[candidates.CandidateCluster], count: int, needed: int
) -> Sequence[candidates.CandidateCluster]:
    """Return the best `count` clusters, replacing the worst with roomier clusters as needed.

    Return an empty sequence if the available replicas still do not suffice.
    """
    chosen, rest = list(ranked[:count]), list(ranked[count:])
    for place in reversed(range(count)):
        if sum(c.available for c in chosen) >= needed:
            break
        roomiest = max(range(len(rest)), key=lambda i: rest[i].available, default=None)
        if roomiest is not None and rest[roomiest].available > chosen[place].available:
            chosen[place], rest[roomiest] = rest[roomiest], chosen[place]
    return chosen if sum(c.available for c in chosen) >= needed else ()


def _select_by_region(
    ranked: Sequence[candidates.CandidateCluster],
    spec: objects.BindingSpec,
    placement: objects.Placement,
) -> Selection:
    """Select regions, then the best cluster of each region, then more of their clusters."""
    wanted = region_groups.find_spread_constraint(placement, "region")
    clusters = region_groups.find_spread_constraint(placement, "cluster")
    regions = region_groups.group_by_region(ranked, spec, placement)
    if len(regions) < wanted.min_groups:
        return errors.PlacementFailure(
            "other", "the number of feasible region is less than spreadConstraint.MinGroups"
        )
    chosen = region_groups.choose_regions(
        regions, wanted.min_groups, wanted.max_groups, clusters.min_groups
    )
    if not chosen:
        return errors.PlacementFailure(
            "other", "the number of clusters is less than the cluster spreadConstraint.MinGroups"
        )
    firsts = [region.members[0] for region in chosen]
    others = sorted(
        (member for region in chosen for member in region.members[1:]),
        key=lambda candidate: candidate.sort_key,
    )
    return [*firsts, *others[: max(0, clusters.max_groups - len(firsts))]]
