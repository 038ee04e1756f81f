"""Determine which bindings belong to this scheduler, and when to schedule them again.

Source: Karmada v1.18.2 `pkg/scheduler/event_handler.go`, `helper.go`, `scheduler.go`
(`doScheduleBinding`).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

import msgspec

from policysched.cluster.objects import wire
from policysched.karmada import cluster_matching, objects
from policysched.karmada.steps import binding_decision

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

APPLIED_PLACEMENT: Final = "policy.karmada.io/applied-placement"
"""Annotation with the placement of the last scheduling, as JSON."""

_DEFAULT_SCHEDULER = "default-scheduler"
_POLICY_LABELS = (
    "propagationpolicy.karmada.io/permanent-id",
    "clusterpropagationpolicy.karmada.io/permanent-id",
    "binding.karmada.io/managed-by",
)


class ScheduleTrigger(enum.StrEnum):
    """The reason for an attempt; also the label `schedule_type` of Karmada's metrics."""

    RECONCILE = "ReconcileSchedule"
    SCALE = "ScaleSchedule"


def get_scheduler_name(binding: objects.Binding) -> str:
    """Return the name of the scheduler that is responsible for a binding."""
    return binding.spec.scheduler_name or _DEFAULT_SCHEDULER


def is_handled_by_scheduler(binding: objects.Binding, scheduler_name: str) -> bool:
    """Return whether a scheduler of this name is responsible for the binding."""
    labels = binding.metadata.labels
    return _asks_for_scheduler(binding, scheduler_name) and any(
        labels.get(label) for label in _POLICY_LABELS
    )


def _asks_for_scheduler(binding: objects.Binding, name: str) -> bool:
    return get_scheduler_name(binding) == name and not binding.spec.suspension.scheduling


def is_affected_by_cluster(
    cluster: objects.Cluster, binding: objects.Binding, scheduler_name: str
) -> bool:
    """Return whether a change to the cluster requires another attempt of the binding.

    As in Karmada, overflow affinities are ignored.
    """
    placement = binding.spec.placement
    if placement is None or not _asks_for_scheduler(binding, scheduler_name):
        return False
    affinity: objects.ClusterAffinity | None = placement.cluster_affinity
    if terms := placement.cluster_affinities:
        if binding.status.scheduler_observed_generation != binding.metadata.generation:
            return True
        observed = binding.status.scheduler_observing_affinity_name
        affinity = next((term for term in terms if term.affinity_name == observed), terms[0])
    return affinity is None or cluster_matching.matches_cluster_affinity(cluster, affinity)


def is_relevant_cluster_change(old: objects.Cluster, new: objects.Cluster) -> bool:
    """Return whether bindings are concerned by a change to a cluster; its status never matters."""
    before, after = old.metadata, new.metadata
    is_leaving = before.deletion_timestamp is None and after.deletion_timestamp is not None
    return is_leaving or before.labels != after.labels or before.generation != after.generation


def find_schedule_trigger(
    binding: objects.Binding,
    leaving: AbstractSet[str],
    completed: objects.Placement | None = None,
    *,
    places_sets: bool = False,
) -> ScheduleTrigger | None:
    """Return the reason to schedule the binding now, or None if it can stay unchanged.

    Args:
        binding: a binding with a placement.
        leaving: names of clusters that are being deleted.
        completed: the placement completed by cluster policies, which may divide replicas even if
            the placement itself does not; None to use the placement itself.
        places_sets: see `BindingAlgorithm`.
    """
    spec, placement = binding.spec, binding.spec.placement
    if placement is None or _has_placement_changed(binding, placement):
        return ScheduleTrigger.RECONCILE
    in_force = completed or placement
    is_lost = places_sets and bool(spec.components) and not spec.clusters
    if _have_replicas_changed(spec, in_force) or (
        is_lost and in_force.replica_scheduling is not None
    ):
        return ScheduleTrigger.SCALE
    is_duplicated = in_force.scheduling_type == objects.DUPLICATED
    if binding_decision.is_reschedule_requested(binding) or not spec.is_workload or is_duplicated:
        return ScheduleTrigger.RECONCILE
    if any(target.name in leaving for target in spec.clusters):
        return ScheduleTrigger.RECONCILE
    return None


def was_write_interrupted(binding: objects.Binding) -> bool:
    """Return whether a scheduler stopped between writing the clusters and writing the status.

    Karmada leaves this binding without a condition until another event triggers it.
    """
    return bool(binding.spec.clusters) and binding.status.last_scheduled_time is None


def _has_placement_changed(binding: objects.Binding, placement: objects.Placement) -> bool:
    """Return whether the placement differs from the last scheduled placement."""
    text = binding.metadata.annotations.get(APPLIED_PLACEMENT, "")
    if not text:
        return True
    try:
        applied = msgspec.json.decode(text, type=objects.Placement)
    except wire.UNREADABLE:
        return False
    placement, applied = drop_empty_lists(placement), drop_empty_lists(applied)
    if placement == applied:
        return False
    without = {"cluster_affinities": (), "workload_affinity": None}
    if msgspec.structs.replace(placement, **without) != msgspec.structs.replace(applied, **without):
        return True
    # Only a change to the observed term matters; other terms can be added or removed.
    observed = binding.status.scheduler_observing_affinity_name
    now, then = _find_affinity_term(placement, observed), _find_affinity_term(applied, observed)
    return not observed or now is None or then is None or now != then


def drop_empty_lists(placement: objects.Placement) -> objects.Placement:
    """Return the placement as Go encodes it, in which empty lists are absent."""
    terms = tuple(
        msgspec.structs.replace(term, overflow_affinities=term.overflow_affinities or None)
        for term in placement.cluster_affinities
    )
    return msgspec.structs.replace(placement, cluster_affinities=terms)


def _find_affinity_term(
    placement: objects.Placement, name: str
) -> objects.ClusterAffinityTerm | None:
    return next((t for t in placement.cluster_affinities if t.affinity_name == name), None)


def _have_replicas_changed(spec: objects.BindingSpec, placement: objects.Placement) -> bool:
    """Return whether the clusters no longer have the required replicas."""
    if placement.replica_scheduling is None:
        return False
    match placement.scheduling_type:
        case objects.DUPLICATED:
            return any(target.replicas != spec.replicas for target in spec.clusters)
        case objects.DIVIDED:
            return objects.sum_replicas(spec.clusters) != spec.replicas
        case _:
            return False
