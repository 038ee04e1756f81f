"""Complete a binding's placement with statements of cluster policies.

The binding's annotation never contains the additions. The placement itself takes precedence:
`clusterGroup`, `spreadConstraint` and `replicas` fill only its empty fields. If several policies
define the same statement, the policy whose name sorts first is used, regardless of the order of the
texts. The tolerations of all policies are added to the placement's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from policysched.karmada import objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from policysched.cluster.objects import objects as node_objects
    from policysched.lang.checked import checked, checked_cluster

BY_SCORE: Final = "score"
"""The dynamic weight that requests a division of replicas by score."""

_NO_BOUND = 2**31 - 1


def find_cluster_group_policy(
    placement: objects.Placement, policies: Sequence[checked.CheckedPolicy]
) -> checked.CheckedPolicy | None:
    """Return the policy whose groups are tried in order; None if the placement has affinities."""
    if placement.cluster_affinity is not None or placement.cluster_affinities:
        return None
    return next((p for p in policies if p.clusters and p.clusters.groups), None)


def find_replica_division_policy(
    policies: Sequence[checked.CheckedPolicy],
) -> checked.CheckedPolicy | None:
    """Return the first policy that defines the division of replicas, or None."""
    return next((p for p in policies if p.clusters and p.clusters.division), None)


def list_placement_additions(
    placement: objects.Placement, policies: Sequence[checked.CheckedPolicy]
) -> dict[str, str]:
    """Return the names of the policies that complete a placement, keyed by statement.

    Tolerations are not included.
    """
    spreading = next((p for p in policies if p.clusters and p.clusters.spread), None)
    dividing = find_replica_division_policy(policies)
    own = placement.replica_scheduling
    said = {
        "clusterGroup": find_cluster_group_policy(placement, policies),
        "spreadConstraint": None if placement.spread_constraints else spreading,
        "replicas": None if _complete_replica_scheduling(own, dividing) == own else dividing,
    }
    return {statement: policy.name for statement, policy in said.items() if policy}


def complete_placement(
    placement: objects.Placement,
    policies: Sequence[checked.CheckedPolicy],
    tolerations: Iterable[node_objects.Toleration],
) -> objects.Placement:
    """Return the placement completed by policies.

    Args:
        placement: the placement of the binding.
        policies: the policies whose scope contains the binding, ordered by name.
        tolerations: the tolerations that the policies grant.
    """
    grouping, dividing = (
        find_cluster_group_policy(placement, policies),
        find_replica_division_policy(policies),
    )
    own = {_make_toleration_key(each) for each in placement.cluster_tolerations}
    granted = [
        _convert_toleration(each) for each in tolerations if _make_toleration_key(each) not in own
    ]
    return msgspec.structs.replace(
        placement,
        cluster_affinities=_make_affinity_terms(grouping)
        if grouping
        else placement.cluster_affinities,
        cluster_tolerations=(*placement.cluster_tolerations, *granted),
        spread_constraints=placement.spread_constraints or _make_spread_constraints(policies),
        replica_scheduling=_complete_replica_scheduling(placement.replica_scheduling, dividing),
    )


def _make_toleration_key(toleration: node_objects.Toleration) -> tuple[str, str, str, str]:
    return toleration.key, toleration.operator, toleration.value, toleration.effect


def _convert_toleration(granted: node_objects.Toleration) -> objects.TimedToleration:
    key, operator, value, effect = _make_toleration_key(granted)
    return objects.TimedToleration(key=key, operator=operator, value=value, effect=effect)


def _make_affinity_terms(policy: checked.CheckedPolicy) -> tuple[objects.ClusterAffinityTerm, ...]:
    """Return a term for each group; the policy's filter selects the clusters of the group."""
    found = policy.clusters.groups if policy.clusters else ()
    return tuple(objects.ClusterAffinityTerm(affinity_name=group.name) for group in found)


def _make_spread_constraints(
    policies: Sequence[checked.CheckedPolicy],
) -> tuple[objects.SpreadConstraint, ...]:
    """Return the spread constraints of the first policy that has any."""
    said = next((p.clusters.spread for p in policies if p.clusters and p.clusters.spread), ())
    return tuple(
        objects.SpreadConstraint(
            spread_by_field=each.by,
            min_groups=each.min_groups,
            max_groups=_NO_BOUND if each.max_groups is None else each.max_groups,
        )
        for each in said
    )


def _complete_replica_scheduling(
    own: objects.ReplicaScheduling | None, policy: checked.CheckedPolicy | None
) -> objects.ReplicaScheduling | None:
    """Return the placement's replica scheduling, with empty fields set by the policy."""
    said = policy.clusters.division if policy and policy.clusters else None
    if said is None:
        return own
    whole = _make_replica_scheduling(said)
    if own is None or not own.replica_scheduling_type:
        return whole
    if objects.DUPLICATED in (own.replica_scheduling_type, whole.replica_scheduling_type):
        return own
    if not own.replica_division_preference:
        return whole
    is_weighted = own.replica_division_preference == objects.WEIGHTED
    is_open = is_weighted and own.weight_preference is None
    if is_open and whole.replica_division_preference == objects.WEIGHTED:
        return whole
    return own


def _make_replica_scheduling(
    said: checked_cluster.ReplicaDivisionStrategy,
) -> objects.ReplicaScheduling:
    """Return Karmada's form of a policy's division of replicas."""
    if said.kind == objects.DUPLICATED:
        return objects.ReplicaScheduling(replica_scheduling_type=objects.DUPLICATED)
    preference = None
    if said.kind == objects.WEIGHTED:
        weights = tuple(
            objects.StaticClusterWeight(
                target_cluster=objects.ClusterAffinity(cluster_names=(name,)), weight=weight
            )
            for name, weight in said.weights
        )
        dynamic = BY_SCORE if said.dynamic == "score" else said.dynamic or ""
        preference = objects.WeightPreference(static_weight_list=weights, dynamic_weight=dynamic)
    return objects.ReplicaScheduling(
        replica_scheduling_type=objects.DIVIDED,
        replica_division_preference=said.kind,
        weight_preference=preference,
    )
