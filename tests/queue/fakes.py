"""A profile as the queue sees it, made of plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from policysched import clock as clocks
from policysched.cluster import elapsed_time
from policysched.cluster.pods import pod_shape
from policysched.framework import events, queued_pod, status
from policysched.queue import scheduling_queue
from tests import builders

SHAPES = pod_shape.PodShapeCache()

NODE_ADD = events.ClusterEvent(events.EventResource.NODE, events.ActionType.ADD)
NODE_LABEL = events.ClusterEvent(events.EventResource.NODE, events.ActionType.UPDATE_NODE_LABEL)
POD_ADD = events.ClusterEvent(events.EventResource.POD, events.ActionType.ADD)
POD_DELETE = events.ClusterEvent(events.EventResource.POD, events.ActionType.DELETE)
GATES_GONE = events.ClusterEvent(
    events.EventResource.UNSCHEDULED_POD, events.ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
)


def waits_for(
    *wanted: events.ClusterEvent, hint: events.QueueingHintFn | None = None
) -> tuple[events.ClusterEventWithHint, ...]:
    """Return registrations of some events with one hint."""
    return tuple(events.ClusterEventWithHint(event, hint) for event in wanted)


@dataclasses.dataclass
class FakeProfile:
    """Orders by priority, gates pods with scheduling gates, registers what it is given."""

    registered: Mapping[str, Sequence[events.ClusterEventWithHint]] = dataclasses.field(
        default_factory=lambda: {
            "Fit": waits_for(NODE_ADD, POD_DELETE),
            "Affinity": waits_for(NODE_LABEL),
            "SchedulingGates": waits_for(GATES_GONE),
        }
    )
    has_gates: bool = True
    gated_by: dict[str, str] = dataclasses.field(default_factory=dict)
    breaks: bool = False
    time_bounds: elapsed_time.TimeBounds = elapsed_time.NO_BOUNDS

    def pre_enqueue(self, pod: pod_shape.PodInfo) -> status.Status:
        """Reject pods with gates, and those that `gated_by` has a plugin for, by name."""
        if self.breaks:
            raise RuntimeError("the plugin is broken")
        gate = self.gated_by.get(pod.pod.metadata.name)
        if gate is not None:
            return status.unresolvable(gate, "waiting")
        if self.has_gates and pod.pod.spec.scheduling_gates:
            return status.unresolvable("SchedulingGates", "waiting for scheduling gates")
        return status.SUCCESS

    def sort_key(self, queued: queued_pod.QueuedPodInfo) -> tuple[object, ...]:
        """Order like PrioritySort."""
        return (-queued.info.shape.priority, queued.timestamp_seconds)

    def events_to_register(self) -> Mapping[str, Sequence[events.ClusterEventWithHint]]:
        """Return what was given."""
        return self.registered


def info(pod: builders.PodBuilder | str) -> pod_shape.PodInfo:
    """Return a pod as the scheduler holds it, by builder or by name."""
    builder = builders.make_pod(pod) if isinstance(pod, str) else pod
    return SHAPES.make_pod_info(builder.build())


def uid(name: str) -> str:
    """Return the uid that builders give to a pod of the default namespace."""
    return f"uid-default-{name}"


class Bench:
    """A queue, its clock, and short ways to play a scheduling attempt."""

    def __init__(
        self,
        profile: FakeProfile | None = None,
        settings: scheduling_queue.QueueSettings | None = None,
    ) -> None:
        """Make a queue with one profile for `default-scheduler`."""
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.wakes = 0
        self.queue = scheduling_queue.SchedulingQueue(
            {"default-scheduler": profile or FakeProfile()}, self.clock, settings, self._wake
        )

    def _wake(self) -> None:
        self.wakes += 1

    def add(self, *pods: builders.PodBuilder | str) -> None:
        """Add pods in order."""
        for pod in pods:
            self.queue.add(info(pod))

    def pop(self) -> str | None:
        """Begin an attempt; return the pod's name."""
        queued = self.queue.pop()
        return None if queued is None else queued.info.pod.metadata.name

    def pop_all(self) -> list[str]:
        """Begin attempts until no pod is ready."""
        names = []
        while (name := self.pop()) is not None:
            names.append(name)
        return names

    def attempt(self, *rejectors: str, pending: tuple[str, ...] = ()) -> str:
        """Take the next pod and fail its attempt; without rejectors by an error."""
        queued = self.queue.pop()
        assert queued is not None
        self.fail(queued, *rejectors, pending=pending)
        return queued.info.pod.metadata.name

    def fail(
        self, queued: queued_pod.QueuedPodInfo, *rejectors: str, pending: tuple[str, ...] = ()
    ) -> None:
        """End the attempt of a pod in flight."""
        queued.unschedulable_plugins = set(rejectors)
        queued.pending_plugins = set(pending)
        self.queue.add_unschedulable(queued)

    def move(
        self,
        event: events.ClusterEvent,
        old: events.ClusterObject = None,
        new: events.ClusterObject = None,
    ) -> None:
        """Let something happen."""
        self.queue.move_all_to_active_or_backoff(event, old, new)

    def advance(self, seconds: float) -> None:
        """Let time pass and timers run."""
        self.clock.advance(seconds)
        self.queue.run_timers()

    def where(self, name: str) -> str:
        """Return the place of a pod: a queue's name, `in flight` or `gone`."""
        queue = self.queue
        if queue._active.is_in_flight(uid(name)):
            return "in flight"
        if uid(name) in queue._active.pods:
            return scheduling_queue.ACTIVE
        if queue._backoff.get(uid(name)) is not None:
            return scheduling_queue.BACKOFF
        queued = queue._unschedulable.get(uid(name))
        if queued is None:
            return "gone"
        return scheduling_queue.GATED if queued.is_gated else scheduling_queue.UNSCHEDULABLE
