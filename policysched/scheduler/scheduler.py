"""Run the scheduling loop: schedule one pod at a time while earlier pods are being bound.

`run` is a thin shell around `schedule_one`. The loop, the event handlers and the binding cycles
share one thread and one asyncio event loop. State changes only between awaits, so there are no
locks.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Mapping

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import elapsed_time, metric_needs
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    claim_measurements,
    extender_answers,
    preemptions,
    queued_pod,
    runtime,
    waiting_pods,
)
from policysched.queue import scheduling_queue
from policysched.scheduler import (
    assumed_pods,
    binding_cycle,
    decisions,
    event_handlers,
    eviction,
    failure,
    measurements,
    node_ages,
    ports,
    scheduling_cycle,
    shutdown,
)
from policysched.scheduler import counters as counts

_STAGED = "\nstaged"
"""Suffix of the names of staged profiles; the newline keeps them apart from those in force."""


@dataclasses.dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """Settings of the scheduling loop.

    Attributes:
        queue: settings of the queues.
        max_bindings_in_flight: maximum number of pods that are being bound; at the limit, the loop
            assumes no more pods. Pods that wait for Permit or PreBind, which can take minutes, do
            not count.
        max_burst_seconds: how long the loop schedules pods before it yields to I/O.
        decisions_kept: length of the decision log.
    """

    queue: scheduling_queue.QueueSettings = dataclasses.field(
        default_factory=scheduling_queue.QueueSettings
    )
    max_bindings_in_flight: int = 128
    max_burst_seconds: float = 0.002
    decisions_kept: int = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class StagedFrameworks:
    """The profiles of a new version of the policies, which decide about a part of the pods.

    Attributes:
        frameworks: keyed by schedulerName; those that the version in force does not have are not
            used.
        decides_about: returns whether the new version decides about a pod.
    """

    frameworks: Mapping[str, runtime.Framework]
    decides_about: Callable[[objects.Pod], bool]


class Scheduler:
    """The scheduler with all its components; its only outputs are the ports.

    Attributes:
        cache, queue, waiting_pods: state of the cluster, of the queues and of pods in Permit.
        preemptions: running preemptions, for the plugin that gates preemptors.
        events: sinks for all changes in the cluster.
        decisions, counters, measurements: the decision log, counts and histograms.
        measured_claims: counts and waits of DynamicResources.
    """

    def __init__(
        self,
        frameworks: Mapping[str, runtime.Framework],
        outside: ports.SchedulerPorts,
        clock: clocks.Clock,
        *,
        waiting: waiting_pods.WaitingPods | None = None,
        annotation_keys: frozenset[str] = frozenset(),
        settings: SchedulerSettings | None = None,
    ) -> None:
        """Schedule pods with the frameworks in `frameworks`, keyed by schedulerName.

        `waiting` must be the object that Permit plugins received, if there are any.
        `annotation_keys` are the pod annotations that policies read.
        """
        self._clock = clock
        self._sleep = outside.sleep
        self._settings = settings or SchedulerSettings()
        self._frameworks = _measure_frameworks_by_clock(frameworks, clock)
        self._served = frozenset(frameworks)
        self._staged: StagedFrameworks | None = None
        self._awake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._bindings_in_flight = 0
        self._yielded_at_seconds = clock.monotonic_seconds()
        self._is_stopping = False
        self._is_asking = False
        self._pauses = 0
        self._extenders = outside.extenders
        self._recorder = outside.recorder
        self.cache = caches.Cache(clock)
        self.waiting_pods = waiting_pods.WaitingPods(clock) if waiting is None else waiting
        self.counters = counts.SchedulingCounters()
        self.measurements = measurements.SchedulingHistograms()
        self.measured_claims = claim_measurements.ClaimMeasurements()
        kept = self._settings.decisions_kept
        self.decisions = decisions.DecisionLog(kept, clock, self.measurements)
        self.queue = scheduling_queue.SchedulingQueue(
            self._frameworks,
            clock,
            self._settings.queue,
            on_ready=self._awake.set,
            nominator=self.cache.nominated,
        )
        self._node_ages = node_ages.NodeAgeTimers(
            self.cache, self.queue, clock, on_earlier=self._awake.set
        )
        self.events = event_handlers.ClusterEventHandlers(
            self.cache,
            self.queue,
            self.waiting_pods,
            pod_shape.PodShapeCache(annotation_keys),
            serves=self.serves_scheduler_name,
            ages=self._node_ages,
        )
        self._follow_node_ages()
        self._follow_claims()
        self.preemptions, self._cycle, self._binding = self._make_cycles(outside)

    def _make_cycles(
        self, outside: ports.SchedulerPorts
    ) -> tuple[
        preemptions.PreemptionsInProgress,
        scheduling_cycle.SchedulingCycle,
        binding_cycle.BindingCycle,
    ]:
        """Return the running preemptions and both cycles, which share one preemption executor."""
        on_their_way = assumed_pods.PreemptibleAssumedPods(self.waiting_pods)
        evictions = eviction.PreemptionExecutor(
            self.queue,
            on_their_way,
            self.events.pods,
            outside,
            self.counters,
            clock=self._clock,
            start_task=self.start_task,
        )
        failures = failure.FailureHandler(
            self.queue,
            self.events.pods,
            evictions,
            outside,
            self.counters,
            self.decisions,
            start_task=self.start_task,
        )
        cycle = scheduling_cycle.SchedulingCycle(
            self.cache, self.queue, self.waiting_pods, failures, self.decisions, self._clock
        )
        binding = binding_cycle.BindingCycle(
            self.cache,
            self.queue,
            on_their_way,
            failures,
            outside,
            self.counters,
            log=self.decisions,
        )
        return evictions.in_progress, cycle, binding

    @property
    def has_extenders(self) -> bool:
        """Whether HTTP extenders take part in decisions."""
        return self._extenders is not None

    # --- profiles ---------------------------------------------------------------------------------

    def serves_scheduler_name(self, scheduler_name: str) -> bool:
        """Return whether a profile has this schedulerName."""
        return scheduler_name in self._served

    def find_framework(self, info: pod_shape.PodInfo) -> runtime.Framework | None:
        """Return the framework that decides about a pod, or None if no profile serves the pod."""
        if info.pod.spec.scheduler_name not in self._served:
            return None
        return self._frameworks[self._find_profile_name(info)]

    def _find_profile_name(self, info: pod_shape.PodInfo) -> str:
        """Return the key in `_frameworks` of the profile that decides about a served pod."""
        name = info.pod.spec.scheduler_name
        if self._staged is None or name not in self._staged.frameworks:
            return name
        return f"{name}{_STAGED}" if self._staged.decides_about(info.pod) else name

    def get_frameworks(self) -> Mapping[str, runtime.Framework]:
        """Return the frameworks in use, those of a staged version too."""
        return self._frameworks

    def set_profiles(
        self,
        frameworks: Mapping[str, runtime.Framework],
        annotation_keys: frozenset[str] = frozenset(),
        metrics: metric_needs.MetricNeeds | None = None,
        staged: StagedFrameworks | None = None,
    ) -> None:
        """Replace profiles, policies and metric needs, starting with the next pod.

        `staged` is a new version that decides about a part of the pods. Waiting pods are retried;
        pods that are being bound keep their decision.
        """
        has_other_names = frameworks.keys() != self._served
        self._served, self._staged = frozenset(frameworks), staged
        self._frameworks = _measure_frameworks_by_clock(frameworks, self._clock)
        if staged is not None:
            new = _measure_frameworks_by_clock(staged.frameworks, self._clock)
            self._frameworks |= {
                f"{name}{_STAGED}": each for name, each in new.items() if name in self._served
            }
        self.cache.retain_needed_metric_data(metrics or metric_needs.MetricNeeds())
        if has_other_names:
            self.events.pods.drop_unserved_pods()
        self.events.pods.set_annotation_keys(annotation_keys)
        self._follow_claims()
        self.queue.set_profiles(self._frameworks, self._find_profile_name)
        self._follow_node_ages()
        if has_other_names:
            self.events.pods.add_newly_served_pods()

    def _follow_node_ages(self) -> None:
        """Set timers for the ages of nodes with which the profiles compare."""
        every = (framework.time_bounds for framework in self._frameworks.values())
        bounds = elapsed_time.join_bounds(every)
        nodes = (node for node in self.cache.nodes.nodes if node is not None)
        self._node_ages.set_ages(bounds.node_age, nodes)

    def _follow_claims(self) -> None:
        """Read claims for the shapes of pods if policies of a profile read them."""
        is_read = any(framework.reads_claims for framework in self._frameworks.values())
        self.events.pods.follow_claims(self.cache.storage.claims.get if is_read else None)

    def pause(self) -> None:
        """Stop taking pods from the queue until `resume` has been called once for each `pause`.

        Bindings in progress continue.
        """
        self._pauses += 1

    def resume(self) -> None:
        """End one pause; after the last one, the loop takes pods again."""
        self._pauses -= 1
        self._awake.set()

    # --- one step ---------------------------------------------------------------------------------

    def schedule_one(self) -> bool:
        """Schedule the next pod and start its binding; return False if paused or none is ready.

        If HTTP extenders take part, they are asked in the background; no other pod is scheduled
        meanwhile. Needs a running event loop.
        """
        queued = None if self._pauses or self._is_asking else self.queue.pop()
        if queued is None:
            return False
        framework = self.find_framework(queued.info)
        if framework is None or self._should_skip_pod(framework, queued):
            self.queue.done(queued.uid)
        elif self._extenders is not None and self._extenders.is_asked_about(queued.info):
            self._is_asking = True
            self.start_task(self._ask_and_schedule(self._extenders, framework, queued))
        else:
            self._run_cycle(framework, queued)
        return True

    async def _ask_and_schedule(
        self,
        extenders: ports.Extenders,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
    ) -> None:
        """Schedule a pod with the answers of extenders, unless it has gone in the meantime.

        Policies that came in the meantime would decide with answers to questions of former ones.
        The pod then returns to the queue, also if policies wait for the first samples of metrics.
        """
        started_seconds = self._clock.monotonic_seconds()
        try:
            answers = await self._cycle.ask_extenders(extenders, framework, queued, started_seconds)
            if answers is None:
                return
            current = self.find_framework(queued.info)
            newest = self.events.pods.current(queued.uid)
            if current is None or newest is None or newest.pod.spec.node_name:
                self.queue.done(queued.uid)
            elif self._is_stopping:
                self._cycle.cancel(current, queued, started_seconds)
            elif current is not framework or self._pauses:
                queued.info = newest
                self.queue.return_undecided(queued)
            else:
                self._run_cycle(current, queued, answers, started_seconds)
        finally:
            self._is_asking = False
            self._awake.set()

    def _run_cycle(
        self,
        framework: runtime.Framework,
        queued: queued_pod.QueuedPodInfo,
        extenders: extender_answers.ExtenderAnswers | None = None,
        started_seconds: float | None = None,
    ) -> None:
        assumed = self._cycle.run(framework, queued, extenders, started_seconds)
        if assumed is not None:
            self._start_binding(assumed)

    def run_timers(self) -> None:
        """Run the timers that are due: ages, ends of backoff, queue flushes, Permit deadlines."""
        self._node_ages.run_timers()
        self.queue.run_timers()
        if len(self.waiting_pods):
            self.waiting_pods.expire()

    def next_timer_seconds(self) -> float | None:
        """Return when `run_timers` is next due (monotonic clock), or None if no timer is set."""
        due = (
            self.queue.next_timer_seconds(),
            self.waiting_pods.next_deadline_seconds(),
            self._node_ages.next_timer_seconds(),
        )
        return min((t for t in due if t is not None), default=None)

    def _should_skip_pod(
        self, framework: runtime.Framework, queued: queued_pod.QueuedPodInfo
    ) -> bool:
        """Return whether a popped pod is terminating or already in the cache."""
        if queued.info.is_terminating:
            failure.record_skipped_deleting_pod(queued.info, framework.profile, self._recorder)
            return True
        return self.cache.get_pod(queued.uid) is not None

    # --- bindings ---------------------------------------------------------------------------------

    @property
    def bindings_in_flight(self) -> int:
        """Number of pods that are being bound."""
        return self._bindings_in_flight

    def _start_binding(self, assumed: scheduling_cycle.AssumedPod) -> None:
        if not self._binding.run_pre_bind_pre_flight(assumed):
            return
        if assumed.is_waiting or assumed.has_pre_bind:
            self.start_task(self._wait_and_bind(assumed))
        else:
            self._bindings_in_flight += 1
            self.start_task(self._bind(assumed))

    async def _wait_and_bind(self, assumed: scheduling_cycle.AssumedPod) -> None:
        if assumed.is_waiting and not await self._binding.wait_on_permit(assumed):
            return
        if assumed.has_pre_bind and not await self._binding.pre_bind(assumed):
            return
        self._bindings_in_flight += 1
        await self._bind(assumed)

    async def _bind(self, assumed: scheduling_cycle.AssumedPod) -> None:
        try:
            await self._binding.run(assumed)
        finally:
            self._bindings_in_flight -= 1
            self._awake.set()

    def start_task(self, work: Coroutine[None, None, None]) -> None:
        """Run a write in the background; `stop` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- the loop ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Schedule until `stop` is called; can be called again after that."""
        if self._is_stopping:
            self._requeue_all_pods()
        while not self._is_stopping:
            await self._run_loop_iteration()

    def _requeue_all_pods(self) -> None:
        """Retry all waiting pods, because another leader may have handled them."""
        self._is_stopping = False
        for queued in self.queue.list_waiting_pods():
            # Another leader may have overwritten our condition, so it must be written again.
            queued.reported = ("", "")
        self.queue.set_profiles(self._frameworks, self._find_profile_name)

    async def _run_loop_iteration(self) -> None:
        self.run_timers()
        if self._bindings_in_flight >= self._settings.max_bindings_in_flight:
            await self._wait_for_work(self.next_timer_seconds())
        elif self.schedule_one():
            await self._let_others_run()
        else:
            await self._wait_for_work(self.next_timer_seconds())

    async def _wait_for_work(self, until_seconds: float | None) -> None:
        """Wait until an event wakes the loop, or until a time on the monotonic clock."""
        self._awake.clear()
        alarm = None
        if until_seconds is not None:
            seconds = until_seconds - self._clock.monotonic_seconds()
            alarm = asyncio.create_task(self._wake_after(max(0.0, seconds)))
        try:
            await self._awake.wait()
        finally:
            if alarm is not None:
                alarm.cancel()
        self._yielded_at_seconds = self._clock.monotonic_seconds()

    async def _wake_after(self, seconds: float) -> None:
        await self._sleep(seconds)
        self._awake.set()

    async def _let_others_run(self) -> None:
        """Yield to bindings, watches and writes, at most every `max_burst_seconds`."""
        now_seconds = self._clock.monotonic_seconds()
        if now_seconds - self._yielded_at_seconds >= self._settings.max_burst_seconds:
            await asyncio.sleep(0)
            self._yielded_at_seconds = self._clock.monotonic_seconds()

    async def stop(self, grace_seconds: float = 5.0) -> bool:
        """End `run`; wait for bindings in progress, and cancel them after `grace_seconds`.

        Pods that wait for Permit are rejected immediately, and their reservations released.

        Returns:
            True if all bindings finished, so that no call is in progress.
        """
        self._is_stopping = True
        self._awake.set()
        self.waiting_pods.cancel_all()
        return await shutdown.finish_tasks(self._tasks, grace_seconds)


def _measure_frameworks_by_clock(
    frameworks: Mapping[str, runtime.Framework], clock: clocks.Clock
) -> dict[str, runtime.Framework]:
    """Make the loop's clock measure the extension points; return the frameworks by name."""
    for framework in frameworks.values():
        framework.measure_by(clock.monotonic_seconds)
    return dict(frameworks)
