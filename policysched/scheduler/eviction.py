"""Carrying out a preemption: the victims that PostFilter has chosen go, behind the loop.

preemptor gated → lower nominations on the node taken back → victims evicted → gate open

Sources: `framework/preemption/executor.go`, KEP-4832. All victims but the last are evicted several
at a time. As soon as the last one is being evicted, the gate goes by what the watch shows: the end
of a victim is what wakes the preemptor. When an eviction fails the rest is left alone and the
preemptor tried again, as nothing else would wake it.

Where kube-scheduler leaves a gap this goes further:
- Nobody is evicted any more for a pod that is gone or has a node by then, and nobody twice.
- The gate stays closed until the watch has shown of all victims that they go, not of the last one
  only: else the preemptor might be tried before, and choose others. But it does not stay closed for
  ever: a watch that goes on showing a victim for a minute is believed, and it is evicted anew.
- After a failure the preemptor backs off, so that a server that refuses is not asked without end.
- A preemptor that was woken in vain, as all its victims went while it was gated, is tried again.
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
"""So many victims of one preemptor are evicted at a time (config/v1, Parallelism)."""

MAX_ALL_EVICTIONS = 64
"""So many victims of all preemptors are evicted at a time: half of the connections that there are.

Preemptors wait in line for these, each with no more than its own at a time, so that one whose
evictions hang delays nobody else.
"""

SHOWN_WITHIN_SECONDS = 60.0
"""A watch is not later than this: a victim that it shows running after that was not deleted."""

PREEMPTED = "Preempted"
PREEMPTING = "Preempting"
"""Reason and action of the event on a victim."""

PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"
"""Reason of the DisruptionTarget condition (core/v1/types.go)."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodPreemption:
    """One pod makes room for itself.

    Attributes:
        preemptor: the pod.
        node_name: where it will fit.
        victims: who has to go from there, the most important one first.
        plugin: the PostFilter plugin that chose them.
        profile: the preemptor's.
        turned_away: uids of victims that went back to the queue instead of being deleted.
    """

    preemptor: pod_shape.PodInfo
    node_name: str
    victims: tuple[pod_shape.PodInfo, ...]
    plugin: str
    profile: profile.Profile
    turned_away: set[str] = dataclasses.field(default_factory=set)


class PreemptionExecutor:
    """All preemptions.

    Attributes:
        in_progress: the gate of preemptors.
    """

    def __init__(  # noqa: PLR0913 - the parts of the loop that a preemption touches
        self,
        queue: scheduling_queue.SchedulingQueue,
        on_their_way: assumed_pods.UnboundAssumedPods,
        pods: ports.PodLookup,
        outside: ports.SchedulerPorts,
        counters: counts.SchedulingCounters,
        *,
        clock: clocks.Clock,
        start_task: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        """Look at `pods` for what became of them; `start_task` runs what evicts victims."""
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
        # When (monotonic) we deleted pods, by uid, that the watch shows running a little longer.
        self._deleted_at_seconds: dict[str, float] = {}
        self._limit = asyncio.Semaphore(MAX_ALL_EVICTIONS)

    def start_preemption(self, preemption: PodPreemption) -> None:
        """Begin to evict; to be called before the preemptor goes back to the queue.

        Victims that are going already are left alone. If all are, there is nothing to do.
        """
        self._forget_finished_preemptions()
        staying = tuple(v for v in preemption.victims if not self._is_victim_leaving(v))
        if staying:
            self.in_progress.start(preemption.preemptor.uid)
            self._start_task(
                self._carry_out_preemption(dataclasses.replace(preemption, victims=staying))
            )

    def _forget_finished_preemptions(self) -> None:
        """Keep those whose end the watch has still to show."""
        earliest_seconds = self._clock.monotonic_seconds() - SHOWN_WITHIN_SECONDS
        self._deleted_at_seconds = {
            uid: at_seconds
            for uid, at_seconds in self._deleted_at_seconds.items()
            if at_seconds > earliest_seconds and self._pods.current(uid) is not None
        }

    async def _carry_out_preemption(self, preemption: PodPreemption) -> None:
        uid = preemption.preemptor.uid
        is_done = False
        try:
            self._withdraw_nominations(preemption)
            is_done = await self._evict_in_order(preemption)
        except Exception:  # noqa: BLE001 - or the preemptor would wait for ever
            _log.exception("making room for %s failed", preemption.preemptor.key)
        finally:
            if not is_done:
                self.in_progress.finish(uid)
        if not is_done:
            self._queue.retry_after_error(uid)
            return
        self._limit_wait_for_victims(preemption)
        if self._was_woken_in_vain(preemption):
            self._queue.activate([uid])

    def _withdraw_nominations(self, preemption: PodPreemption) -> None:
        """Let less important pods nominated to the node look elsewhere: it is too small for all."""
        for info in self._queue.nominator.get_nominated_pods(preemption.node_name):
            if info.shape.priority < preemption.preemptor.shape.priority:
                nominations.end_nomination(self._queue, info)
                self._status_writer.nominate(self._pods.current(info.uid) or info, "")

    async def _evict_in_order(self, preemption: PodPreemption) -> bool:
        """Evict all victims; False when one could not be."""
        *others, last = preemption.victims
        if not await self._evict_several(preemption, others):
            return False
        self.in_progress.wait_until(
            preemption.preemptor.uid, lambda: self._are_all_victims_leaving(preemption)
        )
        async with self._limit:
            return await self._evict_victim(preemption, last)

    def _limit_wait_for_victims(self, preemption: PodPreemption) -> None:
        """Let the watch show the end of the victims, but do not wait for it for ever."""
        until_seconds = self._clock.monotonic_seconds() + SHOWN_WITHIN_SECONDS

        def is_over() -> bool:
            is_late = self._clock.monotonic_seconds() >= until_seconds
            return is_late or self._are_all_victims_leaving(preemption)

        self.in_progress.wait_until(preemption.preemptor.uid, is_over)

    async def _evict_several(
        self, preemption: PodPreemption, victims: Sequence[pod_shape.PodInfo]
    ) -> bool:
        """Evict victims several at a time, begin with no further one after a failure."""
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
        """Let one victim go; False when that failed or is not wanted any more."""
        if not self._is_preemption_wanted(preemption):
            return False
        if victim.uid in self._deleted_at_seconds:
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
        """Count a victim and tell its owner.

        The event has no `related` object: kube-scheduler 1.36 writes none for a preemptor that is a
        pod (`Obj` of its wrapper is of no kind that its scheme knows).
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

    # --- what has become of them meanwhile --------------------------------------------------------

    def _is_preemption_wanted(self, preemption: PodPreemption) -> bool:
        """Return whether the preemptor still waits for room."""
        preemptor = self._pods.current(preemption.preemptor.uid)
        return preemptor is not None and not (
            preemptor.pod.spec.node_name or preemptor.is_terminating
        )

    def _is_victim_leaving(self, victim: pod_shape.PodInfo) -> bool:
        current = self._pods.current(victim.uid)
        return current is None or current.is_terminating

    def _are_all_victims_leaving(self, preemption: PodPreemption) -> bool:
        """Return whether the watch has shown of all victims that they go."""
        kept = preemption.turned_away
        # From the end: the last one goes last, and this is asked for each event of each pod.
        return all(
            v.uid in kept or self._is_victim_leaving(v) for v in reversed(preemption.victims)
        )

    def _was_woken_in_vain(self, preemption: PodPreemption) -> bool:
        """Return whether no victim is left whose end would wake the preemptor again."""
        queued = self._queue.get(preemption.preemptor.uid)
        kept = preemption.turned_away
        if queued is None or not queued.is_gated or preemption.victims[-1].uid in kept:
            return False
        return all(v.uid in kept or self._pods.current(v.uid) is None for v in preemption.victims)


def _make_disruption_condition(preemption: PodPreemption) -> ports.PodCondition:
    scheduler_name = preemption.preemptor.pod.spec.scheduler_name
    message = f"{scheduler_name}: preempting to accommodate a higher priority pod"
    return ports.PodCondition("True", PREEMPTION_BY_SCHEDULER, message)
