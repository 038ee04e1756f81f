"""The queue for the gate PriorityBasedScheduling: bindings with a higher priority come first.

A binding without enough available replicas waits for five minutes. After any other failure, a
binding waits for one second; each additional failure doubles the wait, up to ten seconds. Both
waits are counted from the time at which the binding became ready. An event about a waiting binding
ends the wait and resets its number of failures. There is no common limit on the retries of all
bindings.

Source: Karmada v1.18.2 `pkg/scheduler/internal/queue/`. Karmada checks waits once a second, and
waits of five minutes only every 30 seconds; here waits end exactly on time.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Final

from policysched.karmada.scheduler import work_queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched import clock as clocks

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 10.0
NO_ROOM_SECONDS: Final = 300.0


class BindingPriorityQueue(work_queue.WorkQueue):
    """Unique keys, ordered by priority; keys with equal priority are in the order of arrival."""

    def __init__(
        self,
        clock: clocks.Clock,
        priority_of: Callable[[str], int],
        *,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Start empty; `priority_of` is called when a key becomes ready."""
        super().__init__(clock, _UnlimitedRetryRate(), on_ready=on_ready)
        self._priority_of = priority_of
        self._by_priority: list[tuple[int, int, str]] = []
        self._arrivals = itertools.count()
        self._ready_since_seconds: dict[str, float] = {}

    def __len__(self) -> int:
        """Return the number of ready keys."""
        return len(self._by_priority)

    def add(self, key: str) -> None:
        """Queue a key because of an event, and end its wait."""
        if key not in self._wanted:
            self._due_seconds.pop(key, None)
            if key not in self._taken:
                self.forget(key)
        super().add(key)

    def _make_key_ready(self, key: str) -> None:
        self._ready_since_seconds[key] = self._clock.monotonic_seconds()
        entry = (-self._priority_of(key), next(self._arrivals), key)
        heapq.heappush(self._by_priority, entry)
        self._on_ready()

    def pop(self) -> str | None:
        """Pop the key with the highest priority, or return None if no key is ready.

        The key is in progress until `done` is called.
        """
        if not self._by_priority:
            return None
        _, _, key = heapq.heappop(self._by_priority)
        self._wanted.discard(key)
        self._taken.add(key)
        return key

    def forget(self, key: str) -> None:
        """Reset the number of failures of the key."""
        super().forget(key)
        self._ready_since_seconds.pop(key, None)

    def retry(self, key: str, *, has_no_room: bool = False) -> None:
        """Queue the key again after a pause, because its attempt failed."""
        if key in self._wanted:  # an event has already queued it
            return
        doublings = min(self._failures[key], 62)
        self._failures[key] += 1
        pause_seconds = min(FIRST_PAUSE_SECONDS * 2.0**doublings, LONGEST_PAUSE_SECONDS)
        if has_no_room:
            pause_seconds = NO_ROOM_SECONDS
        since_seconds = self._ready_since_seconds.pop(key, self._clock.monotonic_seconds())
        self._delay_key_until(since_seconds + pause_seconds, key)

    def clear(self) -> None:
        """Forget all keys and failures, except for the keys that are being processed."""
        super().clear()
        self._by_priority.clear()
        self._ready_since_seconds.clear()


class _UnlimitedRetryRate:
    """A limit for all bindings together that never delays."""

    def reserve_token(self) -> float:
        return 0.0
