"""activeQ: pods that are ready for scheduling, and the pods in flight since they were popped.

While a pod is being scheduled, an event can occur that makes it schedulable. The pod is not among
the unschedulable pods at that time; when it joins them a moment later, it would wait for an event
that has already occurred. Therefore an event is kept as long as a pod that was popped before it is
in flight, and is evaluated when that pod returns (`backend/queue/active_queue.go`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from policysched.framework import events, queued_pod
from policysched.queue import heap


@dataclasses.dataclass(frozen=True, slots=True)
class ObservedClusterEvent:
    """An event with its objects; `only_for` is the uid of the only affected pod, or "" for all."""

    event: events.ClusterEvent
    old: events.ClusterObject
    new: events.ClusterObject
    only_for: str = ""


class ActiveQueue:
    """Pods in the order of the QueueSort plugin; pods that rank equally are in order of arrival."""

    def __init__(self, sort_key: Callable[[queued_pod.QueuedPodInfo], heap.SortKey]) -> None:
        """Create an empty queue; `sort_key` orders the pods."""
        self.pods: heap.Heap[queued_pod.QueuedPodInfo] = heap.Heap(sort_key)
        self._in_flight: dict[str, int] = {}  # uid → number of the first event after its pop
        self._events: list[ObservedClusterEvent] = []
        self._first_number = 0

    def pop(self) -> queued_pod.QueuedPodInfo | None:
        """Pop the first pod, or return None if there is none; the pod is in flight until `done`."""
        queued = self.pods.pop()
        if queued is not None:
            self.begin_attempt(queued)
        return queued

    # --- pods in flight ---------------------------------------------------------------------------

    @property
    def in_flight_count(self) -> int:
        """The number of pods in flight."""
        return len(self._in_flight)

    def begin_attempt(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Count an attempt and mark a pod that was just popped from a queue as in flight."""
        queued.attempts += 1
        self._in_flight[queued.uid] = self._first_number + len(self._events)

    def is_in_flight(self, uid: str) -> bool:
        """Return whether the pod was popped and `done` has not been called for it."""
        return uid in self._in_flight

    def record_event(self, happened: ObservedClusterEvent) -> None:
        """Keep an event for the pods in flight; drop it if there are none."""
        if self._in_flight:
            self._events.append(happened)

    def force_retry(self, only_for: str = "") -> None:
        """Make pods in flight, or the one with the uid `only_for`, be retried if they fail."""
        self.record_event(ObservedClusterEvent(events.FORCE_ACTIVATE, None, None, only_for))

    def list_events_since_pop(self, uid: str) -> list[ObservedClusterEvent]:
        """Return the events since the pod was popped, oldest first."""
        first = self._in_flight.get(uid, self._first_number + len(self._events))
        return [
            happened
            for happened in self._events[first - self._first_number :]
            if happened.only_for in ("", uid)
        ]

    def done(self, uid: str) -> None:
        """Remove a pod from the pods in flight; drop events that no other pod in flight needs."""
        if self._in_flight.pop(uid, None) is None or not self._events:
            return
        # Pods in flight are in the order in which they were popped, so the first needs the oldest
        # events.
        end = self._first_number + len(self._events)
        first_needed = next(iter(self._in_flight.values()), end)
        del self._events[: first_needed - self._first_number]
        self._first_number = first_needed
