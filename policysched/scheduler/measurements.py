"""Measure durations, attempts and victims in histograms with kube-scheduler's buckets.

Names, labels and buckets are as in `pkg/scheduler/metrics/metrics.go`; values are measured at the
same points as in `schedule_one.go` and `runtime/framework.go`.
"""

from __future__ import annotations

from policysched import histogram
from policysched.framework import point_times

PERMIT_WAIT = "WaitOnPermit"
"""Extension point of the wait for Permit; kube-scheduler has a separate metric for it."""

_ATTEMPT_BOUNDS = histogram.make_exponential_buckets(0.001, 2, 15)
_MOST_ATTEMPTS = 15
"""Pods with at least this many attempts share one label value (`getAttemptsLabel`)."""


class SchedulingHistograms:
    """Histograms since the start of the process; durations are in seconds.

    Attributes:
        attempts: duration from the start of the cycle until the pod was bound or the attempt
            failed.
        algorithm: duration of cycles until a node was chosen or PostFilter returned.
        pods: duration from the first admission of a pod to the queue until it was bound.
        attempts_of_pods: number of attempts that bound pods needed.
        points: duration of extension points.
        plugins: duration of individual plugins, in a sample of the cycles.
        permit_waits: duration of waits for Permit, by result.
        victims: number of victims of each preemption.
        preemption_attempts: number of PostFilter runs that returned a result.
    """

    def __init__(self) -> None:
        """Start with empty histograms."""
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
        """Observe the durations of an attempt's extension points and its wait for Permit."""
        for point, code, started_seconds, ended_seconds in times.laps:
            seconds = ended_seconds - started_seconds
            if point == PERMIT_WAIT:
                self.permit_waits.observe(seconds, code.value)
            else:
                self.points.observe(seconds, point, code.value, profile)

    def observe_bound_pod(self, attempts: int, seconds: float) -> None:
        """Observe a pod that was bound `seconds` after its first admission to the queue."""
        label = str(attempts) if attempts < _MOST_ATTEMPTS else f"{_MOST_ATTEMPTS}+"
        self.pods.observe(seconds, label)
        self.attempts_of_pods.observe(attempts)
