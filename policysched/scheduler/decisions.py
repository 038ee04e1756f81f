"""Keep the latest decisions for operators: the node of each pod, or why it has none.

A record is made at the end of the scheduling cycle, from data that is valid only then. It is
completed when the pod is bound or the assumed pod is undone. Records do not refer to objects of the
cluster, and hold at most 64 rejections and the scores of four nodes
(`framework/scoring/standings.py`). A thousand records therefore need a few MiB in any cluster.
Texts are truncated, because a pod that requests thousands of resources can be rejected for
thousands of reasons.
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
    extender_answers,
    interface,
    point_times,
    profile,
    queued_pod,
    runtime,
    status,
)
from policysched.framework.answers import rejections
from policysched.framework.scoring import standings
from policysched.scheduler import counters as counts
from policysched.scheduler import measurements

_log = logging.getLogger(__name__)

_NODES_WITH_POINTS = 4
"""The chosen node and the next best nodes."""
MAX_MESSAGE_CHARACTERS = 4096
"""Limit of a message in the log; the condition of the pod has a higher limit."""


class SchedulingDecision(msgspec.Struct, gc=False):
    """The result of one scheduling attempt.

    Attributes:
        pod, uid: the pod as `namespace/name`, and its uid.
        scheduler_name: the profile; `policies` and `policy_hash` are those at the time of the
            attempt.
        result: result of the attempt; while the pod is being bound, the result so far.
        node_name: the chosen node, or None if no node fits. `message` explains why no node fits, or
            why the binding to the chosen node failed.
        feasible_count, node_count: number of feasible nodes and of all nodes.
        attempt: number of the attempt, from 1.
        decided_at: wall-clock time of the snapshot.
        started_seconds: start of the cycle (monotonic clock).
        waited_seconds: time that the pod spent in the queues since its last attempt.
        duration_seconds: duration of the cycle until the node was chosen.
        times: start and end of each extension point (monotonic clock).
        ended_seconds: when the pod was bound or the attempt failed (monotonic clock), or None.
        pre_filter: PreFilter status that rejected all nodes, or None.
        rejections: Filter statuses that rejected nodes, with node counts and examples.
        standing: scores of the best nodes; None if no scores were computed.
        nominated_node_name: the node on which the eviction of `victims` makes room.
        evidence: metric evidence of the rules.
        skipped_rules: the rules (`POLICY/RULE`) that dropped out, because no node had a valid
            sample of a metric.
        extenders: the HTTP extenders that were asked.
        rollout_stage: hash of the new version in the running rollout, and its stage; or "".
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
    rejections: tuple[rejections.Rejection, ...] = ()
    standing: standings.Standing | None = None
    nominated_node_name: str = ""
    victims: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    skipped_rules: tuple[str, ...] = ()
    extenders: tuple[extender_answers.AskedExtender, ...] = ()
    rollout_stage: str = ""


Listener: TypeAlias = Callable[
    [SchedulingDecision, runtime.ScheduleResult, snapshot.Snapshot], None
]
"""Called within the cycle, while result and snapshot are valid; must return quickly."""

EndListener: TypeAlias = Callable[[SchedulingDecision], None]
"""Called when an attempt has ended; must return quickly."""


class DecisionLog:
    """A ring buffer of decisions that the loop fills and /debug/decisions serves.

    Attributes:
        measured: histograms of durations.
        listeners: called with each new decision, within its cycle.
        end_listeners: called with each decision when its attempt has ended.
        ended: the latest decisions whose attempts have ended, in the order of their ends.
        ended_count: number of ended attempts since the start; `ended[-1]` has this number.
    """

    def __init__(
        self, limit: int, clock: clocks.Clock, measured: measurements.SchedulingHistograms
    ) -> None:
        """Keep the latest `limit` decisions, and observe the durations of all decisions."""
        self._ring: deque[SchedulingDecision] = deque(maxlen=limit)
        self._clock = clock
        self.measured = measured
        self.listeners: list[Listener] = []
        self.end_listeners: list[EndListener] = []
        self.ended: deque[SchedulingDecision] = deque(maxlen=limit)
        self.ended_count = 0

    def __iter__(self) -> Iterator[SchedulingDecision]:
        """Iterate over the kept decisions, oldest first."""
        return iter(self._ring)

    def __reversed__(self) -> Iterator[SchedulingDecision]:
        """Iterate over the kept decisions, newest first."""
        return reversed(self._ring)

    def __len__(self) -> int:
        """Return the number of kept decisions."""
        return len(self._ring)

    def find_latest_decision(self, pod_key: str) -> SchedulingDecision | None:
        """Return the newest kept decision about a pod (`namespace/name`), or None."""
        return next((d for d in reversed(self._ring) if d.pod == pod_key), None)

    def record_decision(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        result: runtime.ScheduleResult,
        snap: snapshot.Snapshot,
        started_seconds: float,
    ) -> SchedulingDecision:
        """Record the decision about a pod; called in the cycle that made it."""
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
        _copy_array_summaries(decision, result, snap)
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
        """Record an attempt without a decision, because a plugin raised an exception."""
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
        """Return a new record, and observe the duration of its cycle."""
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
        """Record the end of an attempt, with the message of its failure, if any."""
        decision.result = result
        decision.message = decision.message if message is None else _cut_message(message)
        decision.ended_seconds = self._clock.monotonic_seconds()
        seconds = decision.ended_seconds - decision.started_seconds
        self.measured.attempts.observe(seconds, result.value, decision.scheduler_name)
        self.measured.observe_extension_points(decision.times, decision.scheduler_name)
        self.ended.append(decision)
        self.ended_count += 1
        for listener in self.end_listeners:
            try:
                listener(decision)
            except Exception:  # noqa: BLE001 - listeners are code of other modules
                _log.exception("a listener failed at the end of an attempt for %s", decision.pod)


def record_post_filter_result(
    decision: SchedulingDecision,
    answer: interface.PostFilterResult | None,
    evidence: tuple[str, ...],
) -> None:
    """Record the result of PostFilter and the metric evidence of the rules."""
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
    return rejections.cut(message, MAX_MESSAGE_CHARACTERS)


def _copy_array_summaries(
    decision: SchedulingDecision, result: runtime.ScheduleResult, snap: snapshot.Snapshot
) -> None:
    """Copy a summary of the arrays over all nodes, which the next cycle overwrites."""
    names = snap.nodes.names
    if result.diagnosis is not None:
        ended_by = result.diagnosis.pre_filter
        decision.pre_filter = None if ended_by is None else rejections.condensed(ended_by)
    if result.failures is not None and result.feasible_count < result.node_count:
        rejected_count = result.node_count - result.feasible_count
        decision.rejections = result.failures.list_rejections(names, rejected_count)
    if result.scores is not None and result.node_name is not None:
        decision.standing = standings.find_standing(result.scores, names, _NODES_WITH_POINTS)
