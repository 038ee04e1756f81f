"""A scheduler with a few simple plugins, whose ways out are recorded."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from typing import ClassVar, TypeVar

from policysched import clock as clocks
from policysched import errors
from policysched.cluster import cache as caches
from policysched.cluster import elapsed_time, snapshot
from policysched.cluster.objects import objects
from policysched.cluster.pods import pod_shape
from policysched.framework import (
    cycle_state,
    events,
    extender_answers,
    handles,
    interface,
    preemptions,
    profile,
    queued_pod,
    runtime,
    status,
    waiting_pods,
)
from policysched.plugins import registry
from policysched.scheduler import object_changes, ports, scheduler
from tests import builders

T = TypeVar("T")
ERROR = status.Code.ERROR


_MOST_ATTEMPTS = 20_000
"""No test has so many pods."""


class Sort:
    """Orders like PrioritySort."""

    name = "Sort"

    def sort_key(self, queued: queued_pod.QueuedPodInfo) -> tuple[object, ...]:
        """Return priority, then time."""
        return (-queued.info.shape.priority, queued.timestamp_seconds)

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Reject nothing, wait for nothing."""
        return ()


class Gates:
    """Holds back pods with scheduling gates."""

    name = "Gates"

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Reject pods with gates."""
        is_gated = bool(pod.pod.spec.scheduling_gates)
        return status.unresolvable(self.name, "gated") if is_gated else status.SUCCESS

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for nothing: gates are never removed in these tests."""
        return ()


class Room:
    """Fits as many pods on a node as its allocatable `pods` say."""

    name = "Room"
    reads: ClassVar[interface.Reads] = interface.Reads.NODE | interface.Reads.USAGE

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject full nodes."""
        full = nodes.pod_count >= nodes.allowed_pods
        return status.NodeStatuses.where(full, status.unschedulable(self.name, "Too many pods"))

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for new nodes and for pods that go."""
        waits_for = (object_changes.NODE_ADD, object_changes.POD_DELETE)
        return tuple(events.ClusterEventWithHint(event) for event in waits_for)


class Sees:
    """Rejects every node by a value that is another one each time."""

    name = "Sees"
    value = 81

    def filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, nodes: snapshot.NodeView
    ) -> status.NodeStatuses:
        """Reject the nodes."""
        too_busy = status.unschedulable(self.name, "too busy")
        return status.NodeStatuses.where(nodes.allowed_pods >= 0, too_busy)

    def evidence(
        self, pod: pod_shape.PodInfo, snap: snapshot.Snapshot, diagnosis: interface.Diagnosis
    ) -> str:
        """Return the value."""
        return f"saw {self.value}%"


@dataclasses.dataclass
class Scripted:
    """Reserve, Permit and PreBind answer what the script says; everything is written down."""

    name: str = "Scripted"
    reserve_answer: status.Status = status.SUCCESS
    permit_answer: status.Status = status.SUCCESS
    pre_bind_answer: status.Status = status.SUCCESS
    wait_seconds: float = 60.0
    raises_at: str = ""
    calls: list[str] = dataclasses.field(default_factory=list)

    def _answer(self, point: str, answer: status.Status) -> status.Status:
        self.calls.append(point)
        if self.raises_at == point:
            raise RuntimeError(point)
        return answer

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Wait for new nodes."""
        return (events.ClusterEventWithHint(object_changes.NODE_ADD),)

    def pre_filter(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, snap: snapshot.Snapshot
    ) -> interface.PreFilterResult:
        """Answer SUCCESS."""
        return interface.PreFilterResult(self._answer("pre_filter", status.SUCCESS))

    def reserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Answer from the script."""
        return self._answer("reserve", self.reserve_answer)

    def unreserve(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Write the call down."""
        self.calls.append("unreserve")

    def permit(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> tuple[status.Status, float]:
        """Answer from the script."""
        return self._answer("permit", self.permit_answer), self.wait_seconds

    async def pre_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Answer from the script."""
        return self._answer("pre_bind", self.pre_bind_answer)

    async def post_bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> None:
        """Write the call down."""
        self._answer("post_bind", status.SUCCESS)


class Odd:
    """Answers with anything at a single extension point, until it has recovered."""

    name = "Odd"
    reads: ClassVar[interface.Reads] = interface.Reads.ANYTHING

    def __init__(self, method: str, answer: object) -> None:
        self._method = method
        self._has_recovered = False

        def ask(*_: object) -> object:
            return self._answer_as_it_should() if self._has_recovered else answer

        vars(self)[method] = ask
        if method == "pre_bind_pre_flight":
            vars(self)["pre_bind"] = ask  # only plugins with PreBind are asked

    def recover(self) -> None:
        """Do nothing from now on."""
        self._has_recovered = True

    def _answer_as_it_should(self) -> object:
        async def later(answer: status.Status) -> status.Status:
            return answer

        match self._method:
            case "pre_filter":
                return interface.ALL_NODES
            case "filter":
                return status.NodeStatuses.passing(1)
            case "permit":
                return status.SUCCESS, 0
            case "pre_bind":
                return later(status.SUCCESS)
            case "bind":
                return later(status.SKIP)
            case "pre_bind_pre_flight":
                return status.SKIP
            case _:
                return status.SUCCESS


@dataclasses.dataclass
class Preempts:
    """Makes room by a script, and gates pods like DefaultPreemption.

    Attributes:
        script: the answers for a pod, by name: (node, names of victims); the last one stays.
        asked: names of the pods for which room was to be made, in order.
    """

    cache: Callable[[], caches.Cache]
    in_progress: Callable[[], preemptions.PreemptionsInProgress]
    name: str = "DefaultPreemption"
    script: dict[str, list[tuple[str, tuple[str, ...]]]] = dataclasses.field(default_factory=dict)
    asked: list[str] = dataclasses.field(default_factory=list)

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Gate pods whose victims are being evicted."""
        if self.in_progress().is_running(pod.uid):
            return status.unresolvable(self.name, "in progress")
        return status.SUCCESS

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Look again when a pod goes, but leave it to others whether that helps."""

        def skip(*_: object) -> events.QueueingHint:
            return events.QueueingHint.SKIP

        return (events.ClusterEventWithHint(object_changes.POD_DELETE, skip),)

    def post_filter(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> interface.PostFilterResult:
        """Answer from the script; a pod that is not in it gets no room and keeps its nomination."""
        name = pod.pod.metadata.name
        answers = self.script.get(name)
        if not answers:
            return interface.PostFilterResult(status.unschedulable(self.name))
        self.asked.append(name)
        node_name, victims = answers.pop(0) if len(answers) > 1 else answers[0]
        gone = self._get_pods(victims)
        return interface.PostFilterResult(status.SUCCESS, node_name, gone)

    def find_victims(
        self,
        state: cycle_state.CycleState,
        pod: pod_shape.PodInfo,
        snap: snapshot.Snapshot,
        diagnosis: interface.Diagnosis,
    ) -> extender_answers.VictimsByNode:
        """Return the answers of the script as candidates."""
        answers = self.script.get(pod.pod.metadata.name, ())
        return {
            node_name: extender_answers.NodeVictims(self._get_pods(victims), 0)
            for node_name, victims in answers
        }

    def _get_pods(self, names: Sequence[str]) -> tuple[pod_shape.PodInfo, ...]:
        found = (self.cache().get_pod(f"uid-default-{name}") for name in names)
        return tuple(pod for pod in found if pod is not None)


@dataclasses.dataclass
class Bind:
    """Binds at once, unless refusals are planned; `hold` keeps all bindings open.

    `server` is asked last: it makes the binding, or says why not.
    """

    name: str = "DefaultBinder"
    refusals: list[str] = dataclasses.field(default_factory=list)
    hold: asyncio.Event | None = None
    bound: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    server: Callable[[pod_shape.PodInfo, str], str] = lambda _pod, _node_name: ""

    async def bind(
        self, state: cycle_state.CycleState, pod: pod_shape.PodInfo, node_name: str
    ) -> status.Status:
        """Bind the pod to the node."""
        if self.hold is not None:
            await self.hold.wait()
        if self.refusals:
            return status.Status(ERROR, (self.refusals.pop(0),))
        refusal = self.server(pod, node_name)
        if refusal:
            return status.Status(ERROR, (refusal,))
        self.bound.append((pod.pod.metadata.name, node_name))
        return status.SUCCESS

    def events_to_register(self) -> Sequence[events.ClusterEventWithHint]:
        """Reject nothing, wait for nothing."""
        return ()


@dataclasses.dataclass
class Recorder:
    """Both writers: events as (pod, type, reason, action, note, controller), and conditions."""

    events: list[tuple[str, str, str, str, str, str]] = dataclasses.field(default_factory=list)
    conditions: list[tuple[str, ports.PodCondition, str | None]] = dataclasses.field(
        default_factory=list
    )
    nominations: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    compared: list[str] = dataclasses.field(default_factory=list)

    def record(
        self,
        pod: pod_shape.PodInfo,
        event_type: ports.EventType,
        reason: str,
        action: str,
        note: str,
        reporting_controller: str,
        *,
        equal_by: str | None = None,
    ) -> None:
        """Write an event down."""
        self.events.append((pod.key, event_type.value, reason, action, note, reporting_controller))
        self.compared.append(note if equal_by is None else equal_by)

    def set_condition(
        self,
        pod: pod_shape.PodInfo,
        condition: ports.PodCondition,
        nominated_node_name: str | None = None,
    ) -> None:
        """Write a condition down."""
        self.conditions.append((pod.key, condition, nominated_node_name))

    def nominate(self, pod: pod_shape.PodInfo, node_name: str) -> None:
        """Write a nomination down."""
        self.nominations.append((pod.key, node_name))

    @property
    def notes(self) -> list[str]:
        """The notes of all events."""
        return [event[4] for event in self.events]


@dataclasses.dataclass
class Evictor:
    """Evicts at once, unless failures are planned; `holds` keep evictions open, by pod name.

    Attributes:
        evicted: names of the pods that were deleted, with the condition written before.
        gone: names of pods that turn out not to be there any more.
        failures: how many of the next evictions fail.
        begun: names of all pods that somebody tried to evict, in order.
    """

    evicted: list[tuple[str, ports.PodCondition]] = dataclasses.field(default_factory=list)
    gone: set[str] = dataclasses.field(default_factory=set)
    failures: int = 0
    begun: list[str] = dataclasses.field(default_factory=list)
    holds: dict[str, asyncio.Event] = dataclasses.field(default_factory=dict)

    async def evict(self, victim: pod_shape.PodInfo, condition: ports.PodCondition) -> bool:
        """Write the eviction down, when it is not held any more."""
        name = victim.pod.metadata.name
        self.begun.append(name)
        if name in self.holds:
            await self.holds[name].wait()
        if self.failures > 0:
            self.failures -= 1
            raise errors.RemoteError("the API server failed")
        if name in self.gone:
            return False
        self.evicted.append((name, condition))
        return True


class World:
    """A scheduler, its clock and its surroundings."""

    def __init__(
        self,
        *extra: interface.Plugin,
        policies: tuple[str, ...] = (),
        settings: scheduler.SchedulerSettings | None = None,
        sleep: Callable[[float], Coroutine[None, None, None]] = asyncio.sleep,
        factory: registry.PluginFactory | None = None,
        time_bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS,
        extenders: ports.Extenders | None = None,
    ) -> None:
        """Make a scheduler with one profile of the plugins above, with `extra` before Bind.

        The plugin that `factory` makes comes after them, and knows the pods that wait at Permit.
        """
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.bind = Bind()
        self.recorder = Recorder()
        self.evictor = Evictor()
        self.waiting = waiting_pods.WaitingPods(self.clock)
        self.preempts = Preempts(lambda: self.cache, lambda: self.scheduler.preemptions)
        own = (Sort(), Gates(), Room(), self.preempts)
        if factory is not None:
            extra = (*extra, factory({}, handles.Handle(waiting_pods=self.waiting)))
        self.plugins: tuple[interface.Plugin, ...] = (*own, *extra, self.bind)
        framework = self.framework(
            self.plugins, policies, time_bounds, has_extenders=extenders is not None
        )
        self.scheduler = scheduler.Scheduler(
            {"default-scheduler": framework},
            ports.SchedulerPorts(self.recorder, self.recorder, self.evictor, sleep, extenders),
            self.clock,
            waiting=self.waiting,
            settings=settings,
        )
        self.cache = self.scheduler.cache
        self.queue = self.scheduler.queue
        self.pods = self.scheduler.events.pods
        self.nodes = self.scheduler.events.nodes

    @staticmethod
    def framework(
        plugins: tuple[interface.Plugin, ...],
        policies: tuple[str, ...] = (),
        time_bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS,
        *,
        has_extenders: bool = False,
    ) -> runtime.Framework:
        """Return a profile's framework whose ties go to the smallest name."""
        prof = profile.Profile(
            "default-scheduler",
            plugins,
            {},
            policies=policies,
            policy_hash="3f2a91c0ffee",
            time_bounds=time_bounds,
        )
        return runtime.Framework(prof, None, has_extenders=has_extenders)

    def add_node(self, name: str, pods: int = 1) -> None:
        """Let the watch show a node with room for some pods."""
        self.nodes.upsert(builders.make_node(name).capacity(pods=pods).build())

    def add_pod(self, pod: builders.PodBuilder | str) -> objects.Pod:
        """Let the watch show a pod."""
        builder = builders.make_pod(pod) if isinstance(pod, str) else pod
        built = builder.build()
        self.pods.upsert(built)
        return built

    def delete(self, name: str) -> None:
        """Let the watch show that a pod is gone."""
        known = self.pods.current(f"uid-default-{name}")
        assert known is not None
        self.pods.delete(known.pod)

    def terminate(self, name: str) -> None:
        """Let the watch show that a pod has begun to terminate."""
        known = self.pods.current(f"uid-default-{name}")
        assert known is not None
        self.pods.upsert(builders.PodBuilder(known.pod).terminating().build())

    def confirm(self, name: str, node_name: str) -> None:
        """Let the watch show that a pod is bound."""
        self.pods.upsert(builders.make_pod(name).node(node_name).build())

    async def settle(self) -> None:
        """Schedule what is ready and let all bindings go as far as they can."""
        self.scheduler.run_timers()
        attempts = 0
        while self.scheduler.schedule_one():
            attempts += 1
            assert attempts < _MOST_ATTEMPTS, "a pod is tried again and again"
        for _ in range(20):
            await asyncio.sleep(0)

    def where(self, name: str) -> str:
        """Return the place of a pod: a queue, `assumed`, `placed` or `gone`."""
        uid = f"uid-default-{name}"
        known = self.cache.get_pod(uid)
        if known is not None:
            return "assumed" if self.cache.is_assumed(known) else "placed"
        queued = self.queue.get(uid)
        if queued is None:
            return "gone"
        places = (
            ("active", uid in self.queue._active.pods),
            ("backoff", self.queue._backoff.get(uid) is not None),
        )
        return next((place for place, is_there in places if is_there), "unschedulable")


def play(scenario: Coroutine[None, None, T]) -> T:
    """Run a scenario to its end."""
    return asyncio.run(scenario)
