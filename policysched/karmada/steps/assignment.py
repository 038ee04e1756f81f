"""Divide replicas among the selected clusters (Karmada's step AssignReplicas).

Source: Karmada v1.18.2 `pkg/scheduler/core/common.go`, `assignment.go`, `division_algorithm.go`.
Sums of replicas are int32, as in Karmada.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from policysched.karmada import cluster_matching, errors, objects
from policysched.karmada.steps import score_division, webster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada import interface
    from policysched.karmada.steps import candidates

Shares: TypeAlias = dict[str, int]
"""Replicas keyed by cluster, in the order in which they are written."""
Assignment: TypeAlias = "Shares | errors.PlacementFailure"


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicaDivision:
    """One division of replicas among clusters.

    Attributes:
        clusters: the selected clusters, best first.
        replicas: number of replicas to divide.
        spec: the spec of the binding.
        strategy: the kind of division.
        afresh: whether to ignore the current placement of replicas.
    """

    clusters: Sequence[candidates.CandidateCluster]
    replicas: int
    spec: objects.BindingSpec
    strategy: objects.ReplicaScheduling | None
    afresh: bool

    @property
    def present_replicas(self) -> Shares:
        """The replicas that are already on selected clusters."""
        names = {candidate.name for candidate in self.clusters}
        return {t.name: t.replicas for t in self.spec.clusters if t.name in names}


def assign_replicas(
    chosen: Sequence[candidates.CandidateCluster],
    request: interface.SchedulingRequest,
    *,
    afresh: bool,
) -> Assignment:
    """Return the replicas keyed by cluster, or the failure.

    A binding without replicas to divide gets all clusters, with 0 replicas each.
    """
    spec = request.spec
    if not chosen:
        return errors.PlacementFailure("other", "no clusters available to schedule")
    if not has_replicas_to_divide(spec):
        return {candidate.name: 0 for candidate in chosen}
    strategy = request.placement.replica_scheduling
    whole = ReplicaDivision(chosen, spec.replicas, spec, strategy, afresh)
    return _divide_by_tiers(whole) if fills_clusters_by_tier(request) else _divide_replicas(whole)


def has_replicas_to_divide(spec: objects.BindingSpec) -> bool:
    """Return whether there are replicas to divide."""
    has_replicas = spec.replicas > 0 or spec.replica_requirements is not None
    return has_replicas and len(spec.components) <= 1


def fills_clusters_by_tier(request: interface.SchedulingRequest) -> bool:
    """Return whether to fill clusters tier by tier, starting with the affinity term's clusters."""
    if request.placement.cluster_affinity is not None or not request.affinity_name:
        return False
    term = request.affinity_term
    return term is not None and term.overflow_affinities is not None


def _divide_by_tiers(whole: ReplicaDivision) -> Assignment:
    """Fill the clusters of the affinity term before the clusters of its overflow affinities."""
    tiers: dict[int, list[candidates.CandidateCluster]] = {}
    for candidate in whole.clusters:
        tiers.setdefault(candidate.overflow_order, []).append(candidate)
    left, shares = whole.replicas, Shares()
    for order in sorted(tiers):
        part = min(left, sum(candidate.available for candidate in tiers[order]))
        share = _divide_replicas(dataclasses.replace(whole, clusters=tiers[order], replicas=part))
        if isinstance(share, errors.PlacementFailure):
            return share
        shares |= share
        left -= part
        if left <= 0:
            return shares
    return errors.PlacementFailure(
        "unschedulable", "Clusters available replicas are not enough to schedule."
    )


def _divide_replicas(division: ReplicaDivision) -> Assignment:
    """Divide according to the strategy of the placement; omit clusters without replicas."""
    strategy = division.strategy
    if strategy is None or strategy.replica_scheduling_type == objects.DUPLICATED:
        shares: Assignment = {c.name: division.replicas for c in division.clusters}
    elif strategy.replica_division_preference == objects.AGGREGATED:
        shares = _divide_by_available_replicas(division, aggregated=True)
    elif strategy.replica_division_preference == objects.WEIGHTED:
        weights = strategy.weight_preference
        if any(candidate.votes for candidate in division.clusters):
            shares = _divide_by_score(division)
        elif weights is not None and weights.dynamic_weight:
            shares = _divide_by_available_replicas(division, aggregated=False)
        else:
            shares = _divide_by_static_weight(division)
    else:
        return errors.PlacementFailure("other", _describe_unsupported_strategy(strategy))
    if isinstance(shares, errors.PlacementFailure):
        return shares
    return {name: replicas for name, replicas in shares.items() if replicas > 0}


def _describe_unsupported_strategy(strategy: objects.ReplicaScheduling) -> str:
    return (
        "unsupported replica scheduling strategy, replicaSchedulingType: "
        f"{strategy.replica_scheduling_type}, replicaDivisionPreference: "
        f"{strategy.replica_division_preference}, please try another scheduling strategy"
    )


def _divide_by_static_weight(division: ReplicaDivision) -> Shares:
    """Divide by the static weights, regardless of available and current replicas."""
    votes = get_static_weights(division)
    return webster.divide_seats(division.replicas, votes, division.spec.resource.uid)


def get_static_weights(division: ReplicaDivision) -> dict[str, int]:
    """Return the static weights of clusters; 1 for all clusters if no cluster has a weight."""
    preference = division.strategy.weight_preference if division.strategy else None
    rules = () if preference is None else preference.static_weight_list
    weights = {}
    for candidate in division.clusters:
        matching = [
            rule.weight
            for rule in rules
            if cluster_matching.matches_cluster_affinity(candidate.cluster, rule.target_cluster)
        ]
        if (weight := max(matching, default=0)) > 0:
            weights[candidate.name] = weight
    return weights or {candidate.name: 1 for candidate in division.clusters}


def _divide_by_available_replicas(division: ReplicaDivision, *, aggregated: bool) -> Assignment:
    """Divide by available replicas; unless `afresh`, move as few current replicas as possible."""
    present = division.present_replicas
    placed = objects.wrap_int32(sum(present.values()))
    if division.afresh:
        votes = {
            c.name: objects.wrap_int32(c.room + present.get(c.name, 0)) for c in division.clusters
        }
        shares = _divide_by_votes(division, votes, division.replicas, {}, aggregated=aggregated)
        return _prefix_division_failure(shares, "failed to do fresh scale")
    if placed > division.replicas:
        shares = _divide_by_votes(division, present, division.replicas, {}, aggregated=aggregated)
        return _prefix_division_failure(shares, "failed to scale down")
    if placed < division.replicas:
        votes = {c.name: c.room for c in division.clusters}
        more = objects.wrap_int32(division.replicas - placed)
        shares = _divide_by_votes(division, votes, more, present, aggregated=aggregated)
        return _prefix_division_failure(shares, "failed to scale up")
    return present


def _divide_by_score(division: ReplicaDivision) -> Assignment:
    """Divide by policy scores; unless `afresh`, move as few current replicas as possible."""
    present, uid = division.present_replicas, division.spec.resource.uid
    missing = division.replicas - sum(present.values())
    if not division.afresh and missing <= 0:
        return webster.divide_seats(division.replicas, present, uid) if missing else present
    kept = {} if division.afresh else present
    seats = division.replicas if division.afresh else missing
    rooms = {c.name: max(0, c.available if division.afresh else c.room) for c in division.clusters}
    if (total := sum(rooms.values())) < seats:
        step = "failed to do fresh scale" if division.afresh else "failed to scale up"
        return _make_no_room_failure(total).add_step_prefix(step)
    votes = {c.name: c.votes or 0 for c in division.clusters}
    return _add_replica_shares(
        kept, score_division.divide_replicas_within_capacity(seats, votes, rooms, uid)
    )


def _make_no_room_failure(room: int) -> errors.PlacementFailure:
    return errors.PlacementFailure(
        "unschedulable", f"Clusters available replicas {room} are not enough to schedule."
    )


def _prefix_division_failure(shares: Assignment, step: str) -> Assignment:
    return shares.add_step_prefix(step) if isinstance(shares, errors.PlacementFailure) else shares


def _divide_by_votes(
    division: ReplicaDivision, votes: Shares, replicas: int, present: Shares, *, aggregated: bool
) -> Assignment:
    """Divide in proportion to votes, and add the shares to the current replicas."""
    votes = dict(sorted(votes.items(), key=lambda item: -item[1]))
    total = objects.wrap_int32(sum(votes.values()))
    if total < replicas:
        return _make_no_room_failure(total)
    if aggregated:
        votes = _choose_fewest_clusters(
            votes, replicas, {name for name, count in present.items() if count > 0}
        )
    more = Shares()
    if sum(votes.values()):
        more = webster.divide_seats(replicas, votes, division.spec.resource.uid)
    return _add_replica_shares(present, more)


def _choose_fewest_clusters(votes: Shares, replicas: int, preferred: set[str]) -> Shares:
    """Return the fewest clusters with room for all replicas; try `preferred` clusters first."""
    ordered = sorted(votes, key=lambda name: name not in preferred)
    taken, room = Shares(), 0
    for name in ordered:
        taken[name] = votes[name]
        room = objects.wrap_int32(room + votes[name])
        if room >= replicas:
            break
    return taken


def _add_replica_shares(present: Shares, more: Shares) -> Shares:
    """Return the sums of current and new replicas; clusters without new replicas come last."""
    if not present or not more:
        return more or present
    added = {name: objects.wrap_int32(count + present.get(name, 0)) for name, count in more.items()}
    return added | {name: count for name, count in present.items() if name not in more}
