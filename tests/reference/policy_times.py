"""How long pods wait, and how old pods and nodes are, in whole seconds."""

from __future__ import annotations

import datetime
import math

from policysched.cluster.objects import objects


def measure(kind: str, pod: objects.Pod, node: objects.Node, now_seconds: float) -> float:
    """Return `waiting` or `podAge` of a pod, or `nodeAge` of a node; 0 before it has begun."""
    begun = {
        "waiting": _first_try(pod),
        "podAge": pod.metadata.creation_timestamp,
        "nodeAge": node.metadata.creation_timestamp,
    }[kind]
    if begun is None:
        return 0.0
    seconds = datetime.datetime.fromisoformat(begun).timestamp()
    return float(max(0, math.floor(now_seconds - seconds)))


def _first_try(pod: objects.Pod) -> str | None:
    for condition in pod.status.conditions:
        if (condition.type, condition.status) == ("PodScheduled", "False"):
            is_gated = condition.reason == "SchedulingGated"
            known = condition.last_transition_time or pod.metadata.creation_timestamp
            return None if is_gated else known
    return None
