"""Where a binding goes: one attempt, or one for each term of `clusterAffinities` in turn.

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
    """What became of a binding.

    Attributes:
        result: its clusters, or why there are none.
        observed_affinity: the term that the result is of; the former one when there is no result.
        failed_terms: what became of the terms that were tried before, by their number.
    """

    result: algorithm.Result
    observed_affinity: str
    failed_terms: tuple[tuple[int, errors.PlacementFailure], ...] = ()


def decide_binding(
    algorithm: algorithm.BindingAlgorithm,
    binding: objects.Binding,
    clusters: snapshot.ControlPlaneSnapshot,
) -> BindingDecision:
    """Return where the binding goes; never wraps around to terms before the observed one."""
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
        if result.is_held:  # whatever the term
            return BindingDecision(result, former, tuple(failed))
        failed.append((number, result))
    return BindingDecision(failed[0][1], former, tuple(failed))


def list_placement_attempts(
    algorithm: algorithm.BindingAlgorithm,
    binding: objects.Binding,
    clusters: snapshot.ControlPlaneSnapshot,
) -> list[interface.SchedulingRequest] | errors.PlacementFailure:
    """Return the attempts to make, each when those before have failed; or why there are none."""
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
    """Return whether somebody asked for a reschedule after the last time it was scheduled."""
    asked, last = binding.spec.reschedule_triggered_at, binding.status.last_scheduled_time
    if asked is None or last is None:
        return False
    return time_text.parse_rfc3339_seconds(asked) > time_text.parse_rfc3339_seconds(last)
