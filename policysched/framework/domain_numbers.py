"""Numbers of a plugin that compares nodes by the topology domain that they are in."""

from __future__ import annotations

from policysched.cluster import pod_shape, snapshot
from policysched.framework import comparing, cycle_state, kept_points


class DomainNumbers:
    """Raw scores that nodes of one domain share (`kept_points.Numbers`)."""

    def __init__(self, domains: comparing.DomainValues) -> None:
        """Tell what changes in `domains`."""
        self._domains = domains

    def refresh(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> kept_points.Everything | kept_points.Changes:
        """Return what has changed."""
        del state, pod
        domains = self._domains
        changed = domains.refresh(snap)
        if changed is None:
            return kept_points.Everything([domains.values], domains.slots)
        return [(slot, [domains.values.item(slot)]) for slot in changed] if changed else ()
