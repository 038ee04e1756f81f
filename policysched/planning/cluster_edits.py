"""What was edited in the cluster policies of a profile, part by part, as `edits` does for pods."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from policysched.lang.checked import checked_cluster, cluster_profile
from policysched.planning import edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policysched.lang import source
    from policysched.lang.checked import checked
    from policysched.planning import sides

_STATEMENTS = {"groups": "clusterGroup", "spread": "spreadConstraint", "division": "replicas"}
"""Field of a `ClusterPlacement` → the statement that says it."""


def between(
    old: checked.CheckedProfile,
    new: checked.CheckedProfile,
    said: tuple[sides.Side, sides.Side],
) -> list[edits.Edit]:
    """Return the edits that make the old cluster policies the new ones, by name.

    They are of profiles as `cluster_profile.as_rows` gives them, on which they can be taken back.
    """
    rows = cluster_profile.as_rows(old), cluster_profile.as_rows(new)
    found = edits.between(*rows, (said[0].wording(), said[1].wording()))
    before, after = edits.in_force(rows[0]), edits.in_force(rows[1])
    for name in dict.fromkeys((*after, *before)):
        found += _of_placement(before.get(name), after.get(name), said)
    return sorted(found, key=lambda each: each.key)


def _of_placement(
    old: checked.CheckedPolicy | None,
    new: checked.CheckedPolicy | None,
    said: tuple[sides.Side, sides.Side],
) -> Iterator[edits.Edit]:
    """Yield the edits of groups, of spread constraints and of the division of a policy."""
    some = new or old
    assert some is not None  # noqa: S101 - the name comes from one of them
    nothing = checked_cluster.ClusterPlacement()
    was = (old and old.clusters) or nothing
    now = (new and new.clusters) or nothing
    for field, statement in _STATEMENTS.items():
        before, after = getattr(was, field), getattr(now, field)
        if before == after:
            continue
        texts = _text(before, said[0]), _text(after, said[1])
        yield edits.Edit(
            "placement",
            f"{some.name}: {statement}",
            *texts,
            _undo(edits.shell_of(old or some), field, before),
            span=_span(after) or _span(before),
            scopes=edits.scopes_of(old, new),
        )


def _undo(shell: checked.CheckedPolicy, field: str, old: Any) -> edits.Undo:  # noqa: ANN401 - the value of any field
    def undo(profile: checked.CheckedProfile) -> checked.CheckedProfile:
        def changed(policy: checked.CheckedPolicy) -> checked.CheckedPolicy:
            placement = policy.clusters or checked_cluster.ClusterPlacement()
            changes = {field: old}
            return dataclasses.replace(policy, clusters=dataclasses.replace(placement, **changes))

        return edits.with_policy(profile, shell, changed, is_needed=bool(old))

    return undo


def _parts(value: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _span(value: Any) -> source.Span | None:  # noqa: ANN401 - as above
    return next((part.span for part in _parts(value)), None)


def _text(value: Any, side: sides.Side) -> str:  # noqa: ANN401 - as above
    """Return statements as they are written, on one line."""
    return "; ".join(side.words(part.span) for part in _parts(value))
