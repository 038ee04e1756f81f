"""Reports the changes to bindings in the format of schemas/plan.schema.json."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from policysched.planning import binding_changes, plan_report

if TYPE_CHECKING:
    from policysched.planning import profile_edits, two_sided_cluster

Report: TypeAlias = dict[str, Any]

_DIFFERENT = [
    each
    for each in binding_changes.BindingChangeKind
    if each is not binding_changes.BindingChangeKind.SAME
]


def as_json(found: binding_changes.BindingChanges, basis: two_sided_cluster.PlanInputs) -> Report:
    """Return the changes to bindings in the format of the schema."""
    counts = found.count_bindings_by_kind()
    caused = Counter(
        (edit.key, change.outcome) for change in found.bindings for edit in change.cause.edits
    )
    return {
        "summary": {
            "bindings": found.considered,
            "unserved": found.unserved,
            **{each.value: counts[each] for each in _DIFFERENT},
            "pending": sum(not each.present for each in found.bindings),
            "movesNow": sum(each.moves_now for each in found.bindings),
        },
        "edits": [_render_edit(each, caused, basis) for each in found.edits],
        "changes": [_render_change(each) for each in found.bindings],
    }


def _render_edit(
    edit: profile_edits.ProfileEdit,
    caused: Counter[tuple[profile_edits.Key, binding_changes.BindingChangeKind]],
    basis: two_sided_cluster.PlanInputs,
) -> Report:
    return plan_report.render_edit_fields(edit) | {
        "where": plan_report.locate_edit(edit, basis),
        "bindings": {each.value: caused[edit.key, each] for each in _DIFFERENT},
    }


def _render_change(change: binding_changes.BindingChange) -> Report:
    """Return a changed binding as an entry of `changes`."""
    return {
        "binding": change.binding,
        "outcome": change.outcome.value,
        "present": _render_targets(change.present),
        "from": _render_fate(change.old),
        "to": _render_fate(change.new),
        "lost": list(change.lost),
        "gained": list(change.gained),
        "movesNow": change.moves_now,
        "cause": plan_report.render_change_cause(change.cause),
    }


def _render_fate(fate: binding_changes.BindingFate) -> Report:
    return {"clusters": _render_targets(fate.shares or {}), "message": fate.message}


def _render_targets(shares: binding_changes.Shares) -> list[Report]:
    return [{"name": name, "replicas": count} for name, count in sorted(shares.items())]
