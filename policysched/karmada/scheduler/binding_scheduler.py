"""Schedule one binding after another: find the trigger, decide, and record the outcome.

This module is synchronous and has no I/O: `begin_next_attempt` decides, the caller writes the
decision, and `end_attempt` records the outcome. Several attempts can be between these two calls at
the same time, but only one for each binding. If a decision needs the answers of estimators, the
caller requests them first, and `resume_attempt` decides.

Source: Karmada v1.18.2 `pkg/scheduler/scheduler.go` (`doScheduleBinding`).
"""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from policysched import errors as policysched_errors
from policysched.karmada import errors
from policysched.karmada.scheduler import attempt_outcomes, event_handlers, patches, triggers
from policysched.karmada.state import estimates, object_validation
from policysched.karmada.steps import binding_decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched import clock as clocks
    from policysched.karmada import objects
    from policysched.karmada.scheduler import measurements
    from policysched.karmada.state import snapshot
    from policysched.karmada.steps import algorithm

_log = logging.getLogger(__name__)

SUCCEEDED: Final = "ScheduleBindingSucceed"
FAILED: Final = "ScheduleBindingFailed"
NORMAL, WARNING = "Normal", "Warning"


class BindingEventRecorder(Protocol):
    """Records Kubernetes events about bindings."""

    def record(self, binding: objects.Binding, event_type: str, reason: str, note: str) -> None:
        """Queue an event about a binding, and the same event about its resource; never blocks."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BindingAttempt:
    """One attempt to schedule a binding.

    Attributes:
        binding: the binding as it was read.
        trigger: the reason for the attempt; None if only the generation is confirmed.
        decision: the decision, or None before it is made or if none is needed.
        is_hopeless: whether only a change to the binding can make it schedulable.
        started_seconds: start of the attempt (monotonic clock).
        provenance: the cluster policies of the decision, in the format of events.
        question: the estimates that the decision needs; `resume_attempt` receives the answers.
        answers: the answers so far.
    """

    binding: objects.Binding
    trigger: triggers.ScheduleTrigger | None
    decision: binding_decision.BindingDecision | None
    is_hopeless: bool
    started_seconds: float
    provenance: str = ""
    question: estimates.EstimateRequest | None = None
    answers: estimates.Answers = dataclasses.field(default_factory=dict)

    @property
    def targets(self) -> objects.Targets | None:
        """The clusters to write, or None to keep the current ones."""
        if self.decision is None or self.is_hopeless:
            return None
        result = self.decision.result
        if isinstance(result, errors.PlacementFailure):
            return () if result.kind == "fit" else None
        return result


class BindingScheduler:
    """Schedules the bindings of one scheduler name.

    Attributes:
        measured: measurements of attempts for metrics.
        listeners: called with each decision.
    """

    def __init__(
        self,
        how: algorithm.BindingAlgorithm,
        handlers: event_handlers.BindingEventHandlers,
        recorder: BindingEventRecorder,
        clock: clocks.Clock,
        measured: measurements.BindingMeasurements,
        *,
        asks_estimators: bool = False,
    ) -> None:
        """Decide on the queued bindings of `handlers` with `how`, with or without estimators."""
        self.measured = measured
        self.listeners: list[
            Callable[[objects.Binding, binding_decision.BindingDecision], None]
        ] = []
        self._algorithm = how
        self._handlers = handlers
        self._store = handlers.store
        self._queue = handlers.queue
        self._recorder = recorder
        self._clock = clock
        self._asks_estimators = asks_estimators

    def replace_algorithm(self, how: algorithm.BindingAlgorithm) -> None:
        """Use the algorithm `how` from the next decision on."""
        self._algorithm = how

    def requeue_all_bindings(self) -> None:
        """Queue all bindings of this scheduler, and forget all earlier failures."""
        self._handlers.requeue_all_bindings()

    def stop_queueing(self) -> None:
        """Queue nothing until `requeue_all_bindings`; the process is on standby."""
        self._handlers.stop_queueing()

    def begin_next_attempt(self) -> BindingAttempt | None:
        """Return the next attempt, or None if no binding is ready.

        The caller must write the decision or request the estimates, and then call `resume_attempt`,
        `end_attempt` or `abandon_attempt`.
        """
        self._queue.run_timers()
        while (key := self._queue.pop()) is not None:
            binding = self._store.bindings.get(key)
            if binding is not None and binding.metadata.deletion_timestamp is None:
                return self._begin_attempt(binding)
            if binding is not None:
                self._warn_of_skipped_binding(binding)
            self._finish_queue_key(key)
        return None

    def resume_attempt(self, attempt: BindingAttempt, answers: estimates.Answers) -> BindingAttempt:
        """Return the attempt with `answers` added: either decided, or with another question.

        The decision uses the current state, not the state at the time of the question.
        """
        known = {**attempt.answers, **answers}
        return self._decide_or_ask_estimators(
            dataclasses.replace(attempt, question=None, answers=known)
        )

    def record_outcome_event(
        self, attempt: BindingAttempt, verdict: attempt_outcomes.AttemptOutcome
    ) -> None:
        """Record an event about the outcome of an attempt."""
        binding, decision = attempt.binding, attempt.decision
        result = decision.result if decision is not None else ()
        if verdict.error:
            if decision is None or not decision.failed_terms or attempt.targets is not None:
                self._record_warning(binding, verdict.error + attempt.provenance)
        elif not isinstance(result, errors.PlacementFailure):
            is_cluster_wide = binding.kind != "ResourceBinding"
            note = patches.format_success_event_message(result, is_cluster_wide=is_cluster_wide)
            self._recorder.record(binding, NORMAL, SUCCEEDED, note + attempt.provenance)

    def needs_write_or_event(self, attempt: BindingAttempt) -> bool:
        """Return whether the attempt requires a write or an event.

        Bindings are checked again after a cluster has changed and when the process starts. Most of
        them already have the right clusters and status; Karmada writes the scheduling time even for
        these bindings. A binding that may keep its clusters does not report that it waits for a
        metric.
        """
        binding, decision = attempt.binding, attempt.decision
        if decision is None:
            return True
        if isinstance(decision.result, errors.PlacementFailure):
            return not (decision.result.is_held and self._may_keep_clusters(binding))
        return bool(
            patches.make_clusters_patch(binding, decision.result)
            or patches.make_affinity_term_patch(binding, decision.observed_affinity)
            or not patches.is_generation_confirmed(binding)
            or binding_decision.is_reschedule_requested(binding)
        )

    def _may_keep_clusters(self, binding: objects.Binding) -> bool:
        """Return whether the current binding has been scheduled and may keep its clusters."""
        leaving = self._store.terminating_cluster_names
        return (
            patches.is_generation_confirmed(binding)
            and not binding_decision.is_reschedule_requested(binding)
            and not any(target.name in leaving for target in binding.spec.clusters)
        )

    def find_generation_to_confirm(
        self, attempt: BindingAttempt, newest: objects.Binding | None, now: str
    ) -> int:
        """Return the generation to confirm on success: the one before or after the write.

        Karmada decides again when the watch shows its write, and confirms the new generation in
        another patch if that decision succeeds. This scheduler confirms it immediately, unless a
        second decision would fail or change the clusters. For example, after a binding has left a
        cluster, the taints of that cluster exclude it.

        Args:
            attempt: an attempt whose clusters have been written.
            newest: the binding after the write; None if it is unknown.
            now: the time that the status will contain.
        """
        read, decision = attempt.binding, attempt.decision
        if (
            newest is None
            or decision is None
            or isinstance(decision.result, errors.PlacementFailure)
        ):
            return read.metadata.generation
        if not patches.differs_only_by_our_write(newest, read):
            return read.metadata.generation
        status = msgspec.structs.replace(
            newest.status,
            last_scheduled_time=now,
            scheduler_observing_affinity_name=decision.observed_affinity,
        )
        is_final = self._would_keep_written_binding(
            attempt, msgspec.structs.replace(newest, status=status)
        )
        return (newest if is_final else read).metadata.generation

    def _would_keep_written_binding(
        self, attempt: BindingAttempt, written: objects.Binding
    ) -> bool:
        """Return whether the next decision would leave a written binding unchanged."""
        if self._find_trigger(written) is None:
            return True
        how, seen = (
            self._algorithm.copy_without_observer(),
            self._make_decision_snapshot(attempt, written),
        )
        try:
            decision = binding_decision.decide_binding(how, written, seen)
        except Exception:  # noqa: BLE001 - missing estimates, or a bug that the next attempt reports
            return False
        observed = written.status.scheduler_observing_affinity_name
        return decision == binding_decision.BindingDecision(written.spec.clusters, observed)

    def get_current_binding(self, attempt: BindingAttempt) -> objects.Binding | None:
        """Return the newest known state of the binding, or None if it is gone."""
        return self._store.get_current_binding(attempt.binding)

    def note_written_binding(self, attempt: BindingAttempt, answer: objects.Binding | None) -> None:
        """Record the binding that a write returned; `answer` is None if the write failed."""
        self._store.end_assumption(attempt.binding.key, answer)

    def end_attempt(self, attempt: BindingAttempt, *, is_retried: bool) -> None:
        """Record the outcome of an attempt after its last write."""
        key = attempt.binding.key
        self._store.end_assumption(key, None)
        if attempt.trigger is not None:
            seconds = self._clock.monotonic_seconds() - attempt.started_seconds
            is_error = is_retried or attempt.is_hopeless
            self.measured.count_attempt(attempt.trigger, seconds, is_error=is_error)
        if is_retried:
            self._handlers.incoming[event_handlers.FAILURE] += 1
            self._queue.retry(key, has_no_room=_is_unschedulable(attempt))
            self._queue.done(key)
        else:
            self._finish_queue_key(key)

    def abandon_attempt(self, attempt: BindingAttempt) -> None:
        """Stop an attempt without an outcome; the next leader or a restarted process retries it."""
        self._store.end_assumption(attempt.binding.key, None)
        self._finish_queue_key(attempt.binding.key)

    def _complete_placement(self, binding: objects.Binding) -> objects.Placement | None:
        """Return the placement completed by policies, or None without policies or placement."""
        policies = self._algorithm.policies
        if policies is None or binding.spec.placement is None:
            return None
        return policies.complete_placement(binding, self._store.make_snapshot_for_binding(binding))

    def _begin_attempt(self, binding: objects.Binding) -> BindingAttempt:
        """Validate a binding, find its trigger, and decide or query estimators."""
        started_seconds = self._clock.monotonic_seconds()
        problem = object_validation.find_object_problem(binding)
        if problem:
            failure = binding_decision.BindingDecision(
                errors.PlacementFailure("other", problem),
                binding.status.scheduler_observing_affinity_name,
            )
            why = triggers.ScheduleTrigger.RECONCILE
            return BindingAttempt(binding, why, failure, True, started_seconds)
        trigger = self._find_trigger(binding)
        if trigger is None and triggers.was_write_interrupted(binding):
            trigger = triggers.ScheduleTrigger.RECONCILE
        attempt = BindingAttempt(binding, trigger, None, False, started_seconds)
        return attempt if trigger is None else self._decide_or_ask_estimators(attempt)

    def _find_trigger(self, binding: objects.Binding) -> triggers.ScheduleTrigger | None:
        return triggers.find_schedule_trigger(
            binding,
            self._store.terminating_cluster_names,
            self._complete_placement(binding),
            places_sets=self._algorithm.places_sets,
        )

    def _make_decision_snapshot(
        self, attempt: BindingAttempt, binding: objects.Binding
    ) -> snapshot.ControlPlaneSnapshot:
        """Return the snapshot for a decision about the binding, with the attempt's answers."""
        seen = self._store.make_snapshot_for_binding(binding)
        if self._asks_estimators:
            return dataclasses.replace(seen, estimated=attempt.answers)
        return seen

    def _decide_or_ask_estimators(self, attempt: BindingAttempt) -> BindingAttempt:
        """Return the attempt with its decision, or with a question to estimators."""
        binding, provenance = attempt.binding, self._format_policy_provenance(attempt.binding)
        try:
            decision = self._decide_attempt(attempt, provenance)
        except estimates.EstimatesMissing as waits:
            return dataclasses.replace(attempt, question=waits.question)
        attempt = dataclasses.replace(attempt, decision=decision, provenance=provenance)
        if attempt.targets is not None:
            self._store.assume_targets(binding.key, attempt.targets)
        return attempt

    def _format_policy_provenance(self, binding: objects.Binding) -> str:
        policies = self._algorithm.policies
        if policies is None:
            return ""
        return policies.format_policy_provenance(
            binding, self._store.make_snapshot_for_binding(binding)
        )

    def _decide_attempt(
        self, attempt: BindingAttempt, provenance: str
    ) -> binding_decision.BindingDecision:
        """Decide, and convert exceptions to failures; report failed affinity terms."""
        binding = attempt.binding
        try:
            decision = binding_decision.decide_binding(
                self._algorithm, binding, self._make_decision_snapshot(attempt, binding)
            )
        except estimates.EstimatesMissing:
            raise
        except Exception as error:  # noqa: BLE001 - a plugin's bug must not stop all scheduling
            _log.exception("no decision about %s", binding.key)
            is_told = isinstance(error, policysched_errors.PluginFailure)
            text = str(error) if is_told else f"{type(error).__name__}: {error}"
            former = binding.status.scheduler_observing_affinity_name
            return binding_decision.BindingDecision(errors.PlacementFailure("other", text), former)
        for number, failure in decision.failed_terms:
            self._record_warning(
                binding, _format_failed_term(binding, number, failure) + provenance
            )
        for listener in self.listeners:
            listener(binding, decision)
        return decision

    def _record_warning(self, binding: objects.Binding, text: str) -> None:
        self._recorder.record(binding, WARNING, FAILED, text)

    def _warn_of_skipped_binding(self, binding: objects.Binding) -> None:
        kind = binding.kind[0].lower() + binding.kind[1:]
        self._record_warning(binding, f"skip schedule deleting {kind}: {binding.key}")

    def _finish_queue_key(self, key: str) -> None:
        self._queue.forget(key)
        self._queue.done(key)


def _is_unschedulable(attempt: BindingAttempt) -> bool:
    result = attempt.decision.result if attempt.decision is not None else None
    return isinstance(result, errors.PlacementFailure) and result.kind == "unschedulable"


def _format_failed_term(
    binding: objects.Binding, number: int, failure: errors.PlacementFailure
) -> str:
    """Return the event message for a term of clusterAffinities; the misspelling is Karmada's."""
    return (
        f"failed to schedule {binding.kind}({binding.key}) with clusterAffiliates "
        f"index({number}): {failure.text}"
    )
