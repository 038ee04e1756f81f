"""JSON merge patches that write a decision into a binding.

Source: Karmada v1.18.2 `pkg/scheduler/scheduler.go` (`patchScheduleResultForResourceBinding`,
`patchBindingStatusCondition`), `pkg/util/helper/patch.go`. An empty patch is not sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from policysched.karmada import errors, objects
from policysched.karmada.scheduler import triggers

if TYPE_CHECKING:
    from policysched.karmada.steps import algorithm

Patch: TypeAlias = dict[str, Any]

SCHEDULED: Final = "Scheduled"
SUCCESS_MESSAGE: Final = "Binding has been scheduled successfully."
_REASONS: dict[errors.Kind, str] = {
    "fit": "NoClusterFit",
    "unschedulable": "Unschedulable",
    "other": "SchedulerError",
}


def make_clusters_patch(binding: objects.Binding, targets: objects.Targets) -> Patch:
    """Return the patch that writes the clusters and the placement of the decision."""
    said = binding.spec.placement
    placement = msgspec.json.encode(said and triggers.drop_empty_lists(said)).decode()
    patch: Patch = {}
    if binding.metadata.annotations.get(triggers.APPLIED_PLACEMENT) != placement:
        patch["metadata"] = {"annotations": {triggers.APPLIED_PLACEMENT: placement}}
    if targets != binding.spec.clusters:
        patch["spec"] = {"clusters": msgspec.to_builtins(targets) or None}
    return patch


def make_affinity_term_patch(binding: objects.Binding, observed: str) -> Patch:
    """Return the patch of `/status` that writes the affinity term of the decision."""
    if binding.status.scheduler_observing_affinity_name == observed:
        return {}
    return {"status": {"schedulerObservingAffinityName": observed}}


def make_observed_generation_patch(binding: objects.Binding) -> Patch:
    """Return the patch of `/status` that confirms a generation that needs no scheduling."""
    if binding.status.scheduler_observed_generation == binding.metadata.generation:
        return {}
    return {"status": {"schedulerObservedGeneration": binding.metadata.generation}}


def merge_status_patches(*of_status: Patch) -> Patch:
    """Merge patches of `/status` that change different fields."""
    fields = {name: value for each in of_status for name, value in each.get("status", {}).items()}
    return {"status": fields} if fields else {}


def make_scheduled_condition(result: algorithm.Result) -> objects.BindingCondition:
    """Return the condition that reports the result of an attempt."""
    if isinstance(result, errors.PlacementFailure):
        reason = _REASONS[result.kind]
        return objects.BindingCondition(
            type=SCHEDULED, status="False", reason=reason, message=result.text
        )
    return objects.BindingCondition(
        type=SCHEDULED, status="True", reason="Success", message=SUCCESS_MESSAGE
    )


def make_condition_patch(
    binding: objects.Binding,
    said: objects.BindingCondition,
    now: str,
    newest: objects.Binding | None = None,
    *,
    generation: int,
) -> Patch:
    """Return the patch of `/status` that writes a condition; success confirms the generation.

    Args:
        binding: the binding before any write.
        said: the condition to write.
        now: the current time in RFC 3339 with whole seconds.
        newest: the current binding, if known; the patch repeats the conditions of other writers,
            because it replaces the whole list.
        generation: see `BindingScheduler.find_generation_to_confirm`.
    """
    status: Patch = {}
    known = (newest or binding).status
    before = known.conditions
    after = _replace_condition(before, said, now)
    if after != before:
        status["conditions"] = [_encode_condition(each) for each in after]
    if said.status == "True":
        if known.scheduler_observed_generation != generation:
            status["schedulerObservedGeneration"] = generation
        if binding.status.last_scheduled_time != now:
            status["lastScheduledTime"] = now
    return {"status": status} if status else {}


def is_generation_confirmed(binding: objects.Binding) -> bool:
    """Return whether the status reports that the newest generation has been scheduled."""
    status = binding.status
    is_true = any(each.type == SCHEDULED and each.status == "True" for each in status.conditions)
    is_newest = status.scheduler_observed_generation == binding.metadata.generation
    return is_true and is_newest and status.last_scheduled_time is not None


def differs_only_by_our_write(newest: objects.Binding, binding: objects.Binding) -> bool:
    """Return whether `newest` differs from `binding` only by this scheduler's write of clusters."""
    before, after = (msgspec.structs.replace(each.spec, clusters=()) for each in (binding, newest))
    return newest.metadata.generation == binding.metadata.generation + 1 and before == after


def _replace_condition(
    before: tuple[objects.BindingCondition, ...], said: objects.BindingCondition, now: str
) -> tuple[objects.BindingCondition, ...]:
    """Return the conditions with `said` set; its transition time changes only with its status."""
    old = next((each for each in before if each.type == said.type), None)
    if old is None:
        return (*before, msgspec.structs.replace(said, last_transition_time=now))
    since = old.last_transition_time if old.status == said.status else now
    new = msgspec.structs.replace(said, last_transition_time=since)
    return tuple(new if each is old else each for each in before)


def _encode_condition(each: objects.BindingCondition) -> Patch:
    """Return a condition with the fields that the API requires even if they are empty."""
    fields: Patch = msgspec.to_builtins(each)
    return {"reason": "", "message": "", "lastTransitionTime": None} | fields


def format_success_event_message(targets: objects.Targets, *, is_cluster_wide: bool) -> str:
    """Return the message of a success event; Karmada omits the colon for cluster-wide bindings."""
    said = ", ".join(f"{target.name}:{target.replicas}" for target in targets)
    return f"{SUCCESS_MESSAGE} Result{'' if is_cluster_wide else ':'} {{{said}}}"
