"""A plan in the form of schemas/plan.schema.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from policysched.planning import changes, edits, planning, world

Report: TypeAlias = dict[str, Any]


def as_json(plan: planning.Plan, basis: world.Basis, where: str) -> Report:
    """Return a plan for the cluster `where` in the documented form."""
    found, caused = plan.found, _caused(plan.found)
    names = plan.where.cache.nodes.names
    return {
        "from": basis.old.name,
        "to": basis.new.name,
        "cluster": where,
        "now": basis.now.isoformat(),
        "summary": {
            **{phase.value: _counts(found, phase) for phase in changes.Phase},
            "nodeLost": sum(each.node_lost for each in found.pods),
            "unserved": found.unserved.total(),
        },
        "edits": [{**_edit(each, caused), "where": place(each, basis)} for each in found.edits],
        "rejects": [_verdict(each, names) for each in found.rejects.sorted()],
        "admits": [_verdict(each, names) for each in found.admits.sorted()],
        "changes": [_change(each) for each in found.pods],
    }


def _counts(found: changes.Changes, phase: changes.Phase) -> dict[str, int]:
    different = [each for each in changes.Outcome if each is not changes.Outcome.SAME]
    counts = {each.value: found.count(each, phase) for each in different}
    return {"pods": found.considered[phase], **counts}


def _caused(found: changes.Changes) -> Counter[tuple[edits.Key, changes.Outcome]]:
    """Return how many pods have which outcome by which edit."""
    return Counter(
        (edit.key, each.outcome)
        for each in found.pods
        if each.cause is not None
        for edit in each.cause.edits
    )


def _edit(edit: edits.Edit, caused: Counter[tuple[edits.Key, changes.Outcome]]) -> Report:
    return {
        "kind": edit.kind,
        "name": edit.name,
        "change": edit.change,
        "old": edit.old,
        "new": edit.new,
        "note": edit.note,
        "profiles": sorted(name for name in edit.homes if name is not None),
        "pods": {
            outcome.value: caused[edit.key, outcome]
            for outcome in (
                changes.Outcome.UNSCHEDULABLE,
                changes.Outcome.MOVED,
                changes.Outcome.SCHEDULABLE,
                changes.Outcome.VICTIMS,
                changes.Outcome.REASON,
            )
        },
    }


def place(edit: edits.Edit, basis: world.Basis) -> str | None:
    """Return where an edit stands, or stood where it is gone."""
    if edit.span is None:
        return None
    first, second = (basis.new, basis.old) if edit.new else (basis.old, basis.new)
    return first.place_of(edit.span) or second.place_of(edit.span)


def _verdict(verdict: changes.Verdict, names: list[str]) -> Report:
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


def _change(change: changes.PodChange) -> Report:
    return {
        "pod": change.pod,
        "phase": change.phase.value,
        "outcome": change.outcome.value,
        "node": change.node,
        "from": _fate(change.old),
        "to": _fate(change.new),
        "lost": change.lost,
        "gained": change.gained,
        "nodeLost": change.node_lost,
        "cause": None if change.cause is None else cause(change.cause),
    }


def _fate(fate: changes.Fate) -> Report:
    return {
        "node": fate.node,
        "feasible": fate.feasible,
        "message": fate.message,
        "victims": list(fate.victims),
    }


def cause(cause: changes.Cause) -> Report:
    """Return a cause."""
    return {"kind": cause.kind.value, "edits": _names(cause.edits), "how": cause.how}


def _names(found: Iterable[edits.Edit]) -> list[str]:
    return [each.name for each in found]
