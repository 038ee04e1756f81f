"""Retry rejected pods when a node reaches an age with which policies compare."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from policysched import clock as clocks
from policysched.cluster import cache as caches
from policysched.cluster import elapsed_time
from policysched.cluster.objects import objects
from policysched.framework import events
from policysched.queue import scheduling_queue


class NodeAgeTimers:
    """The times at which nodes reach the ages with which policies compare.

    A timer of a node that was deleted or replaced does nothing, or tries pods once too often.
    """

    def __init__(
        self,
        cache: caches.Cache,
        queue: scheduling_queue.SchedulingQueue,
        clock: clocks.Clock,
        on_earlier: Callable[[], None],
    ) -> None:
        """Start without ages; call `on_earlier` when the next timer becomes an earlier one."""
        self._cache = cache
        self._queue = queue
        self._clock = clock
        self._on_earlier = on_earlier
        self._ages_seconds: tuple[int, ...] = ()
        self._timers: list[tuple[int, str]] = []

    def set_ages(self, ages_seconds: tuple[int, ...], nodes: Iterable[objects.Node]) -> None:
        """Replace the ages with which policies compare; `nodes` are all nodes."""
        self._ages_seconds, self._timers = ages_seconds, []
        if ages_seconds:
            for node in nodes:
                self.add_node(node)

    def add_node(self, node: objects.Node) -> None:
        """Set the timers of a new node."""
        if not self._ages_seconds:
            return
        now_seconds = self._clock.now().timestamp()
        first = self._timers[:1]
        for reached_seconds in elapsed_time.list_age_changes(node.metadata, self._ages_seconds):
            if reached_seconds > now_seconds:
                heapq.heappush(self._timers, (reached_seconds, node.name))
        if self._timers[:1] != first:
            self._on_earlier()

    def next_timer_seconds(self) -> float | None:
        """Return the monotonic time of the next timer; None without timers."""
        if not self._timers:
            return None
        seconds = max(0.0, self._timers[0][0] - self._clock.now().timestamp())
        return self._clock.monotonic_seconds() + seconds

    def run_timers(self) -> None:
        """Retry the pods that the nodes whose timers are due can help."""
        if not self._timers or self._timers[0][0] > self._clock.now().timestamp():
            return
        self._cache.expire_samples()  # hints then judge by the time that it is now
        now_seconds = self._clock.now().timestamp()
        while self._timers and self._timers[0][0] <= now_seconds:
            node = self._cache.get_node(heapq.heappop(self._timers)[1])
            if node is not None:
                self._queue.move_all_to_active_or_backoff(events.NODE_AGE, node, node)
