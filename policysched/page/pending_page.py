"""The list of pending pods with the reason for each."""

from __future__ import annotations

from collections import Counter
from typing import Any

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import runtime
from policysched.observability.live_page import pod_verdicts
from policysched.offline import sessions
from policysched.page import pod_profiles

_MOST_PODS = 1000
_MOST_SECONDS = 3.0


def make_pending_page(decider: sessions.PodDecider, clock: clocks.Clock) -> dict[str, Any]:
    """Return the pending pods, each decided alone, and the nodes that each filter rejects.

    At most 1,000 pods are decided, within three seconds; of the others only the name is known.
    """
    end_seconds = clock.monotonic_seconds() + _MOST_SECONDS
    counts = _RejectionCounts(decider.cluster.cache.snapshot())
    rows = []
    for info in decider.cluster.pending[:_MOST_PODS]:
        row: dict[str, Any] = {"pod": info.key, "priority": info.pod.spec.priority or 0}
        framework = decider.choice.choose_framework(info)
        if framework is None or pod_profiles.is_left_out(decider, info):
            row["message"] = pod_profiles.describe_missing_profile(decider, info)
        elif clock.monotonic_seconds() < end_seconds:
            row |= _decide(framework, info, counts)
        rows.append(row)
    return {
        "total": len(decider.cluster.pending),
        "pods": rows,
        "rejects": dict(counts.first),
        "rejectsInAll": dict(counts.in_all),
        "rejectedPods": dict(counts.pods),
    }


def _decide(
    framework: runtime.Framework, info: pod_shape.PodInfo, counts: _RejectionCounts
) -> dict[str, Any]:
    """Return the decision about one pod, and count it if no node is feasible."""
    gate = framework.pre_enqueue(info)
    result = framework.schedule_pod(info, counts.snap)
    if result.diagnosis is not None:
        counts.count_pod(framework, info)
    return {
        "profile": framework.profile.scheduler_name,
        "fits": result.node_name is not None and gate.is_success,
        "feasible": result.feasible_count,
        "message": result.message if gate.is_success else gate.message,
    }


class _RejectionCounts:
    """Rejections of nodes, added up over the pods that fit on no node.

    Attributes:
        snap: the cluster.
        first, in_all: the nodes that a filter is the first to reject, and all that it rejects;
            keyed by `POLICY/RULE` or the name of the plugin.
        pods: the pods for which a filter rejects a node, keyed in the same way.
    """

    def __init__(self, snap: snapshot.Snapshot) -> None:
        """Start at zero; `snap` is the cluster."""
        self.snap = snap
        self.first: Counter[str] = Counter()
        self.in_all: Counter[str] = Counter()
        self.pods: Counter[str] = Counter()
        self._funnels: dict[pod_shape.PodShape, list[dict[str, Any]]] = {}

    def count_pod(self, framework: runtime.Framework, info: pod_shape.PodInfo) -> None:
        """Count the rejections of a pod; identical pods are explained once."""
        if info.shape not in self._funnels:
            found = framework.explain_pod(info, self.snap)
            funnel = pod_verdicts.make_funnel(framework, found, self.snap.node_count)
            self._funnels[info.shape] = funnel
        for step in self._funnels[info.shape]:
            self.first[step["by"]] += step["rejects"]
            self.in_all[step["by"]] += step["rejectsInAll"]
            self.pods[step["by"]] += 1
