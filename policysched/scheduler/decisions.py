"""The latest decisions, for people: where each pod went, or why it went nowhere.

A record is made when the cycle has decided, out of what is live then, and completed when the
attempt ends: the pod is bound, or what was assumed is undone. It refers to nothing of the cluster,
so that the last thousand take a few MiB whatever happens: at most 64 rejections and three nodes'
points each (`framework/standings.py`), and texts are cut, for a pod that asks for thousands of
resources has thousands of reasons.
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
"""The chosen node and those that come next."""
MAX_MESSAGE_CHARACTERS = 4096
"""Of a message that is kept; the condition of the pod has more of it."""


class SchedulingDecision(msgspec.Struct, gc=False):
    """The outcome of one scheduling attempt.

    Attributes:
        pod, uid: the pod, as `namespace/name`, and its uid.
        scheduler_name: the profile; `policies` and `policy_hash` are what it stood for.
        result: how the attempt ended, as far as it has.
        node_name: the chosen node, None when the pod fits nowhere; then `message` says why. Where
            the pod was not bound in spite of a node, `message` says why not.
        feasible_count, node_count: nodes that passed, and all nodes.
        attempt: 1 for the first.
        decided_at: time of the snapshot.
        started_seconds: when the cycle began (monotonic clock).
        waited_seconds: how long the pod stood in queues before, since its attempt before this one.
        duration_seconds: of the cycle up to the choice.
        times: of the extension points.
        ended_seconds: when the pod was bound or given up, None while it is on its way.
        pre_filter: what ended the cycle for all nodes.
        rejections: what ruled out single nodes.
        standing: points of the best nodes, None where there was nothing to choose.
        nominated_node_name: where room is made, by the eviction of `victims`.
        evidence: what rules saw of their metrics.
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
"""Called inside the cycle, while result and snapshot are still valid; it must be quick."""

EndListener: TypeAlias = Callable[[SchedulingDecision], None]
"""Called when an attempt has ended; it must be quick."""


class DecisionLog:
    """A ring of decisions.

    Attributes:
        measured: how long everything took.
        listeners: hear of each one as it is made.
        end_listeners: hear of each one when nothing about it changes any more.
    """

    def __init__(
        self, limit: int, clock: clocks.Clock, measured: measurements.SchedulingHistograms
    ) -> None:
        """Remember the latest `limit` decisions, and measure all of them."""
        self._ring: deque[SchedulingDecision] = deque(maxlen=limit)
        self._clock = clock
        self.measured = measured
        self.listeners: list[Listener] = []
        self.end_listeners: list[EndListener] = []

    def __iter__(self) -> Iterator[SchedulingDecision]:
        """Iterate over what is remembered, oldest first."""
        return iter(self._ring)

    def __reversed__(self) -> Iterator[SchedulingDecision]:
        """Iterate over what is remembered, newest first."""
        return reversed(self._ring)

    def __len__(self) -> int:
        """Return how many decisions are remembered."""
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
        """Remember what was decided about a pod, in the cycle that has just decided."""
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
            except Exception:  # noqa: BLE001 - whatever somebody else's code does
                # Whoever only listens must not decide that the pod is not scheduled.
                _log.exception("a listener failed at the decision about %s", decision.pod)
        return decision

    def record_error(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        message: str,
        started_seconds: float,
    ) -> SchedulingDecision:
        """Remember that a plugin broke, so that nothing was decided about a pod."""
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
        return SchedulingDecision(  # by position, which takes a quarter of the time
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
        """Note how an attempt ended, with the message of its failure if it failed."""
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
                _log.exception("a listener failed at the end of an attempt of %s", decision.pod)


def note_post_filter(
    decision: SchedulingDecision,
    answer: interface.PostFilterResult | None,
    evidence: tuple[str, ...],
) -> None:
    """Note what PostFilter answered, and what rules saw."""
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
    """Copy the little that is worth keeping of long arrays, which change with the next cycle."""
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
