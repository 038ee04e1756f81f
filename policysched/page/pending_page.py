"""The list of pending pods with the reason for each."""

from __future__ import annotations

from typing import Any

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.observability.live_page import pod_verdicts
from policysched.offline import sessions
from policysched.page import pod_profiles, rejection_counts

_MOST_PODS = 1000
_MOST_SECONDS = 3.0


def make_pending_page(decider: sessions.PodDecider, clock: clocks.Clock) -> dict[str, Any]:
    """Return the pending pods, each decided alone, and the nodes that each filter rejects.

    At most 1,000 pods are decided, within three seconds; of the others only the name is known.
    """
    end_seconds = clock.monotonic_seconds() + _MOST_SECONDS
    pending = _PendingPods(decider.cluster.cache.snapshot())
    rows = []
    for info in decider.cluster.pending[:_MOST_PODS]:
        row: dict[str, Any] = {"pod": info.key, "priority": info.pod.spec.priority or 0}
        framework = decider.choice.choose_framework(info)
        if framework is None or pod_profiles.is_left_out(decider, info):
            row["message"] = pod_profiles.describe_missing_profile(decider, info)
        elif clock.monotonic_seconds() < end_seconds:
            row |= pending.decide(framework, info)
        rows.append(row)
    return {
        "total": len(decider.cluster.pending),
        "pods": rows,
        **pending.counts.describe(),
    }


class _PendingPods:
    """Decides about pods, and counts the rejections of those that fit on no node.

    Attributes:
        counts: the rejections.
    """

    def __init__(self, snap: snapshot.Snapshot) -> None:
        """Decide about the cluster `snap`."""
        self._snap = snap
        self._funnels: dict[pod_shape.PodShape, list[dict[str, Any]]] = {}
        self.counts = rejection_counts.RejectionCounts()

    def decide(self, framework: runtime.Framework, info: pod_shape.PodInfo) -> dict[str, Any]:
        """Return the decision about one pod, and count it if no node is feasible."""
        gate = framework.pre_enqueue(info)
        result = framework.schedule_pod(info, self._snap)
        if result.diagnosis is not None:
            self.counts.add_funnel(self._make_funnel(framework, info))
        return {
            "profile": framework.profile.scheduler_name,
            "fits": result.node_name is not None and gate.is_success,
            "feasible": result.feasible_count,
            "message": result.message if gate.is_success else gate.message,
        }

    def _make_funnel(
        self, framework: runtime.Framework, info: pod_shape.PodInfo
    ) -> list[dict[str, Any]]:
        """Return the filters that reject nodes; identical pods are explained once."""
        if info.shape not in self._funnels:
            found = framework.explain_pod(info, self._snap)
            funnel = pod_verdicts.make_funnel(framework, found, self._snap.node_count)
            self._funnels[info.shape] = funnel
        return self._funnels[info.shape]
