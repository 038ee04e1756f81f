"""Exempt a binding's current target clusters from a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.karmada.state import snapshot


def exempt_present_targets(
    reasons: Sequence[str],
    request: interface.SchedulingRequest,
    clusters: snapshot.ControlPlaneSnapshot,
) -> Sequence[str]:
    """Return `reasons`, but `PASSES` for each of the binding's current targets."""
    if not request.spec.clusters:
        return reasons
    present = {target.name for target in request.spec.clusters}
    return [
        interface.PASSES if cluster.metadata.name in present else reason
        for cluster, reason in zip(clusters.clusters, reasons, strict=True)
    ]
