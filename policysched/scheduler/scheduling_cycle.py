"""Schedule one pod, from the queue to an assumed pod, synchronously and without I/O.

Only HTTP extenders are asked asynchronously, before the cycle; their answers are part of its input.

skip? → schedule_pod ─┬─ fits ─────────▶ assume → reserve → permit → (binding cycle)
                      └─ does not fit ─▶ post_filter → handle failure
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    cycle_state,
    extender_answers,
    messages,
    plugin_watch,
    queued_pod,
    runtime,
    status,
    waiting_pods,
)
from policysched.queue import scheduling_queue
from policysched.scheduler import decisions, event_notes, failure, nominations, ports

_log = logging.getLogger(__name__)

_CYCLES_A_SAMPLE = 10
"""Interval, in cycles, between measurements of single plugins (pluginMetricsSamplePercent)."""
_SAMPLE_INTERVAL_SECONDS = 0.05
"""Minimum interval between measured cycles, which take a third longer than others."""


@dataclasses.dataclass(slots=True, eq=False)
class AssumedPod:
    """An assumed pod and its decision, from the scheduling cycle to the binding cycle.

    Attributes:
        queued: the pod as it was scheduled.
        framework: framework of the profile that decided.
        decision: record of the decision.
        state: cycle state of the scheduling cycle.
        node_name: chosen node.
        is_waiting: whether a Permit plugin delays the pod.
        has_pre_bind: whether a PreBind plugin has work for the pod.
    """

    queued: queued_pod.QueuedPodInfo
    framework: runtime.Framework
    decision: decisions.SchedulingDecision
    state: cycle_state.CycleState
    node_name: str
    is_waiting: bool
    has_pre_bind: bool = True

    @property
    def info(self) -> pod_shape.PodInfo:
        """The pod as it was scheduled."""
        return self.queued.info


class SchedulingCycle:
    """Chooses a node for one pod at a time, and assumes the pod there."""

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        waiting: waiting_pods.WaitingPods,
        failures: failure.FailureHandler,
        log: decisions.DecisionLog,
        clock: clocks.Clock,
    ) -> None:
        """Decide from the state of `cache`; pass pods whose attempt failed to `failures`."""
        self._cache = cache
        self._queue = queue
        self._waiting = waiting
        self._failures = failures
        self._log = log
        self._clock = clock
        self._cycles = 0
        self._next_sample_seconds = -math.inf
        observe = log.measured.plugins.observe
        self._watch = plugin_watch.Watch(clock.monotonic_seconds, observe)

    async def ask_extenders(
        self,
        extenders: ports.Extenders,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
        started_seconds: float,
    ) -> extender_answers.ExtenderAnswers | None:
        """Ask HTTP extenders about a popped pod; return None after handling a failure.

        The attempt began at `started_seconds` of the monotonic clock.
        """
        bounds = framework.profile.time_bounds
        try:
            if bounds.waiting or bounds.pod_age:
                queued.begin_attempt(bounds, self._cache.snapshot().now_seconds)
            return await extenders.ask(framework, queued.info, self._cache.snapshot)
        except asyncio.CancelledError:
            self.cancel(framework, queued, started_seconds)
            raise
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            _log.exception("extenders could not be asked about %s", queued.info.key)
            failed = failure.make_internal_failure(error)
            self._handle_failure(framework, queued, failed, started_seconds)
            return None

    def cancel(
        self,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
        started_seconds: float,
    ) -> None:
        """End an attempt without a decision, because the scheduler is stopping."""
        self._handle_failure(framework, queued, failure.CANCELLED, started_seconds)

    def _handle_failure(
        self,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
        failed: failure.AttemptFailure,
        started_seconds: float,
    ) -> None:
        """Record an attempt that ended without a decision, and requeue the pod."""
        prof = framework.profile
        decision = self._log.record_error(queued, prof, failed.message, started_seconds)
        self._failures.requeue_and_report_pod(queued, prof, failed, decision)

    def run(
        self,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
        extenders: extender_answers.ExtenderAnswers | None = None,
        started_seconds: float | None = None,
    ) -> AssumedPod | None:
        """Schedule a popped pod; return None if that failed and the failure was handled.

        `extenders` are the answers of HTTP extenders; None if none was asked. The attempt began at
        `started_seconds` of the monotonic clock; None for now.
        """
        self._cycles += 1
        if self._cycles % _CYCLES_A_SAMPLE or not self._start_sample_if_due():
            return self._run_cycle(framework, queued, extenders, started_seconds)
        with plugin_watch.measuring(self._watch):
            return self._run_cycle(framework, queued, extenders, started_seconds)

    def _start_sample_if_due(self) -> bool:
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds < self._next_sample_seconds:
            return False
        self._next_sample_seconds = now_seconds + _SAMPLE_INTERVAL_SECONDS
        return True

    def _run_cycle(
        self,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
        extenders: extender_answers.ExtenderAnswers | None,
        started_seconds: float | None,
    ) -> AssumedPod | None:
        """Run one cycle and record its decision; return None after handling a failure."""
        if started_seconds is None:
            started_seconds = self._clock.monotonic_seconds()
        prof = framework.profile
        bounds = prof.time_bounds
        try:
            snap = self._cache.snapshot()
            if bounds.waiting or bounds.pod_age:
                queued.begin_attempt(bounds, snap.now_seconds)
            result = framework.schedule_pod(queued.info, snap, extenders)
            refused = None if extenders is not None else result.diagnosis
            if refused is not None and _has_no_effect(framework, queued, snap, result):
                plugins = refused.unschedulable_plugins
                self._queue.return_still_unschedulable(queued, plugins)
                return None
            failed = None
            if result.node_name is None:
                failed = self._run_post_filter(framework, queued.info, snap, result)
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            # A failing plugin costs one attempt of one pod; the scheduler continues.
            _log.exception("a plugin failed while %s was scheduled", queued.info.key)
            failed = failure.make_internal_failure(error)
            self._handle_failure(framework, queued, failed, started_seconds)
            return None
        decision = self._log.record_decision(queued, prof, result, snap, started_seconds)
        if extenders is not None:
            decision.extenders = extenders.asked
        if failed is not None:
            decisions.record_post_filter_result(decision, failed.made_room, failed.evidence)
            self._failures.requeue_and_report_pod(queued, prof, failed, decision)
            return None
        if bounds.waiting or bounds.pod_age:  # placed pods are counted without their times
            queued.info = queued.info.place_in_time(elapsed_time.NO_BOUNDS, snap.now_seconds)
        place = AssumedPod(
            queued, framework, decision, result.state, result.node_name or "", is_waiting=False
        )
        return self._assume_reserve_and_permit(place, snap.now_seconds)

    def _run_post_filter(
        self,
        framework: runtime.Framework,
        info: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        result: runtime.ScheduleResult,
    ) -> failure.AttemptFailure:
        """Run the PostFilter plugins; add their reasons to `result.message`."""
        if not result.status.is_rejection:
            return failure.AttemptFailure(", ".join(result.status.reasons), is_rejection=False)
        diagnosis = result.diagnosis
        if diagnosis is None:
            # Without nodes, no plugin rejected the pod: it is retried after backoff.
            return failure.AttemptFailure(result.message, is_rejection=True)
        evidence = framework.evidence(info, snap, diagnosis)
        result.times.begin()
        made_room = framework.run_post_filter(result.state, info, snap, diagnosis)
        if made_room is not None:
            result.times.end("PostFilter", made_room.status.code)
            self._log.measured.preemption_attempts += 1
            diagnosis.post_filter_message = ", ".join(made_room.status.reasons)
            result.message = messages.fit_error(diagnosis, snap.is_alive, snap.node_count)
        failed = failure.make_fit_failure(result.message, diagnosis, made_room)
        room_bytes = event_notes.compute_max_note_text_bytes(framework.profile)
        brief = result.message
        if len(brief.encode()) > room_bytes:
            nodes = snap.node_count
            brief = messages.brief_fit_error(diagnosis, snap.is_alive, nodes, room_bytes)
        return dataclasses.replace(failed, evidence=tuple(evidence), brief=brief)

    def _assume_reserve_and_permit(
        self, place: AssumedPod, now_seconds: float
    ) -> AssumedPod | None:
        """Assume a pod, then reserve and permit it; return None after handling a failure."""
        info, node_name = place.info, place.node_name
        self._cache.assume_pod(info, node_name, now_seconds)
        nominations.end_nomination(self._queue, info, node_name)
        try:
            failed, waits = _reserve_and_permit(place)
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            _log.exception("a plugin failed while a place for %s was reserved", info.key)
            failed, waits = failure.make_internal_failure(error), {}
        if failed is not None:
            place.framework.binding.unreserve(place.state, info, node_name)
            self._cache.forget_pod(info)
            profile = place.framework.profile
            self._failures.requeue_and_report_pod(place.queued, profile, failed, place.decision)
            return None
        if waits:
            self._waiting.add(info, node_name, waits)
            place.is_waiting = True
        else:
            # No failure after this makes the pod unschedulable, so the queue need not record events
            # for it.
            self._queue.done(info.uid)
        return place


def _has_no_effect(
    framework: runtime.Framework,
    queued: queued_pod.QueuedPodInfo,
    snap: snapshot.Snapshot,
    result: runtime.ScheduleResult,
) -> bool:
    """Return whether a rejection would only repeat an event.

    Many pods can wait for the room of a deleted pod. The first one takes it, and the others would
    fail one after the other (docs/decisions/0032-rejections-that-only-repeat.md).
    """
    if not queued.was_woken_by_placed_pods or not queued.unschedulable_count:
        return False
    is_nominated = queued.was_nominated or queued.info.pod.status.nominated_node_name
    is_pending = queued.pending_plugins or (result.diagnosis and result.diagnosis.pending_plugins)
    return not (is_nominated or is_pending or framework.may_make_room(queued.info, snap))


def _reserve_and_permit(
    place: AssumedPod,
) -> tuple[failure.AttemptFailure | None, dict[str, float]]:
    """Run Reserve and Permit; return the failure, or the timeouts of plugins that delay the pod."""
    times = place.decision.times
    times.begin()
    framework, state, info, node_name = place.framework, place.state, place.info, place.node_name
    answer = framework.binding.reserve(state, info, node_name)
    times.end("Reserve", answer.code)
    if answer is not status.SUCCESS and not answer.is_success:
        return failure.make_reserve_or_permit_failure("Reserve", answer), {}
    answer, waits = framework.binding.permit(state, info, node_name)
    times.end("Permit", answer.code)
    if answer is status.SUCCESS or answer.is_success or answer.code is status.Code.WAIT:
        return None, waits
    return failure.make_reserve_or_permit_failure("Permit", answer), {}
