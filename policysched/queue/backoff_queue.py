"""backoffQ: pods that may fit now but whose last attempt failed recently.

The backoff doubles with each failure, by default from 1 s to 10 s. As in kube-scheduler 1.36
(`backend/queue/backoff_queue.go`, KEP-5142), it ends at whole seconds, so that pods whose backoff
ends in the same second leave in the order of activeQ. If activeQ is empty, pods rejected in their
last attempt can leave early: backoff only saves scheduling time, and the scheduler would otherwise
be idle. Pods whose attempt ended with an error cannot leave early.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from policysched import clock as clocks
from policysched.framework import queued_pod
from policysched.queue import heap

ORDERING_WINDOW_SECONDS = 1.0
"""Pods whose backoff ends in the same window are ordered as in activeQ (backoff_queue.go)."""


class BackoffQueue:
    """Pods ordered by the end of their backoff; pods with errors and rejected pods are separate."""

    def __init__(
        self,
        clock: clocks.Clock,
        initial_seconds: float,
        max_seconds: float,
        sort_key: Callable[[queued_pod.QueuedPodInfo], heap.SortKey],
    ) -> None:
        """Create an empty queue; `sort_key` orders pods whose backoff ends in the same window."""
        self._clock = clock
        self._initial_seconds = initial_seconds
        self._max_seconds = max_seconds

        def by_end(queued: queued_pod.QueuedPodInfo) -> heap.SortKey:
            return (queued.backoff_until_seconds, *sort_key(queued))

        self._rejected: heap.Heap[queued_pod.QueuedPodInfo] = heap.Heap(by_end)
        self._erred: heap.Heap[queued_pod.QueuedPodInfo] = heap.Heap(by_end)

    def __len__(self) -> int:
        """Return the number of pods that are backing off."""
        return len(self._rejected) + len(self._erred)

    def compute_backoff_end_seconds(self, queued: queued_pod.QueuedPodInfo) -> float:
        """Return the monotonic time at which a pod can be retried; 0 means immediately.

        If the last attempts ended with errors, the backoff depends on the number of these errors
        instead of the number of rejections (`backend/queue/backoff_queue.go`, getBackoffTime).
        """
        count = queued.consecutive_errors or queued.unschedulable_count
        if count == 0 or self._max_seconds == 0:
            return 0.0
        doublings = min(count - 1, 64)
        backoff_seconds = min(math.ldexp(self._initial_seconds, doublings), self._max_seconds)
        window = math.floor((queued.timestamp_seconds + backoff_seconds) / ORDERING_WINDOW_SECONDS)
        return (window + 1) * ORDERING_WINDOW_SECONDS

    def is_backing_off(self, queued: queued_pod.QueuedPodInfo) -> bool:
        """Return whether the pod's backoff has not ended."""
        return self._clock.monotonic_seconds() < queued.backoff_until_seconds

    def add(self, queued: queued_pod.QueuedPodInfo) -> None:
        """Add a pod, or move it to the position that its current backoff requires."""
        met_error = not queued.unschedulable_plugins and not queued.pending_plugins
        (self._erred if met_error else self._rejected).push(queued.uid, queued)

    def get(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Return the pod with this uid, or None."""
        return self._rejected.get(uid) or self._erred.get(uid)

    def remove(self, uid: str) -> queued_pod.QueuedPodInfo | None:
        """Remove and return the pod with this uid, or None."""
        return self._rejected.remove(uid) or self._erred.remove(uid)

    def pop_early(self) -> queued_pod.QueuedPodInfo | None:
        """Pop the first rejected pod before its backoff ends; never a pod with an error."""
        return self._rejected.pop()

    def pop_completed(self) -> list[queued_pod.QueuedPodInfo]:
        """Pop all pods whose backoff has ended."""
        completed = []
        for pods in (self._rejected, self._erred):
            while (first := pods.peek()) is not None and not self.is_backing_off(first):
                pods.pop()
                completed.append(first)
        return completed

    def next_completion_seconds(self) -> float | None:
        """Return the monotonic time at which the next backoff ends, or None without pods."""
        ends = [
            first.backoff_until_seconds
            for pods in (self._rejected, self._erred)
            if (first := pods.peek()) is not None
        ]
        return min(ends, default=None)

    def list_pods(self) -> list[queued_pod.QueuedPodInfo]:
        """Return all pods."""
        return [*self._rejected, *self._erred]
