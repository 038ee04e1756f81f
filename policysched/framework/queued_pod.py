"""A pod on its way through the queues."""

from __future__ import annotations

import dataclasses
import math

from policysched.cluster import elapsed_time
from policysched.cluster.pods import pod_shape


@dataclasses.dataclass(slots=True, eq=False)
class QueuedPodInfo:
    """A waiting pod and its history; times are seconds of the monotonic clock.

    Attributes:
        info: the pod as last seen.
        timestamp_seconds: when it was last put into a queue.
        attempts: scheduling attempts begun.
        unschedulable_count: attempts that ended unschedulable; drives the backoff.
        consecutive_errors: attempts that ended in an error, since the last that did not.
        initial_attempt_seconds: when its first attempt began, None before.
        first_try_seconds: wall-clock time of its first attempt by this process, in whole seconds
            since 1970; None before, and as long as no policy reads times of pods.
        looked_at_seconds: wall-clock time at which `info` was given its shape: that of the last
            attempt, or that of the last bound of policies that the pod's times have reached.
        backoff_until_seconds: when backoff ends, 0 for none.
        unschedulable_plugins: plugins that rejected it in the last attempt.
        pending_plugins: those among them that answered PENDING.
        gating_plugin: the PreEnqueue plugin that holds it back, "" for none.
        was_woken_by_placed_pods: whether only a change of placed pods ended its last wait.
        sequence: order of arrival, to break ties.
        was_nominated: whether the API server was ever told of a node nominated for it.
        reported: (reason, message) of the condition last written for it.
    """

    info: pod_shape.PodInfo
    timestamp_seconds: float
    sequence: int = 0
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    initial_attempt_seconds: float | None = None
    first_try_seconds: int | None = None
    looked_at_seconds: float = 0.0
    backoff_until_seconds: float = 0.0
    unschedulable_plugins: set[str] = dataclasses.field(default_factory=set)
    pending_plugins: set[str] = dataclasses.field(default_factory=set)
    gating_plugin: str = ""
    was_woken_by_placed_pods: bool = False
    was_nominated: bool = False
    reported: tuple[str, str] = ("", "")

    def begin_attempt(self, bounds: elapsed_time.TimeBounds, now_seconds: float) -> None:
        """Give the pod the shape that it has in an attempt, as policies with `bounds` see it."""
        if self.first_try_seconds is None:
            self.first_try_seconds = math.floor(now_seconds)
        self.looked_at_seconds = now_seconds
        self.place_in_time(bounds)

    def place_in_time(self, bounds: elapsed_time.TimeBounds) -> None:
        """Give the pod the shape that it had when it was last looked at."""
        if self.first_try_seconds is not None:
            self.info = self.info.place_in_time(
                bounds, self.looked_at_seconds, self.first_try_seconds
            )

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.info.uid

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin holds it back."""
        return bool(self.gating_plugin)
