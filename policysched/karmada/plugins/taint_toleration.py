"""TaintToleration: requires that the placement tolerates the taints of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policysched.karmada import interface
from policysched.karmada.plugins import present_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policysched.cluster.objects import objects as node_objects
    from policysched.karmada.state import snapshot

_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


class TaintTolerationPlugin:
    """Filters by taints of the effects NoSchedule and NoExecute.

    Source: Karmada `pkg/scheduler/framework/plugins/tainttoleration`.
    """

    name = "TaintToleration"

    def filter(
        self, request: interface.SchedulingRequest, clusters: snapshot.ControlPlaneSnapshot
    ) -> Sequence[str]:
        """Pass current targets, and clusters without an untolerated taint."""
        tolerations = request.placement.cluster_tolerations
        reasons = clusters.memoize(
            (self.name, tolerations),
            lambda: [
                _find_taint_refusal(cluster.spec.taints, tolerations)
                for cluster in clusters.clusters
            ],
        )
        return present_targets.exempt_present_targets(reasons, request, clusters)


def _find_taint_refusal(
    taints: Sequence[node_objects.Taint], tolerations: Sequence[node_objects.Toleration]
) -> str:
    for taint in taints:
        if taint.effect in _EFFECTS and not any(_tolerates(t, taint) for t in tolerations):
            return f"cluster(s) had untolerated taint {{{taint}}}"
    return interface.PASSES


def _tolerates(toleration: node_objects.Toleration, taint: node_objects.Taint) -> bool:
    """Return whether a toleration matches a taint; Karmada disables the operators Lt and Gt."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False
