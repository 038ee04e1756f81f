"""Finds edits between the cluster policies of two profiles; see `profile_edits` for pods."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from policysched.lang.checked import checked_cluster, cluster_profile
from policysched.planning import profile_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policysched.lang import source
    from policysched.lang.checked import checked
    from policysched.planning import sides

_STATEMENTS = {"groups": "clusterGroup", "spread": "spreadConstraint", "division": "replicas"}
"""Maps a field of `ClusterPlacement` to the statement that sets it."""


def find_cluster_policy_edits(
    old: checked.CheckedProfile,
    new: checked.CheckedProfile,
    said: tuple[sides.PlanSide, sides.PlanSide],
) -> list[profile_edits.ProfileEdit]:
    """Return the edits from the old to the new cluster policies, ordered by key.

    The edits can be undone on profiles as returned by
    `cluster_profile.replace_pod_by_cluster_policies`.
    """
    rows = (
        cluster_profile.replace_pod_by_cluster_policies(old),
        cluster_profile.replace_pod_by_cluster_policies(new),
    )
    found = profile_edits.find_profile_edits(
        *rows, (said[0].read_definition_texts(), said[1].read_definition_texts())
    )
    before, after = (
        profile_edits.get_enforced_policies(rows[0]),
        profile_edits.get_enforced_policies(rows[1]),
    )
    for name in dict.fromkeys((*after, *before)):
        found += _find_placement_edits(before.get(name), after.get(name), said)
    return sorted(found, key=lambda each: each.key)


def _find_placement_edits(
    old: checked.CheckedPolicy | None,
    new: checked.CheckedPolicy | None,
    said: tuple[sides.PlanSide, sides.PlanSide],
) -> Iterator[profile_edits.ProfileEdit]:
    """Yield the edits to the groups, the spread constraints and the division of a policy."""
    some = new or old
    assert some is not None  # noqa: S101 - the name comes from one of them
    nothing = checked_cluster.ClusterPlacement()
    was = (old and old.clusters) or nothing
    now = (new and new.clusters) or nothing
    for field, statement in _STATEMENTS.items():
        before, after = getattr(was, field), getattr(now, field)
        if before == after:
            continue
        texts = _format_statements(before, said[0]), _format_statements(after, said[1])
        yield profile_edits.ProfileEdit(
            "placement",
            f"{some.name}: {statement}",
            *texts,
            _make_placement_undo(
                profile_edits.make_policy_without_rules(old or some), field, before
            ),
            span=_get_span(after) or _get_span(before),
            scopes=profile_edits.collect_policy_scopes(old, new),
        )


def _make_placement_undo(shell: checked.CheckedPolicy, field: str, old: Any) -> profile_edits.Undo:  # noqa: ANN401 - the value of any field
    """Return a function that restores the old value of one placement field."""

    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        def changed(policy: checked.CheckedPolicy) -> checked.CheckedPolicy:
            placement = policy.clusters or checked_cluster.ClusterPlacement()
            changes = {field: old}
            return dataclasses.replace(policy, clusters=dataclasses.replace(placement, **changes))

        return profile_edits.change_policy_in_profile(profile, shell, changed, is_needed=bool(old))

    return undo


def _list_field_statements(value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _get_span(value: Any) -> source.Span | None:  # noqa: ANN401 - as above
    return next((part.span for part in _list_field_statements(value)), None)


def _format_statements(value: Any, side: sides.PlanSide) -> str:  # noqa: ANN401 - as above
    """Return the source text of statements on one line."""
    return "; ".join(side.get_text(part.span) for part in _list_field_statements(value))
