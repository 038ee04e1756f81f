"""Execute preemptions: evict the victims that PostFilter chose, outside the loop.

gate preemptor → withdraw lower nominations on the node → evict victims → open the gate

Sources: `framework/preemption/executor.go`, KEP-4832. All victims except the last are evicted in
parallel. Once the eviction of the last victim starts, the watch decides when the gate opens, and
the deletion of a victim wakes the preemptor. If an eviction fails, no further victims are evicted,
and the preemptor is retried, because no other event would wake it.

Differences from kube-scheduler, each of which closes a gap:

- No pod is evicted if the preemptor is gone or already has a node, and no pod is evicted twice.
- The gate stays closed until the watch shows that all victims are terminating, not only the
  last one. Otherwise the preemptor could be retried too early and choose other victims. The
  wait is limited: a victim that the watch still shows running after a minute counts as running
  and can be evicted again.
- After a failure the preemptor backs off, so that it does not send evictions in a loop to an
  API server that rejects them.
- A preemptor whose victims all disappeared while it was gated is retried.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Coroutine, Sequence

from policysched import clock as clocks
from policysched import errors
from policysched.cluster.pods import pod_shape
from policysched.framework import preemptions, profile
from policysched.queue import scheduling_queue
from policysched.scheduler import assumed_pods, event_notes, nominations, ports
from policysched.scheduler import counters as counts

_log = logging.getLogger(__name__)

MAX_PARALLEL_EVICTIONS = 16
"""Maximum number of parallel evictions for one preemptor (config/v1, Parallelism)."""

MAX_ALL_EVICTIONS = 64
"""Maximum number of parallel evictions for all preemptors: half of the connections.

Each preemptor also has its own limit, so that a preemptor whose evictions hang does not delay the
others.
"""

SHOWN_WITHIN_SECONDS = 60.0
"""Maximum delay of the watch; a victim shown as running after this time was not deleted."""

PREEMPTED = "Preempted"
PREEMPTING = "Preempting"
"""Reason and action of the event about a victim."""

PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
"""Reason of the DisruptionTarget condition (core/v1/types.go)."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodPreemption:
    """The evictions that one pod needs.

    Attributes:
        preemptor: pod that needs room.
        node_name: node on which the preemptor fits without the victims.
        victims: pods to evict from the node, most important first.
        plugin: PostFilter plugin that chose the victims.
        profile: profile of the preemptor.
        turned_away: uids of victims that were not bound yet, and were returned to the queue instead
            of being evicted.
    """

    preemptor: pod_shape.PodInfo
    node_name: str
    victims: tuple[pod_shape.PodInfo, ...]
    plugin: str
    profile: profile.Profile
    turned_away: set[str] = dataclasses.field(default_factory=set)


class PreemptionExecutor:
    """Executes the preemptions of all pods.

    Attributes:
        in_progress: running preemptions, which gate their preemptors.
    """

    def __init__(  # noqa: PLR0913 - the parts of the loop that a preemption touches
        self,
        queue: scheduling_queue.SchedulingQueue,
        on_their_way: assumed_pods.PreemptibleAssumedPods,
        pods: ports.PodLookup,
        outside: ports.SchedulerPorts,
        counters: counts.SchedulingCounters,
        *,
        clock: clocks.Clock,
        start_task: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        """Read the state of pods from `pods`; `start_task` starts the coroutines that evict."""
        self.in_progress = preemptions.PreemptionsInProgress()
        self._queue = queue
        self._on_their_way = on_their_way
        self._pods = pods
        self._evictor = outside.evictor
        self._status_writer = outside.status_writer
        self._recorder = outside.recorder
        self._counters = counters
        self._clock = clock
        self._start_task = start_task
        # uid → monotonic time of the deletion; the watch shows the pod running a little longer.
        self._deleted_at_seconds: dict[str, float] = {}
        self._limit = asyncio.Semaphore(MAX_ALL_EVICTIONS)

    def start_preemption(self, preemption: PodPreemption) -> None:
        """Start the evictions; must be called before the preemptor returns to the queue.

        Victims that are already terminating are skipped. If none remain, no preemption starts.
        """
        self._forget_finished_preemptions()
        staying = tuple(v for v in preemption.victims if not self._is_victim_terminating(v))
        if staying:
            self.in_progress.start(preemption.preemptor.uid)
            self._start_task(
                self._carry_out_preemption(dataclasses.replace(preemption, victims=staying))
            )

    def _forget_finished_preemptions(self) -> None:
        """Forget deletions that the watch has shown, or should have shown by now."""
        earliest_seconds = self._clock.monotonic_seconds() - SHOWN_WITHIN_SECONDS
        self._deleted_at_seconds = {
            uid: at_seconds
            for uid, at_seconds in self._deleted_at_seconds.items()
            if at_seconds > earliest_seconds and self._pods.current(uid) is not None
        }

    async def _carry_out_preemption(self, preemption: PodPreemption) -> None:
        """Run one preemption to its end, and wake or retry the preemptor if no event will."""
        uid = preemption.preemptor.uid
        is_done = False
        try:
            self._withdraw_nominations(preemption)
            is_done = await self._evict_in_order(preemption)
        except Exception:  # noqa: BLE001 - otherwise the preemptor would stay gated for ever
            _log.exception("making room for %s failed", preemption.preemptor.key)
        finally:
            if not is_done:
                self.in_progress.finish(uid)
        if not is_done:
            self._queue.retry_after_error(uid)
            return
        self._gate_preemptor_until_terminating(preemption)
        if self._was_woken_in_vain(preemption):
            self._queue.activate([uid])

    def _withdraw_nominations(self, preemption: PodPreemption) -> None:
        """Withdraw the nominations of lower-priority pods to the node; it has no room for them."""
        for info in self._queue.nominator.get_nominated_pods(preemption.node_name):
            if info.shape.priority < preemption.preemptor.shape.priority:
                nominations.end_nomination(self._queue, info)
                self._status_writer.nominate(self._pods.current(info.uid) or info, "")

    async def _evict_in_order(self, preemption: PodPreemption) -> bool:
        """Evict all victims, the last one alone; return False if an eviction failed."""
        *others, last = preemption.victims
        if not await self._evict_several(preemption, others):
            return False
        # Set before the last eviction: the watch can show its effect before the call returns.
        self.in_progress.wait_until(
            preemption.preemptor.uid, lambda: self._are_all_victims_terminating(preemption)
        )
        async with self._limit:
            return await self._evict_victim(preemption, last)

    def _gate_preemptor_until_terminating(self, preemption: PodPreemption) -> None:
        """Keep the gate closed until the watch shows all victims terminating, or a timeout."""
        until_seconds = self._clock.monotonic_seconds() + SHOWN_WITHIN_SECONDS

        def is_over() -> bool:
            is_late = self._clock.monotonic_seconds() >= until_seconds
            return is_late or self._are_all_victims_terminating(preemption)

        self.in_progress.wait_until(preemption.preemptor.uid, is_over)

    async def _evict_several(
        self, preemption: PodPreemption, victims: Sequence[pod_shape.PodInfo]
    ) -> bool:
        """Evict victims in parallel; after a failure, start no further evictions."""
        own_limit = asyncio.Semaphore(MAX_PARALLEL_EVICTIONS)
        is_failed = False

        async def evict(victim: pod_shape.PodInfo) -> None:
            nonlocal is_failed
            async with own_limit, self._limit:
                if not is_failed and not await self._evict_victim(preemption, victim):
                    is_failed = True

        await asyncio.gather(*map(evict, victims))
        return not is_failed

    async def _evict_victim(self, preemption: PodPreemption, victim: pod_shape.PodInfo) -> bool:
        """Evict one victim; return False if that failed or the preemption is no longer needed."""
        if not self._is_preemption_wanted(preemption):
            return False
        if victim.uid in self._deleted_at_seconds:
            # Deleted for another preemptor; the watch does not show it yet.
            return True
        note = f"Preempted by pod {preemption.preemptor.uid} on node {preemption.node_name}"
        if self._on_their_way.preempt_pod(victim.uid, preemption.plugin):
            preemption.turned_away.add(victim.uid)
            self._record_eviction_event(preemption, victim, f"{note} (in kube-scheduler memory).")
            return True
        try:
            was_there = await self._evictor.evict(victim, _make_disruption_condition(preemption))
        except errors.RemoteError as error:
            self._counters.failed_evictions += 1
            key = preemption.preemptor.key
            _log.warning("evicting %s to make room for %s failed: %s", victim.key, key, error)
            return False
        if was_there:
            self._deleted_at_seconds[victim.uid] = self._clock.monotonic_seconds()
            self._record_eviction_event(preemption, victim, note)
        return True

    def _record_eviction_event(
        self, preemption: PodPreemption, victim: pod_shape.PodInfo, note: str
    ) -> None:
        """Count a victim and record an event about it.

        The event has no `related` object: kube-scheduler 1.36 sets none for a preemptor that is a
        pod, because the `Obj` of its wrapper has no kind in the scheme.
        """
        prof = preemption.profile
        self._counters.victims[prof.scheduler_name] += 1
        self._recorder.record(
            victim,
            ports.EventType.NORMAL,
            PREEMPTED,
            PREEMPTING,
            event_notes.format_note(note, prof),
            prof.scheduler_name,
        )

    # --- current state of preemptor and victims ---------------------------------------------------

    def _is_preemption_wanted(self, preemption: PodPreemption) -> bool:
        """Return whether the preemptor still exists, is not terminating and has no node."""
        preemptor = self._pods.current(preemption.preemptor.uid)
        return preemptor is not None and not (
            preemptor.pod.spec.node_name or preemptor.is_terminating
        )

    def _is_victim_terminating(self, victim: pod_shape.PodInfo) -> bool:
        current = self._pods.current(victim.uid)
        return current is None or current.is_terminating

    def _are_all_victims_terminating(self, preemption: PodPreemption) -> bool:
        """Return whether the watch shows all victims terminating, except requeued victims."""
        kept = preemption.turned_away
        # Every event of every pod calls this, and the last victim terminates last, so checking it
        # first is fastest.
        return all(
            v.uid in kept or self._is_victim_terminating(v) for v in reversed(preemption.victims)
        )

    def _was_woken_in_vain(self, preemption: PodPreemption) -> bool:
        """Return whether the preemptor is still gated and no event about a victim will wake it."""
        queued = self._queue.get(preemption.preemptor.uid)
        kept = preemption.turned_away
        if queued is None or not queued.is_gated or preemption.victims[-1].uid in kept:
            return False
        return all(v.uid in kept or self._pods.current(v.uid) is None for v in preemption.victims)


def _make_disruption_condition(preemption: PodPreemption) -> ports.PodCondition:
    scheduler_name = preemption.preemptor.pod.spec.scheduler_name
    message = f"{scheduler_name}: preempting to accommodate a higher priority pod"
    return ports.PodCondition("True", PREEMPTION_BY_SCHEDULER, message)
