"""Handle failed attempts: requeue the pod and report the reason (handleSchedulingFailure)."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Awaitable, Callable, Coroutine

from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.framework import interface, profile, queued_pod, status
from policysched.framework.answers import rejections
from policysched.queue import scheduling_queue
from policysched.scheduler import counters as counts
from policysched.scheduler import decisions, event_notes, eviction, nominations, ports

_log = logging.getLogger(__name__)

MAX_CONDITION_CHARACTERS = 32_768 - 4
"""Limit of the message of a condition, as in metav1.Condition.

etcd rejects objects of more than 1.5 MiB.
"""

POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
FAILED_SCHEDULING = "FailedScheduling"
SCHEDULING = "Scheduling"
"""Condition type, reasons and action that users know (core/v1/types.go)."""


@dataclasses.dataclass(frozen=True, slots=True)
class AttemptFailure:
    """The reason why an attempt ended without a bound pod.

    Attributes:
        message: text for the condition and the event.
        is_rejection: True if the pod does not fit, False for an error.
        unschedulable_plugins, pending_plugins: plugins that rejected the pod; they determine which
            events retry it. If both are empty, the pod is retried after backoff.
        nominated_node_name: node on which preemption makes room; "" withdraws a nomination, None
            keeps it.
        made_room: result of PostFilter, with the victims to evict; None if it did not run.
        is_told: whether to report the failure in an event and a condition.
        evidence: metric evidence, only for the event, because it differs in each attempt.
        brief: shorter message for the event if `message` is too long; "" to use `message`.
    """

    message: str
    is_rejection: bool
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    nominated_node_name: str | None = ""
    made_room: interface.PostFilterResult | None = None
    is_told: bool = True
    evidence: tuple[str, ...] = ()
    brief: str = ""


CANCELLED = AttemptFailure("the scheduler is stopping", is_rejection=False, is_told=False)
"""For pods that were still being bound when the scheduler had to stop immediately."""


def make_reserve_or_permit_failure(point: str, answer: status.Status) -> AttemptFailure:
    """Return the failure of a pod that Reserve or Permit rejected on its chosen node."""
    if not answer.is_rejection:
        return make_plugin_failure(point, answer)
    reasons = ", ".join(sorted(f"1 {reason}" for reason in answer.reasons))
    plugins = frozenset((answer.plugin,)) if answer.plugin else frozenset()
    is_pending = answer.code is status.Code.PENDING
    return AttemptFailure(
        f"0/1 nodes are available: {reasons}.",
        is_rejection=True,
        unschedulable_plugins=frozenset() if is_pending else plugins,
        pending_plugins=plugins if is_pending else frozenset(),
    )


def make_plugin_failure(point: str, answer: status.Status) -> AttemptFailure:
    """Return the failure of a pod for which a plugin returned an error at `point`."""
    problem = answer.problem
    message = f'running {point} plugin "{answer.plugin}": {problem}' if answer.plugin else problem
    return AttemptFailure(message, is_rejection=answer.is_rejection)


def make_internal_failure(error: Exception) -> AttemptFailure:
    """Return the failure of a pod for which a plugin raised an exception."""
    if isinstance(error, errors.PluginFailure):
        return AttemptFailure(str(error), is_rejection=False)
    return AttemptFailure(f"internal error: {type(error).__name__}: {error}", is_rejection=False)


def make_fit_failure(
    message: str,
    diagnosis: interface.Diagnosis,
    made_room: interface.PostFilterResult | None,
) -> AttemptFailure:
    """Return the failure of a pod that fits on no node, with the result of PostFilter."""
    nominated = "" if made_room is None else made_room.nominated_node_name
    return AttemptFailure(
        message,
        is_rejection=True,
        unschedulable_plugins=frozenset(diagnosis.unschedulable_plugins),
        pending_plugins=frozenset(diagnosis.pending_plugins),
        nominated_node_name=nominated,
        made_room=made_room,
    )


class FailureHandler:
    """Requeues pods whose attempt failed, starts their evictions, and reports the failure."""

    def __init__(  # noqa: PLR0913 - the parts of the loop that a failure touches
        self,
        queue: scheduling_queue.SchedulingQueue,
        pods: ports.PodLookup,
        evictions: eviction.PreemptionExecutor,
        outside: ports.SchedulerPorts,
        counters: counts.SchedulingCounters,
        log: decisions.DecisionLog,
        *,
        start_task: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        """Requeue pods into `queue` in their newest version, which `pods` returns.

        `start_task` starts the coroutines that write for PostFilter plugins.
        """
        self._queue = queue
        self._pods = pods
        self._evictions = evictions
        self._recorder = outside.recorder
        self._status_writer = outside.status_writer
        self._counters = counters
        self._log = log
        self._start_task = start_task

    def requeue_and_report_pod(
        self,
        queued: queued_pod.QueuedPodInfo,
        prof: profile.Profile,
        failure: AttemptFailure,
        decision: decisions.SchedulingDecision,
    ) -> None:
        """Requeue the pod, start its evictions, and report the failure in a condition and an event.

        A pod that was deleted, or bound by another scheduler, is dropped without a report.
        """
        rejected = counts.AttemptResult.UNSCHEDULABLE
        result = rejected if failure.is_rejection else counts.AttemptResult.ERROR
        self._counters.attempts[prof.scheduler_name, result] += 1
        self._log.end_decision(decision, result, failure.message)
        if not failure.is_rejection:
            _log.warning("scheduling %s failed: %s", queued.info.key, decision.message)
        newest = self._pods.current(queued.uid)
        if newest is None or newest.pod.spec.node_name:
            self._counters.gone += 1
            self._queue.done(queued.uid)
            return
        queued.info = newest
        queued.unschedulable_plugins = set(failure.unschedulable_plugins)
        queued.pending_plugins = set(failure.pending_plugins)
        # Before the pod is requeued, so that the gate is closed when the queue runs PreEnqueue.
        self._start_evictions(newest, prof, failure)
        self._queue.add_unschedulable(queued)
        nominations.update_nomination_after_failure(
            self._queue, newest, failure.nominated_node_name
        )
        if failure.made_room is not None and failure.made_room.write is not None:
            self._start_task(self._write_for_pod(queued.uid, failure.made_room.write))
        if failure.is_told:
            self._publish_failure(queued, prof, failure)

    async def _write_for_pod(self, uid: str, write: Callable[[], Awaitable[bool]]) -> None:
        """Run the write of a PostFilter plugin; if it fails, no event will wake the pod."""
        if not await write():
            self._queue.retry_after_error(uid)

    def _start_evictions(
        self, info: pod_shape.PodInfo, prof: profile.Profile, failure: AttemptFailure
    ) -> None:
        """Start the evictions that PostFilter chose, if it made room for the pod."""
        made_room = failure.made_room
        if made_room is not None and made_room.status.is_success and failure.nominated_node_name:
            self._log.measured.victims.observe(len(made_room.victims))
            self._evictions.start_preemption(
                eviction.PodPreemption(
                    info,
                    failure.nominated_node_name,
                    made_room.victims,
                    made_room.status.plugin,
                    prof,
                )
            )

    def _publish_failure(
        self, queued: queued_pod.QueuedPodInfo, prof: profile.Profile, failure: AttemptFailure
    ) -> None:
        """Record an event, and write the condition and nomination unless both are unchanged."""
        brief = failure.brief or failure.message
        self._recorder.record(
            queued.info,
            ports.EventType.WARNING,
            FAILED_SCHEDULING,
            SCHEDULING,
            event_notes.format_note(" ".join((brief, *failure.evidence)), prof),
            prof.scheduler_name,
            equal_by=event_notes.format_note(brief, prof),
        )
        reason = UNSCHEDULABLE if failure.is_rejection else SCHEDULER_ERROR
        message = rejections.cut(failure.message, MAX_CONDITION_CHARACTERS)
        condition = ports.PodCondition("False", reason, message, queued.first_try_seconds)
        nominated = failure.nominated_node_name
        queued.was_nominated = queued.was_nominated or bool(nominated)
        shown = queued.info.pod.status.nominated_node_name
        if nominated == shown and not queued.was_nominated:
            nominated = None
        if nominated is None and self._is_condition_known(queued, condition):
            return
        queued.reported = (reason, message)
        self._status_writer.set_condition(queued.info, condition, nominated)

    def _is_condition_known(
        self, queued: queued_pod.QueuedPodInfo, condition: ports.PodCondition
    ) -> bool:
        """Return whether the pod has this condition, or the last queued write contains it."""
        if queued.reported == (condition.reason, condition.message):
            return True
        return any(
            (c.type, c.status, c.reason, c.message)
            == (POD_SCHEDULED, condition.status, condition.reason, condition.message)
            for c in queued.info.pod.status.conditions
        )


def record_skipped_deleting_pod(
    info: pod_shape.PodInfo, prof: profile.Profile, recorder: ports.EventRecorder
) -> None:
    """Record an event that a pod was not scheduled because it is being deleted."""
    recorder.record(
        info,
        ports.EventType.WARNING,
        FAILED_SCHEDULING,
        SCHEDULING,
        event_notes.format_note(f"skip schedule deleting pod: {info.key}", prof),
        prof.scheduler_name,
    )
