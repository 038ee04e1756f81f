"""Decide on a binding with one attempt, or with one attempt per term of `clusterAffinities`.

Source: Karmada v1.18.2 `pkg/scheduler/scheduler.go`
(`scheduleResourceBindingWithClusterAffinities`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from policysched.cluster.objects import time_text
from policysched.karmada import errors, interface

if TYPE_CHECKING:
    from policysched.karmada import objects
    from policysched.karmada.state import snapshot
    from policysched.karmada.steps import algorithm

_NO_PLACEMENT = "failed to get placement from {kind}({key})"


@dataclasses.dataclass(frozen=True, slots=True)
class BindingDecision:
    """The decision about a binding.

    Attributes:
        result: the clusters with their replicas, or the failure.
        observed_affinity: name of the term of the result; after a failure, the previous name.
        failed_terms: the failures of the terms that were tried earlier, with their indices.
    """

    result: algorithm.Result
    observed_affinity: str
    failed_terms: tuple[tuple[int, errors.PlacementFailure], ...] = ()


def decide_binding(
    algorithm: algorithm.BindingAlgorithm,
    binding: objects.Binding,
    clusters: snapshot.ControlPlaneSnapshot,
) -> BindingDecision:
    """Return the decision about a binding; terms before the observed one are never tried."""
    former = binding.status.scheduler_observing_affinity_name
    afresh = is_reschedule_requested(binding)
    planned = list_placement_attempts(algorithm, binding, clusters)
    if isinstance(planned, errors.PlacementFailure):
        return BindingDecision(planned, former)
    terms = planned[0].placement.cluster_affinities
    if not terms:
        return BindingDecision(
            algorithm.attempt_placement(planned[0], clusters, afresh=afresh), former
        )
    failed: list[tuple[int, errors.PlacementFailure]] = []
    for number, request in enumerate(planned, len(terms) - len(planned)):
        result = algorithm.attempt_placement(request, clusters, afresh=afresh)
        if not isinstance(result, errors.PlacementFailure):
            return BindingDecision(result, request.affinity_name, tuple(failed))
        if result.is_held:  # the hold applies to all terms
            return BindingDecision(result, former, tuple(failed))
        failed.append((number, result))
    return BindingDecision(failed[0][1], former, tuple(failed))


def list_placement_attempts(
    algorithm: algorithm.BindingAlgorithm,
    binding: objects.Binding,
    clusters: snapshot.ControlPlaneSnapshot,
) -> list[interface.SchedulingRequest] | errors.PlacementFailure:
    """Return the requests to try in order until one succeeds; without requests, the failure."""
    placement, former = binding.spec.placement, binding.status.scheduler_observing_affinity_name
    if placement is None:
        kind = "resourceBinding" if binding.metadata.namespace else "clusterResourceBinding"
        return errors.PlacementFailure("other", _NO_PLACEMENT.format(kind=kind, key=binding.key))
    if algorithm.policies is not None:
        placement = algorithm.policies.complete_placement(binding, clusters)
    terms = placement.cluster_affinities
    if not terms:
        return [interface.SchedulingRequest(binding, placement, former)]
    first = next((i for i, term in enumerate(terms) if term.affinity_name == former), 0)
    return [
        interface.SchedulingRequest(binding, placement, term.affinity_name)
        for term in terms[first:]
    ]


def is_reschedule_requested(binding: objects.Binding) -> bool:
    """Return whether a reschedule was requested after the last scheduling."""
    asked, last = binding.spec.reschedule_triggered_at, binding.status.last_scheduled_time
    if asked is None or last is None:
        return False
    return time_text.parse_rfc3339_seconds(asked) > time_text.parse_rfc3339_seconds(last)
