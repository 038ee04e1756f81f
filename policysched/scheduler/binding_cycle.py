"""Bind assumed pods asynchronously, many at a time.

prepare → wait for Permit → PreBind → Bind → PostBind
       └─────────┴────────────┴────────┴─ failed ▶ unreserve, forget, wake others, handle failure
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from policysched.cluster import cache as caches
from policysched.framework import status
from policysched.queue import scheduling_queue
from policysched.scheduler import (
    assumed_pods,
    decisions,
    event_notes,
    failure,
    measurements,
    object_changes,
    ports,
    scheduling_cycle,
)
from policysched.scheduler import counters as counts

_log = logging.getLogger(__name__)

SCHEDULED = "Scheduled"
BINDING = "Binding"
"""Reason and action of the event about a bound pod (`schedule_one.go`, finishBinding)."""


class BindingCycle:
    """Binds assumed pods, and undoes the assumption if the binding fails."""

    def __init__(  # noqa: PLR0913 - the parts of the loop that a binding touches
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        on_their_way: assumed_pods.PreemptibleAssumedPods,
        failures: failure.FailureHandler,
        outside: ports.SchedulerPorts,
        counters: counts.SchedulingCounters,
        *,
        log: decisions.DecisionLog,
    ) -> None:
        """Remove assumed pods from `cache` on failure, and pass them to `failures`."""
        self._cache = cache
        self._queue = queue
        self._waiting = on_their_way.waiting
        self._pre_binding = on_their_way.pre_binding
        self._failures = failures
        self._recorder = outside.recorder
        self._status_writer = outside.status_writer
        self._extenders = outside.extenders
        self._counters = counters
        self._log = log

    def run_pre_bind_pre_flight(self, assumed: scheduling_cycle.AssumedPod) -> bool:
        """Run PreBindPreFlight; return whether to continue, otherwise undo the assumption.

        If the pod waits for Permit or has PreBind work, its node is published as a nomination
        first. Components that add and remove nodes can then see where the pod will run (KEP-5278;
        `schedule_one.go`, bindingCycle).
        """
        info, node_name = assumed.info, assumed.node_name
        assumed.decision.times.begin()
        try:
            answer = assumed.framework.binding.pre_bind_pre_flight(assumed.state, info, node_name)
            assumed.decision.times.end("PreBindPreFlight", answer.code)
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            _log.exception("a plugin failed before %s was bound", info.key)
            return self._undo_failed_attempt(assumed, failure.make_internal_failure(error))
        if not answer.is_success and not answer.is_skip:
            failed = failure.AttemptFailure(answer.message, is_rejection=False)
            return self._undo_failed_attempt(assumed, failed)
        assumed.has_pre_bind = answer.is_success
        if assumed.has_pre_bind or assumed.is_waiting:
            assumed.queued.was_nominated = True
            self._status_writer.nominate(info, node_name)
        return True

    def _undo_failed_attempt(
        self, assumed: scheduling_cycle.AssumedPod, failed: failure.AttemptFailure
    ) -> bool:
        self._waiting.remove(assumed.info.uid)
        self._undo_assumed_pod(assumed, failed)
        return False

    async def wait_on_permit(self, assumed: scheduling_cycle.AssumedPod) -> bool:
        """Wait for Permit; return whether the pod was permitted, otherwise undo the assumption."""
        assumed.decision.times.begin()
        try:
            answer = await self._waiting.wait(assumed.info.uid)
            assumed.decision.times.end(measurements.PERMIT_WAIT, answer.code)
        except asyncio.CancelledError:
            self._undo_assumed_pod(assumed, failure.CANCELLED)
            raise
        if answer.is_rejection:
            self._undo_assumed_pod(
                assumed, failure.make_reserve_or_permit_failure("Permit", answer)
            )
            return False
        if not answer.is_success:
            message = f"waiting on permit for pod: {answer.message}"
            self._undo_assumed_pod(assumed, failure.AttemptFailure(message, is_rejection=False))
            return False
        self._queue.done(assumed.info.uid)
        return True

    async def pre_bind(self, assumed: scheduling_cycle.AssumedPod) -> bool:
        """Run the PreBind plugins; return whether they succeeded, otherwise undo the assumption."""
        framework, state, node_name = assumed.framework, assumed.state, assumed.node_name
        assumed.decision.times.begin()
        work = framework.binding.pre_bind(state, assumed.info, node_name)
        answer = await self._run_plugins(
            assumed, self._pre_binding.run_plugins(assumed.info.uid, work)
        )
        return self._undo_unless_successful(assumed, "PreBind", answer)

    async def run(self, assumed: scheduling_cycle.AssumedPod) -> None:
        """Bind a permitted pod; on return, it is bound, or its assumption is undone."""
        assumed.decision.times.begin()
        answer = await self._run_plugins(assumed, self._bind(assumed))
        if self._undo_unless_successful(assumed, "Bind", answer):
            await self._finish_binding(assumed)

    async def _bind(self, assumed: scheduling_cycle.AssumedPod) -> status.Status:
        """Let an HTTP extender bind the pod, or else the Bind plugins."""
        if self._extenders is not None:
            answer = await self._extenders.bind(assumed.info, assumed.node_name)
            if answer is not None:
                return answer
        binding = assumed.framework.binding
        return await binding.bind(assumed.state, assumed.info, assumed.node_name)

    async def _run_plugins(
        self,
        assumed: scheduling_cycle.AssumedPod,
        work: Coroutine[Any, Any, status.Status],
    ) -> status.Status | failure.AttemptFailure:
        """Return the status, or a failure if a plugin raised; if cancelled, undo the assumption."""
        try:
            return await work
        except asyncio.CancelledError:
            self._undo_assumed_pod(assumed, failure.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 - plugins are third-party code
            _log.exception("a plugin failed while %s was bound", assumed.info.key)
            return failure.make_internal_failure(error)

    def _undo_unless_successful(
        self,
        assumed: scheduling_cycle.AssumedPod,
        point: str,
        answer: status.Status | failure.AttemptFailure,
    ) -> bool:
        """Return whether an extension point succeeded; otherwise undo the assumption."""
        if isinstance(answer, status.Status):
            assumed.decision.times.end(point, answer.code)
            if answer.is_success:
                return True
            answer = failure.make_plugin_failure(point, answer)
        self._undo_assumed_pod(assumed, answer)
        return False

    async def _finish_binding(self, assumed: scheduling_cycle.AssumedPod) -> None:
        """Count and report a bound pod, and run its PostBind plugins."""
        prof = assumed.framework.profile
        self._cache.finish_binding(assumed.info)
        self._counters.attempts[prof.scheduler_name, counts.AttemptResult.SCHEDULED] += 1
        self._note_bound(assumed)
        self._recorder.record(
            assumed.info,
            ports.EventType.NORMAL,
            SCHEDULED,
            BINDING,
            event_notes.format_note(
                f"Successfully assigned {assumed.info.key} to {assumed.node_name}", prof
            ),
            prof.scheduler_name,
        )
        try:
            await assumed.framework.binding.post_bind(
                assumed.state, assumed.info, assumed.node_name
            )
        except Exception:  # noqa: BLE001 - a failing PostBind does not unbind the pod
            _log.exception("a plugin failed after %s was bound", assumed.info.key)

    def _note_bound(self, assumed: scheduling_cycle.AssumedPod) -> None:
        """Complete the decision record of a bound pod and observe its durations."""
        decision, queued = assumed.decision, assumed.queued
        self._log.end_decision(decision, counts.AttemptResult.SCHEDULED)
        first_seconds = queued.initial_attempt_seconds
        if first_seconds is not None and decision.ended_seconds is not None:
            seconds = decision.ended_seconds - first_seconds
            self._log.measured.observe_bound_pod(decision.attempt, seconds)

    def _undo_assumed_pod(
        self, assumed: scheduling_cycle.AssumedPod, failed: failure.AttemptFailure
    ) -> None:
        """Release the resources that the pod reserved, then requeue or drop it.

        The queue receives an event, because the released resources can help other pods. If a plugin
        rejected the pod, the event must not wake the pod itself, so it follows the requeueing and
        excludes the pod.
        """
        info = assumed.info
        assumed.framework.binding.unreserve(assumed.state, info, assumed.node_name)
        self._counters.undone[assumed.framework.profile.scheduler_name] += 1
        placed = object_changes.copy_pod_with_node(info, assumed.node_name)
        is_freed = self._cache.forget_pod(info)
        if is_freed and not failed.is_rejection:
            self._queue.move_all_to_active_or_backoff(object_changes.POD_DELETE, placed, None)
        profile = assumed.framework.profile
        self._failures.requeue_and_report_pod(assumed.queued, profile, failed, assumed.decision)
        if is_freed and failed.is_rejection:
            self._queue.move_all_to_active_or_backoff(
                object_changes.POD_DELETE, placed, None, lambda pod: pod.uid != info.uid
            )
