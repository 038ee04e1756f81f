"""Count the results of the attempts of one version in a stage."""

from __future__ import annotations

import dataclasses
import math
from collections import deque

_PODS_KEPT = 10_000
_DURATIONS_KEPT = 10_000


@dataclasses.dataclass(slots=True)
class JudgedPod:
    """A pod that a version decided about.

    A preemptor that waits for its victims is neither unschedulable nor bound.

    Attributes:
        is_unschedulable: whether the last attempt found no node, or failed.
        is_bound: whether the last attempt bound the pod.
    """

    is_unschedulable: bool
    is_bound: bool


class VersionTally:
    """The pods of one version in one stage.

    Attributes:
        pods: judged pods by uid, the latest 10,000.
        judged: number of judged pods, not limited.
        evictions: number of victims of preemption.
    """

    def __init__(self) -> None:
        """Start with no pods."""
        self.pods: dict[str, JudgedPod] = {}
        self.judged = 0
        self.evictions = 0
        self._seconds: deque[float] = deque(maxlen=_DURATIONS_KEPT)

    def record_attempt(self, uid: str, pod: JudgedPod, seconds: float, victims: int) -> None:
        """Record the end of an attempt: its result, duration and number of victims."""
        if self.pods.pop(uid, None) is None:
            self.judged += 1
        if len(self.pods) >= _PODS_KEPT:
            del self.pods[next(iter(self.pods))]
        self.pods[uid] = pod
        self.evictions += victims
        self._seconds.append(seconds)

    @property
    def unschedulable_share(self) -> float | None:
        """Share of the kept pods whose last attempt found no node, or failed; None without pods."""
        if not self.pods:
            return None
        return sum(pod.is_unschedulable for pod in self.pods.values()) / len(self.pods)

    @property
    def evictions_per_pod(self) -> float | None:
        """Number of victims divided by the number of judged pods; None without pods."""
        return self.evictions / self.judged if self.judged else None

    @property
    def p99_seconds(self) -> float | None:
        """99th percentile of the durations of attempts; None without attempts."""
        if not self._seconds:
            return None
        ordered = sorted(self._seconds)
        return ordered[math.ceil(len(ordered) * 0.99) - 1]
