"""The log of the latest decisions, for humans: the node of each pod, or the reason for none.

A record is made at the end of the scheduling cycle, from data that is valid only then. It is
completed when the attempt ends: the pod is bound, or the assumed pod is undone. A record refers to
no objects of the cluster, so a thousand records need a few MiB in any cluster: at most 64
rejections and the points of four nodes each (`framework/standings.py`). Texts are cut, because a
pod that requests thousands of resources has thousands of reasons.
"""

from __future__ import annotations

import datetime
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from policysched import clock as clocks
from policysched.cluster import snapshot
from policysched.framework import (
    interface,
    point_times,
    profile,
    queued_pod,
    runtime,
    standings,
    status,
)
from policysched.scheduler import counters as counts
from policysched.scheduler import measurements

_log = logging.getLogger(__name__)

_NODES_WITH_POINTS = 4
"""The chosen node and the next best ones."""
MAX_MESSAGE_CHARACTERS = 4096
"""Limit of a message in the log; the condition of the pod contains more of it."""


class SchedulingDecision(msgspec.Struct, gc=False):
    """The outcome of one scheduling attempt.

    Attributes:
        pod, uid: the pod, as `namespace/name`, and its uid.
        scheduler_name: the profile; `policies` and `policy_hash` are its policies at that time.
        result: the result of the attempt; while the pod is being bound, the result so far.
        node_name: the chosen node, None if no node fits; `message` then gives the reason. If the
            pod was not bound despite a chosen node, `message` gives that reason.
        feasible_count, node_count: number of feasible nodes, and of all nodes.
        attempt: 1 for the first.
        decided_at: time of the snapshot.
        started_seconds: start of the cycle (monotonic clock).
        waited_seconds: time in the queues since the previous attempt.
        duration_seconds: duration of the cycle up to the choice.
        times: times of the extension points.
        ended_seconds: time at which the pod was bound or given up, None until then.
        pre_filter: the PreFilter status that ended the cycle for all nodes.
        rejections: the statuses that rejected single nodes.
        standing: points of the best nodes, None if no scores were computed.
        nominated_node_name: the node on which room is made by evicting `victims`.
        evidence: the metric evidence of the rules.
    """

    pod: str
    uid: str
    scheduler_name: str
    result: counts.AttemptResult
    node_name: str | None
    message: str
    feasible_count: int
    node_count: int
    attempt: int
    policies: tuple[str, ...]
    policy_hash: str
    decided_at: datetime.datetime
    started_seconds: float
    waited_seconds: float
    duration_seconds: float
    times: point_times.PointTimes
    ended_seconds: float | None = None
    pre_filter: status.Status | None = None
    rejections: tuple[standings.Rejection, ...] = ()
    standing: standings.Standing | None = None
    nominated_node_name: str = ""
    victims: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


Listener: TypeAlias = Callable[
    [SchedulingDecision, runtime.ScheduleResult, snapshot.Snapshot], None
]
"""Called inside the cycle, while result and snapshot are valid; must return quickly."""

EndListener: TypeAlias = Callable[[SchedulingDecision], None]
"""Called when an attempt has ended; must return quickly."""


class DecisionLog:
    """A ring buffer of decisions, which the loop fills and /debug/decisions shows.

    Attributes:
        measured: the histograms of durations.
        listeners: called with each decision when it is made.
        end_listeners: called with each decision when it is final.
    """

    def __init__(
        self, limit: int, clock: clocks.Clock, measured: measurements.SchedulingHistograms
    ) -> None:
        """Keep the latest `limit` decisions, and measure all of them."""
        self._ring: deque[SchedulingDecision] = deque(maxlen=limit)
        self._clock = clock
        self.measured = measured
        self.listeners: list[Listener] = []
        self.end_listeners: list[EndListener] = []

    def __iter__(self) -> Iterator[SchedulingDecision]:
        """Iterate over the kept decisions, oldest first."""
        return iter(self._ring)

    def __reversed__(self) -> Iterator[SchedulingDecision]:
        """Iterate over the kept decisions, newest first."""
        return reversed(self._ring)

    def __len__(self) -> int:
        """Return the number of kept decisions."""
        return len(self._ring)

    def find_latest(self, pod_key: str) -> SchedulingDecision | None:
        """Return the newest decision about a pod, given as `namespace/name`."""
        return next((d for d in reversed(self._ring) if d.pod == pod_key), None)

    def record_decision(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
        started_seconds: float,
    ) -> SchedulingDecision:
        """Record the decision about a pod; called in the cycle that has just made it."""
        outcome = (
            _get_attempt_result(result),
            result.node_name,
            _cut_message(result.message),
            result.feasible_count,
            result.node_count,
        )
        decision = self._add_decision(
            queued, prof, outcome, snap.now, started_seconds, result.times
        )
        _condense_arrays(decision, result, snap)
        self._ring.append(decision)
        for listener in self.listeners:
            try:
                listener(decision, result, snap)
            except Exception:  # noqa: BLE001 - listeners are code of other modules
                # A failing listener must not prevent the scheduling of the pod.
                _log.exception("a listener failed on the decision about %s", decision.pod)
        return decision

    def record_error(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        message: str,
        started_seconds: float,
    ) -> SchedulingDecision:
        """Record that a plugin raised, so that there is no decision about the pod."""
        outcome = (counts.AttemptResult.ERROR, None, _cut_message(message), 0, 0)
        now, times = self._clock.now(), point_times.PointTimes()
        decision = self._add_decision(queued, prof, outcome, now, started_seconds, times)
        self._ring.append(decision)
        return decision

    def _add_decision(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        outcome: tuple[counts.AttemptResult, str | None, str, int, int],
        now: datetime.datetime,
        started_seconds: float,
        times: point_times.PointTimes,
    ) -> SchedulingDecision:
        seconds = self._clock.monotonic_seconds() - started_seconds
        self.measured.algorithm.observe(seconds)
        return SchedulingDecision(  # by position: keyword arguments take four times as long
            queued.info.key,
            queued.uid,
            prof.scheduler_name,
            *outcome,
            queued.attempts,
            prof.policies,
            prof.policy_hash,
            now,
            started_seconds,
            started_seconds - queued.timestamp_seconds,
            seconds,
            times,
        )

    def end_decision(
        self, decision: SchedulingDecision, result: counts.AttemptResult, message: str | None = None
    ) -> None:
        """Record the end of an attempt, with the message of the failure if it failed."""
        decision.result = result
        decision.message = decision.message if message is None else _cut_message(message)
        decision.ended_seconds = self._clock.monotonic_seconds()
        seconds = decision.ended_seconds - decision.started_seconds
        self.measured.attempts.observe(seconds, result.value, decision.scheduler_name)
        self.measured.observe_extension_points(decision.times, decision.scheduler_name)
        for listener in self.end_listeners:
            try:
                listener(decision)
            except Exception:  # noqa: BLE001 - as above
                _log.exception("a listener failed at the end of an attempt for %s", decision.pod)


def note_post_filter(
    decision: SchedulingDecision,
    answer: interface.PostFilterResult | None,
    evidence: tuple[str, ...],
) -> None:
    """Record the answer of PostFilter, and the evidence of the rules."""
    decision.evidence = evidence
    if answer is not None and answer.status.is_success:
        decision.nominated_node_name = answer.nominated_node_name or ""
        decision.victims = tuple(victim.key for victim in answer.victims)


def _get_attempt_result(result: runtime.ScheduleResult) -> counts.AttemptResult:
    if result.node_name is not None:
        return counts.AttemptResult.SCHEDULED
    is_rejection = result.status.is_rejection
    return counts.AttemptResult.UNSCHEDULABLE if is_rejection else counts.AttemptResult.ERROR


def _cut_message(message: str) -> str:
    return standings.cut(message, MAX_MESSAGE_CHARACTERS)


def _condense_arrays(
    decision: SchedulingDecision, result: runtime.ScheduleResult, snap: snapshot.Snapshot
) -> None:
    """Copy a summary of the long arrays, which the next cycle overwrites."""
    names = snap.nodes.names
    if result.diagnosis is not None:
        ended_by = result.diagnosis.pre_filter
        decision.pre_filter = None if ended_by is None else standings.condensed(ended_by)
    if result.filtered is not None and result.feasible_count < result.node_count:
        kept = result.kept_rejections
        find = standings.rejections if kept is None else kept.of
        rejected_count = result.node_count - result.feasible_count
        decision.rejections = find(result.filtered, result.statuses, names, rejected_count)
    if result.scores is not None and result.node_name is not None:
        decision.standing = standings.standing(result.scores, names, _NODES_WITH_POINTS)
