"""A pod on its way through the queues."""

from __future__ import annotations

import dataclasses

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
    backoff_until_seconds: float = 0.0
    unschedulable_plugins: set[str] = dataclasses.field(default_factory=set)
    pending_plugins: set[str] = dataclasses.field(default_factory=set)
    gating_plugin: str = ""
    was_woken_by_placed_pods: bool = False
    was_nominated: bool = False
    reported: tuple[str, str] = ("", "")

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.info.uid

    @property
    def is_gated(self) -> bool:
        """Whether a PreEnqueue plugin holds it back."""
        return bool(self.gating_plugin)
