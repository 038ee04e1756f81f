"""Reports a plan in the format of schemas/plan.schema.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from policysched.planning import changes, plan_making, profile_edits, sides, two_sided_cluster

Report: TypeAlias = dict[str, Any]


def as_json(
    plan: plan_making.PolicyChangePlan, basis: two_sided_cluster.PlanInputs, where: str
) -> Report:
    """Return a plan in the format of the schema; `where` is the name of the cluster."""
    found, caused = plan.found, _count_causes(plan.found)
    names = plan.where.cache.nodes.names
    return {
        "from": basis.old.name,
        "to": basis.new.name,
        "cluster": where,
        "now": basis.now.isoformat(),
        "summary": {
            **{phase.value: _count_changes(found, phase) for phase in changes.PlannedPodPhase},
            "nodeLost": sum(each.node_lost for each in found.pods),
            "unserved": found.unserved.total(),
        },
        "edits": [
            {**_render_profile_edit(each, caused), "where": locate_edit(each, basis)}
            for each in found.edits
        ],
        "rejects": [
            _render_rejection_difference(each, names) for each in found.rejects.list_by_node_count()
        ],
        "admits": [
            _render_rejection_difference(each, names) for each in found.admits.list_by_node_count()
        ],
        "changes": [_render_pod_change(each) for each in found.pods],
        **_render_rollout(basis),
    }


def _render_rollout(basis: two_sided_cluster.PlanInputs) -> Report:
    """Return the stages that the new policies pass with `run`; empty if they act at once."""
    is_edit = basis.old.policies.content_hash not in {"", basis.new.policies.content_hash}
    if not is_edit or basis.old.name == sides.NONE:
        return {}
    plan = basis.new.rollout
    stages = [
        {"pods": stage.describe(), "duration": stage.duration, "minPods": plan.min_pods_of(index)}
        for index, stage in enumerate(plan.stages)
    ]
    return {"rollout": stages} if stages else {}


def _count_changes(found: changes.PodChanges, phase: changes.PlannedPodPhase) -> dict[str, int]:
    different = [each for each in changes.PodChangeKind if each is not changes.PodChangeKind.SAME]
    counts = {each.value: found.count_pods(each, phase) for each in different}
    return {"pods": found.considered[phase], **counts}


def _count_causes(
    found: changes.PodChanges,
) -> Counter[tuple[profile_edits.Key, changes.PodChangeKind]]:
    """Return the number of pods for each pair of an edit and an outcome."""
    return Counter(
        (edit.key, each.outcome)
        for each in found.pods
        if each.cause is not None
        for edit in each.cause.edits
    )


def render_edit_fields(edit: profile_edits.ProfileEdit) -> Report:
    """Return the fields of an edit that all reports contain."""
    return {
        "kind": edit.kind,
        "name": edit.name,
        "change": edit.change,
        "old": edit.old,
        "new": edit.new,
        "note": edit.note,
    }


def _render_profile_edit(
    edit: profile_edits.ProfileEdit,
    caused: Counter[tuple[profile_edits.Key, changes.PodChangeKind]],
) -> Report:
    """Return an edit with its profiles and the number of pods that it affects."""
    return render_edit_fields(edit) | {
        "profiles": sorted(name for name in edit.homes if name is not None),
        "pods": {
            outcome.value: caused[edit.key, outcome]
            for outcome in (
                changes.PodChangeKind.UNSCHEDULABLE,
                changes.PodChangeKind.MOVED,
                changes.PodChangeKind.SCHEDULABLE,
                changes.PodChangeKind.VICTIMS,
                changes.PodChangeKind.REASON,
            )
        },
    }


def locate_edit(edit: profile_edits.ProfileEdit, basis: two_sided_cluster.PlanInputs) -> str | None:
    """Return `file:line:column` of an edit in the new texts; in the old texts for a removal."""
    if edit.span is None:
        return None
    first, second = (basis.new, basis.old) if edit.new else (basis.old, basis.new)
    return first.locate_span(edit.span) or second.locate_span(edit.span)


def _render_rejection_difference(verdict: changes.RejectionDifference, names: list[str]) -> Report:
    """Return a status as an entry of `rejects` or `admits`."""
    answer, rule = verdict.answer, verdict.answer.rule
    return {
        "plugin": answer.plugin,
        "policy": rule.policy if rule else None,
        "rule": rule.rule if rule else None,
        "line": rule.line if rule else None,
        "reason": answer.message,
        "nodes": sorted(names[row] for row in np.flatnonzero(verdict.rows).tolist()),
        "pods": verdict.pods,
    }


def _render_pod_change(change: changes.PodChange) -> Report:
    """Return a changed pod as an entry of `changes`."""
    return {
        "pod": change.pod,
        "phase": change.phase.value,
        "outcome": change.outcome.value,
        "node": change.node,
        "from": _render_pod_fate(change.old),
        "to": _render_pod_fate(change.new),
        "lost": change.lost,
        "gained": change.gained,
        "nodeLost": change.node_lost,
        "cause": None if change.cause is None else render_change_cause(change.cause),
    }


def _render_pod_fate(fate: changes.PodFate) -> Report:
    return {
        "node": fate.node,
        "feasible": fate.feasible,
        "message": fate.message,
        "victims": list(fate.victims),
    }


def render_change_cause(cause: changes.ChangeCause) -> Report:
    """Return a cause in the format of the schema."""
    return {"kind": cause.kind.value, "edits": _list_edit_names(cause.edits), "how": cause.how}


def _list_edit_names(found: Iterable[profile_edits.ProfileEdit]) -> list[str]:
    return [each.name for each in found]
