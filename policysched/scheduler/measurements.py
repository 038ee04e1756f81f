"""How long things take, and how many attempts and victims there are, in kube-scheduler's buckets.

Names, labels and buckets are facts of `pkg/scheduler/metrics/metrics.go`; what is observed where is
that of `schedule_one.go` and `runtime/framework.go`.
"""

from __future__ import annotations

from policysched import histogram
from policysched.framework import point_times

PERMIT_WAIT = "WaitOnPermit"
"""The point that a pod spends waiting, of which kube-scheduler has a metric of its own."""

_ATTEMPT_BOUNDS = histogram.make_exponential_buckets(0.001, 2, 15)
_MOST_ATTEMPTS = 15
"""Pods with so many attempts and more share a label value (`getAttemptsLabel`)."""


class SchedulingHistograms:
    """Histograms since the start, in seconds where nothing else is said.

    Attributes:
        attempts: from the start of a cycle to the end of the binding, or to the failure.
        algorithm: cycles, up to the choice of a node or the answer of PostFilter.
        pods: from when a pod was first let into the queue until it was bound.
        attempts_of_pods: how many attempts bound pods took.
        points: extension points.
        plugins: single plugins, in a sample of the cycles.
        permit_waits: pods that waited for Permit, by how that ended.
        victims: how many pods each preemption chose.
        preemption_attempts: how often PostFilter was asked.
    """

    def __init__(self) -> None:
        """Start with nothing measured."""
        many, one, grow = (
            histogram.LabelledHistograms,
            histogram.Histogram,
            histogram.make_exponential_buckets,
        )
        self.attempts = many(("result", "profile"), _ATTEMPT_BOUNDS)
        self.algorithm = one(_ATTEMPT_BOUNDS)
        self.pods = many(("attempts",), grow(0.01, 2, 20))
        self.attempts_of_pods = one(grow(1, 2, 5))
        self.points = many(("extension_point", "status", "profile"), grow(0.0001, 2, 12))
        self.plugins = many(("plugin", "extension_point", "status"), grow(0.00001, 1.5, 20))
        self.permit_waits = many(("result",), _ATTEMPT_BOUNDS)
        self.victims = one(grow(1, 2, 7))
        self.preemption_attempts = 0

    def observe_extension_points(self, times: point_times.PointTimes, profile: str) -> None:
        """Count runs of extension points, and waits for Permit."""
        for point, code, started_seconds, ended_seconds in times.laps:
            seconds = ended_seconds - started_seconds
            if point == PERMIT_WAIT:
                self.permit_waits.observe(seconds, code.value)
            else:
                self.points.observe(seconds, point, code.value, profile)

    def observe_bound_pod(self, attempts: int, seconds: float) -> None:
        """Count a pod that was bound, `seconds` after it was first let into the queue."""
        label = str(attempts) if attempts < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        self.pods.observe(seconds, label)
        self.attempts_of_pods.observe(attempts)
