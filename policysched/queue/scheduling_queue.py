"""All pending pods, and the order in which they are scheduled.

                 add                     pop                      bound
    (new pod) ─────────▶ [activeQ] ───────────────▶ (in flight) ────────▶ done
                  │        ▲   ▲                        │  │
          gated   │        │   │ backoff over, or       │  │ an event meanwhile that
                  ▼        │   │ activeQ is empty       │  │ may help, or an error
          [unschedulable] ─┘ [backoffQ] ◀───────────────│──┘
                  │  ▲          ▲                       │
                  │  └──────────│───────────────────────┘  does not fit
                  └─────────────┘
                an event that may help, or 5 minutes without one

Every pod is in exactly one place. Differences from kube-scheduler 1.36
(`backend/queue/scheduling_queue.go`):

- The flush of old unschedulable pods does not affect pods in flight.
- A pod whose PreEnqueue plugin fails is retried after backoff.
- A pod whose QueueSort plugin fails is scheduled after all others.
- A nomination takes effect immediately, even before the API server shows it.
- A pod that a change of placed pods woke returns without an attempt if every node still rejects it
  (`return_still_unschedulable`).
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from policysched import clock as clocks
from policysched import errors
from policysched.cluster.pods import nominated_pods, pod_shape
from policysched.framework import events, queued_pod
from policysched.queue import (
    active_queue,
    backoff_queue,
    heap,
    queue_profiles,
    queueing_hints,
    queueing_reasons,
    unschedulable_pods,
)

_log = logging.getLogger(__name__)

ACTIVE, BACKOFF, UNSCHEDULABLE, GATED = "active", "backoff", "unschedulable", "gated"
"""Names of the queues in metrics, as in kube-scheduler."""

_AFTER_ALL_OTHERS = "~"
"""First part of a key that is greater than all keys of third-party plugins (`ask_sort_key`)."""

PreCheck = Callable[[pod_shape.PodInfo], bool]


@dataclasses.dataclass(frozen=True, slots=True)
class QueueSettings:
    """Durations in seconds, and feature switches; the defaults are kube-scheduler's."""

    initial_backoff_seconds: float = 1.0
    max_backoff_seconds: float = 10.0
    max_unschedulable_seconds: float = 300.0
    flush_interval_seconds: float = 30.0
    pops_from_backoff: bool = True
    """Whether pods in backoff are tried early if activeQ is empty (KEP-5142)."""
    asks_hints: bool = True
    """Whether queueing hints filter the events that requeue rejected pods (KEP-4247)."""


class SchedulingQueue:
    """activeQ, backoffQ, the unschedulable pods and the pods in flight.

    Not thread-safe. Timers do not run on their own: `run_timers` moves the pods whose timers have
    expired, and `next_timer_seconds` returns when to call it.

    Attributes:
        nominator: the nominated pods.
        incoming: number of pods that entered each queue for each reason.
        settings, next_flush_seconds: durations, and the monotonic time of the next flush.
    """

    def __init__(
        self,
        profiles: Mapping[str, queue_profiles.QueueProfile],
        clock: clocks.Clock,
        settings: QueueSettings | None = None,
        on_ready: Callable[[], None] = lambda: None,
        nominator: nominated_pods.NominatedPods | None = None,
    ) -> None:
        """Create an empty queue.

        Args:
            profiles: keyed by schedulerName; the QueueSort plugin of the first profile orders all
                pods.
            clock: its monotonic time determines backoffs and flushes.
            settings: durations and switches; None for the defaults.
            on_ready: called when `pop` may return a pod again.
            nominator: the cache's nominated pods, so that filters consider them.
        """
        self._clock = clock
        self.settings = settings or QueueSettings()
        self._on_ready = on_ready
        self._profiles = queue_profiles.QueueProfiles(profiles)
        self._hints = queueing_hints.QueueingHints(self._profiles, asks=self.settings.asks_hints)
        self._active = active_queue.ActiveQueue(self._sort_key)
        self._backoff = backoff_queue.BackoffQueue(
            clock,
            self.settings.initial_backoff_seconds,
            self.settings.max_backoff_seconds,
            self._sort_key,
        )
        self._unschedulable = unschedulable_pods.UnschedulablePods(lambda: self._profiles, clock)
        self._last_sequence = 0
        self.next_flush_seconds = clock.monotonic_seconds() + self.settings.flush_interval_seconds
        self.nominator = nominated_pods.NominatedPods() if nominator is None else nominator
        self.incoming: Counter[tuple[str, str]] = Counter()

    def _sort_key(self, queued: queued_pod.QueuedPodInfo) -> heap.SortKey:
        try:
            return (*self._profiles.sort_key(queued), queued.sequence)
        except errors.PluginFailure:
            _log.exception("pod %s is scheduled after all others", queued.info.key)
            return (_AFTER_ALL_OTHERS, queued.sequence)

    # --- new, changed and deleted pods ------------------------------------------------------------

    def add(self, info: pod_shape.PodInfo) -> None:
        """Add a new pending pod; a known pod is ignored."""
        if self._active.is_in_flight(info.uid) or self.get(info.uid) is not None:
            return
        self._add_new_pod(info, queueing_reasons.POD_ADDED)

    def _add_new_pod(self, info: pod_shape.PodInfo, why: str) -> None:
        self._last_sequence += 1
        queued = queued_pod.QueuedPodInfo(
            info, self._clock.monotonic_seconds(), sequence=self._last_sequence
        )
        self._move_to_active(queued, why)
        if not queued.is_gated and info.pod.status.nominated_node_name:
            self.nominator.nominate(info, info.pod.status.nominated_node_name)

    def update(
        self,
        old: pod_shape.PodInfo,
        new: pod_shape.PodInfo,
        changes: Sequence[events.ClusterEvent],
    ) -> None:
        """Replace a pending pod; `changes` are the differences that scheduling reads.

        An unschedulable pod is requeued if a change can make it schedulable. For a pod in flight,
        only the changes are recorded; the caller of `add_unschedulable` sets its newest version.
        """
        happened = [
            active_queue.ObservedClusterEvent(change, old, new, new.uid) for change in changes
        ]
        if self._active.is_in_flight(new.uid):
            for one in happened:
                self._active.record_event(one)
            return
        self.nominator.update_nominated_pod(old, new)
        queued = self.get(new.uid)
        if queued is None:
            self._add_new_pod(new, queueing_reasons.POD_UPDATED)
            return
        queued.info = new
        if new.uid in self._active.pods:
            self._active.pods.push(new.uid, queued)
        elif self._backoff.get(new.uid) is not None:
            self._backoff.add(queued)
        else:
            self._unschedulable.add(queued)
            self._requeue_if_helped(queued, happened)

    def _requeue_if_helped(
        self,
        queued: queued_pod.QueuedPodInfo,
        happened: Iterable[active_queue.ObservedClusterEvent],
    ) -> None:
        """Requeue an unschedulable pod if one of the events can make it schedulable."""
        for one in happened:
            strategy = self._hints.choose_queueing_strategy(queued, one)
            if strategy is not queueing_hints.QueueingStrategy.SKIP:
                self._unschedulable.remove(queued.uid)
                self._requeue_pod(queued, strategy, one.event.label)
                return

    def delete(self, uid: str) -> None:
        """Remove a pod that was deleted or needs no node; a pod in flight stays in flight."""
        self.nominator.remove_nomination(uid)
        if self._active.pods.remove(uid) is None and self._backoff.remove(uid) is None:
            self._unschedulable.remove(uid)

    def get(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Return a pending pod, or None; pods in flight are not found."""
        return self._active.pods.get(uid) or self._backoff.get(uid) or self._unschedulable.get(uid)

    # --- scheduling attempts ----------------------------------------------------------------------

    def pop(self) -> queued_pod.QueuedPodInfo | None:
        """Pop the next pod, or return None if no pod is ready.

        The pod is in flight until `done` or `add_unschedulable` is called for it.
        """
        queued = self._active.pop()
        if queued is None and self.settings.pops_from_backoff:
            queued = self._backoff.pop_early()
            if queued is not None:
                self.incoming[ACTIVE, queueing_reasons.POPPED_FROM_BACKOFF] += 1
                self._active.begin_attempt(queued)
        if queued is not None:
            queued.info = self.nominator.apply_nomination(queued.info)
        return queued

    def done(self, uid: str) -> None:
        """Remove a pod from the pods in flight once it can no longer become unschedulable."""
        self._active.done(uid)

    def add_unschedulable(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Put a pod whose attempt failed back into a queue.

        `queued` contains the plugins that rejected the pod. If there are none, the attempt ended
        with an error, and the pod is retried after backoff. Otherwise the pod waits for an event
        that can make it schedulable, unless one occurred while it was in flight. A pod whose
        schedulerName no longer has a profile is dropped.
        """
        uid = queued.uid
        is_served = self._profiles.serves(queued.info)
        if is_served and self.get(uid) is None:
            if queued.unschedulable_plugins or queued.pending_plugins:
                queued.unschedulable_count += 1
                queued.consecutive_errors = 0
            else:
                queued.consecutive_errors += 1
            queued.timestamp_seconds = self._clock.monotonic_seconds()
            queued.backoff_until_seconds = self._backoff.compute_backoff_end_seconds(queued)
            happened = self._active.list_events_since_pop(uid)
            strategy = self._hints.choose_strategy_after_attempt(queued, happened)
            self._requeue_pod(queued, strategy, queueing_reasons.ATTEMPT_FAILED)
        self._active.done(uid)

    def return_still_unschedulable(
        self, queued: queued_pod.QueuedPodInfo, plugins: Collection[str]
    ) -> None:
        """Return a popped pod to the unschedulable pods, because `plugins` still reject it.

        This is not an attempt, so backoff and the time of the last attempt stay. No event can have
        occurred since the pop.
        """
        queued.attempts -= 1
        queued.unschedulable_plugins = set(plugins)
        self._requeue_pod(
            queued, queueing_hints.QueueingStrategy.SKIP, queueing_reasons.STILL_UNSCHEDULABLE
        )
        self._active.done(queued.uid)

    def return_undecided(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Return a popped pod about which nothing was decided, to retry it with new profiles.

        As with `return_still_unschedulable`, this is not an attempt.
        """
        queued.attempts -= 1
        after_backoff = queueing_hints.QueueingStrategy.AFTER_BACKOFF
        self._requeue_pod(queued, after_backoff, queueing_reasons.PROFILES_CHANGED)
        self._active.done(queued.uid)

    @property
    def in_flight_count(self) -> int:
        """The number of pods that are being scheduled or wait for Permit."""
        return self._active.in_flight_count

    # --- events -----------------------------------------------------------------------------------

    def move_all_to_active_or_backoff(
        self,
        event: events.ClusterEvent,
        old: events.ClusterObject,
        new: events.ClusterObject,
        pre_check: PreCheck | None = None,
    ) -> None:
        """Requeue unschedulable pods that pass `pre_check` and for which `event` can matter."""
        happened = active_queue.ObservedClusterEvent(event, old, new)
        if event.resource is events.EventResource.WILDCARD:
            groups = self._unschedulable.list_groups()
        else:
            interest = self._hints.find_waiting_plugins(event)
            if not interest:
                return
            groups = self._unschedulable.list_groups_rejected_by(interest)
        label = event.label
        is_about_placed_pods = event.resource is events.EventResource.POD
        for equal_pods in groups:
            if not self._hints.may_open_gate(equal_pods[0], event):
                continue
            strategy = self._hints.choose_queueing_strategy(equal_pods[0], happened)
            if strategy is queueing_hints.QueueingStrategy.SKIP:
                continue
            for queued in equal_pods:
                if pre_check is not None and not pre_check(queued.info):
                    continue
                if self._stays_gated(queued):
                    self.incoming[UNSCHEDULABLE, label] += 1
                    continue
                self._unschedulable.remove(queued.uid)
                self._requeue_pod(
                    queued, strategy, label, is_about_placed_pods=is_about_placed_pods
                )
        self._active.record_event(happened)

    def activate(self, uids: Iterable[str]) -> None:
        """Move pending pods to activeQ immediately; requeue pods in flight if they fail."""
        for uid in uids:
            if self._active.is_in_flight(uid):
                self._active.force_retry(uid)
                continue
            queued = self._backoff.remove(uid) or self._unschedulable.remove(uid)
            if queued is not None:
                queued.was_woken_by_placed_pods = False
                self._move_to_active(queued, queueing_reasons.FORCE_ACTIVATED)

    def retry_after_error(self, uid: str) -> None:
        """Retry an unschedulable pod after backoff, because an action on its behalf failed."""
        if self._active.is_in_flight(uid):
            self._active.force_retry(uid)
            return
        queued = self._unschedulable.remove(uid)
        if queued is not None:
            self._back_off_after_error(queued, queueing_reasons.FORCE_ACTIVATED)

    def set_profiles(
        self,
        profiles: Mapping[str, queue_profiles.QueueProfile],
        find_name: queue_profiles.FindProfileName = queue_profiles.get_scheduler_name,
    ) -> None:
        """Replace the profiles; every pending pod is retried after its backoff.

        Pods for which `find_name` names no profile must be deleted first.
        """
        self._profiles = queue_profiles.QueueProfiles(profiles, find_name)
        self._hints = queueing_hints.QueueingHints(self._profiles, asks=self.settings.asks_hints)
        self._active.force_retry()
        for queued in self.list_waiting_pods():
            self._active.pods.remove(queued.uid)
            self._backoff.remove(queued.uid)
            self._unschedulable.remove(queued.uid)
            self._requeue_pod(
                queued,
                queueing_hints.QueueingStrategy.AFTER_BACKOFF,
                queueing_reasons.PROFILES_CHANGED,
            )

    # --- timers -----------------------------------------------------------------------------------

    def next_timer_seconds(self) -> float | None:
        """Return the monotonic time at which `run_timers` must be called next, or None."""
        flush = self.next_flush_seconds if len(self._unschedulable) else None
        backoff = self._backoff.next_completion_seconds()
        bound = self._unschedulable.next_timer_seconds()
        return min((t for t in (backoff, bound, flush) if t is not None), default=None)

    def run_timers(self) -> None:
        """Move the pods whose backoff has ended or whose times help them; flush old pods.

        Every `flush_interval_seconds`, pods are flushed that waited `max_unschedulable_seconds`.
        """
        if len(self._backoff):
            for queued in self._backoff.pop_completed():
                self._move_to_active(queued, queueing_reasons.BACKOFF_COMPLETE)
        self._advance_pod_times()
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds >= self.next_flush_seconds:
            self.next_flush_seconds = now_seconds + self.settings.flush_interval_seconds
            before_seconds = now_seconds - self.settings.max_unschedulable_seconds
            for queued in self._unschedulable.list_pods_older_than(before_seconds):
                self._unschedulable.remove(queued.uid)
                after_backoff = queueing_hints.QueueingStrategy.AFTER_BACKOFF
                self._requeue_pod(queued, after_backoff, queueing_reasons.UNSCHEDULABLE_TIMEOUT)

    def _advance_pod_times(self) -> None:
        """Requeue the unschedulable pods for which policies now open a node."""
        for queued in self._unschedulable.pop_pods_at_bounds():
            old = queued.info
            self._unschedulable.add(queued)
            reached = active_queue.ObservedClusterEvent(
                events.POD_AGE, old, queued.info, queued.uid
            )
            self._requeue_if_helped(queued, [reached])

    # --- contents ---------------------------------------------------------------------------------

    def list_waiting_pods(self) -> list[queued_pod.QueuedPodInfo]:
        """Return all pending pods except pods in flight."""
        return [*self._active.pods, *self._backoff.list_pods(), *self._unschedulable.list_pods()]

    def iterate_queues(self) -> Iterator[tuple[str, queued_pod.QueuedPodInfo]]:
        """Yield each pending pod with the name of its queue; the queues must not change."""
        yield from ((ACTIVE, queued) for queued in self._active.pods)
        yield from ((BACKOFF, queued) for queued in self._backoff.list_pods())
        for queued in self._unschedulable.list_pods():
            yield GATED if queued.is_gated else UNSCHEDULABLE, queued

    def has_ready_pod(self) -> bool:
        """Return whether activeQ has a pod."""
        return bool(self._active.pods)

    def count_pending_pods(self) -> dict[str, int]:
        """Return the number of pending pods, keyed by the name of the queue."""
        gated_count = self._unschedulable.gated_count
        return {
            ACTIVE: len(self._active.pods),
            BACKOFF: len(self._backoff),
            UNSCHEDULABLE: len(self._unschedulable) - gated_count,
            GATED: gated_count,
        }

    # --- moves; the pod must not be in any queue --------------------------------------------------

    def _requeue_pod(
        self,
        queued: queued_pod.QueuedPodInfo,
        strategy: queueing_hints.QueueingStrategy,
        why: str,
        *,
        is_about_placed_pods: bool = False,
    ) -> None:
        """Move a pod to the queue that `strategy` and its backoff determine."""
        queued.was_woken_by_placed_pods = is_about_placed_pods
        if strategy is queueing_hints.QueueingStrategy.SKIP:
            self._move_to_unschedulable(queued, why)
        elif (
            strategy is queueing_hints.QueueingStrategy.AFTER_BACKOFF
            and self._backoff.is_backing_off(queued)
        ):
            self._move_to_backoff(queued, why)
        else:
            self._move_to_active(queued, why)

    def _move_to_active(self, queued: queued_pod.QueuedPodInfo, why: str) -> None:
        if not self._try_pre_enqueue(queued, why):
            return
        if queued.initial_attempt_seconds is None:
            queued.initial_attempt_seconds = self._clock.monotonic_seconds()
        self._active.pods.push(queued.uid, queued)
        self.incoming[ACTIVE, why] += 1
        self._on_ready()

    def _move_to_backoff(self, queued: queued_pod.QueuedPodInfo, why: str) -> None:
        # PreEnqueue must run here, because pods can be popped directly from backoffQ.
        if not self._try_pre_enqueue(queued, why):
            return
        self._backoff.add(queued)
        self.incoming[BACKOFF, why] += 1
        self._on_ready()

    def _move_to_unschedulable(self, queued: queued_pod.QueuedPodInfo, why: str) -> None:
        self._unschedulable.add(queued)
        self.incoming[UNSCHEDULABLE, why] += 1

    def _try_pre_enqueue(self, queued: queued_pod.QueuedPodInfo, why: str) -> bool:
        """Run the PreEnqueue plugins; move a rejected pod to the queue in which it waits."""
        profile = self._profiles.get(queued.info)
        try:
            answer = profile.pre_enqueue(queued.info)
        except Exception:  # noqa: BLE001 - plugins are third-party code
            _log.exception("a PreEnqueue plugin failed for pod %s", queued.info.key)
            queued.consecutive_errors += 1
            queued.timestamp_seconds = self._clock.monotonic_seconds()
            queued.backoff_until_seconds = self._backoff.compute_backoff_end_seconds(queued)
            self._back_off_after_error(queued, why)
            return False
        queued.gating_plugin = "" if answer.is_success else answer.plugin
        if not answer.is_success:
            queued.unschedulable_plugins.add(answer.plugin)
            self._move_to_unschedulable(queued, why)
        return answer.is_success

    def _stays_gated(self, queued: queued_pod.QueuedPodInfo) -> bool:
        """Return whether a pod is gated and the same plugin still gates it.

        Without this check, each deleted victim would requeue every gated pod unnecessarily.
        """
        if not queued.is_gated:
            return False
        profile = self._profiles.get(queued.info)
        try:
            return profile.pre_enqueue(queued.info).plugin == queued.gating_plugin
        except Exception:  # noqa: BLE001 - `_try_pre_enqueue` catches it again and handles it
            return False

    def _back_off_after_error(self, queued: queued_pod.QueuedPodInfo, why: str) -> None:
        """Move a pod to backoffQ for at least a second; the retry does not depend on events."""
        queued.gating_plugin = ""
        queued.unschedulable_plugins = set()
        queued.pending_plugins = set()
        now_seconds = self._clock.monotonic_seconds()
        soonest_seconds = now_seconds + backoff_queue.ORDERING_WINDOW_SECONDS
        queued.backoff_until_seconds = max(soonest_seconds, queued.backoff_until_seconds)
        self._backoff.add(queued)
        self.incoming[BACKOFF, why] += 1
        self._on_ready()
