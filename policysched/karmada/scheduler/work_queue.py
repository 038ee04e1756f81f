"""A queue of keys; only one worker processes a key at a time, and failures delay the key.

It behaves like client-go's rate limiting queue (`util/workqueue/queue.go`,
`default_rate_limiters.go`), which Karmada uses with these defaults. A key that is added while it is
being processed becomes ready again afterwards. The delay after a failure is the longer of the key's
own delay, which doubles, and the delay of a token bucket for all keys.
"""

from __future__ import annotations

import collections
import dataclasses
import heapq
import itertools
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from policysched import clock as clocks


@dataclasses.dataclass(frozen=True, slots=True)
class RetryLimits:
    """Delays after failures, for each key and for all keys; the defaults are client-go's.

    Attributes:
        base_seconds: delay after the first failure of a key, doubled by each additional failure.
        max_seconds: maximum delay of a key.
        per_second, burst: limits on the retries of all keys together.
    """

    base_seconds: float = 0.005
    max_seconds: float = 1000.0
    per_second: float = 10.0
    burst: int = 100


class RetryRateLimit(Protocol):
    """A rate limit for the retries of all keys; see `kube.http.rate_limit.TokenBucket`."""

    def reserve_token(self) -> float:
        """Reserve a token; return the seconds to wait before it can be used."""
        ...


class WorkQueue:
    """Unique keys in the order of their arrival."""

    def __init__(
        self,
        clock: clocks.Clock,
        bucket: RetryRateLimit,
        times: RetryLimits | None = None,
        *,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Start empty; `on_ready` is called when a key becomes ready, or the next timer changes."""
        self._clock = clock
        self._bucket = bucket
        self._times = times or RetryLimits()
        self._on_ready = on_ready
        self._ready: collections.deque[str] = collections.deque()
        self._wanted: set[str] = set()  # ready, or ready after the current processing ends
        self._taken: set[str] = set()
        self._waiting: list[tuple[float, int, str]] = []
        self._due_seconds: dict[str, float] = {}
        self._numbers = itertools.count()
        self._failures: collections.Counter[str] = collections.Counter()

    def __len__(self) -> int:
        """Return the number of ready keys."""
        return len(self._ready)

    def __contains__(self, key: str) -> bool:
        """Return whether the key is ready, or will be when its processing ends."""
        return key in self._wanted

    @property
    def delayed_count(self) -> int:
        """Return the number of keys delayed after failures."""
        return len(self._due_seconds)

    def add(self, key: str) -> None:
        """Queue a key, immediately or after its current processing ends."""
        self._mark_dirty(key)

    def _mark_dirty(self, key: str) -> None:
        if key in self._wanted:
            return
        self._wanted.add(key)
        if key not in self._taken:
            self._make_key_ready(key)

    def _make_key_ready(self, key: str) -> None:
        self._ready.append(key)
        self._on_ready()

    def pop(self) -> str | None:
        """Pop the next key, which is in progress until `done`; return None if no key is ready."""
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._wanted.discard(key)
        self._taken.add(key)
        return key

    def done(self, key: str) -> None:
        """End the processing of a key."""
        self._taken.discard(key)
        if key in self._wanted:
            self._make_key_ready(key)

    def forget(self, key: str) -> None:
        """Reset the number of failures of the key."""
        del self._failures[key]

    def retry(self, key: str, *, has_no_room: bool = False) -> None:
        """Queue the key again after a delay, because its attempt failed; ignore `has_no_room`."""
        doublings = min(self._failures[key], 62)  # exceeds any maximum without overflow
        self._failures[key] += 1
        own_seconds = min(self._times.base_seconds * 2.0**doublings, self._times.max_seconds)
        pause_seconds = max(own_seconds, self._bucket.reserve_token())
        self._delay_key_until(self._clock.monotonic_seconds() + pause_seconds, key)

    def _delay_key_until(self, due_seconds: float, key: str) -> None:
        if due_seconds < self._due_seconds.get(key, float("inf")):
            self._due_seconds[key] = due_seconds
            heapq.heappush(self._waiting, (due_seconds, next(self._numbers), key))
            self._on_ready()  # the next timer has changed

    def run_timers(self) -> None:
        """Queue the keys whose delay has ended."""
        now_seconds = self._clock.monotonic_seconds()
        while self._waiting and self._waiting[0][0] <= now_seconds:
            due_seconds, _, key = heapq.heappop(self._waiting)
            # Other entries are outdated: the wait has ended, or the key is due at another time.
            if self._due_seconds.get(key) == due_seconds:
                del self._due_seconds[key]
                self._mark_dirty(key)

    def next_timer_seconds(self) -> float | None:
        """Return the monotonic time at which `run_timers` must be called next, or None."""
        return self._waiting[0][0] if self._waiting else None

    def clear(self) -> None:
        """Forget all keys and failures, except for the keys that are being processed."""
        self._ready.clear()
        self._wanted.clear()
        self._waiting.clear()
        self._due_seconds.clear()
        self._failures.clear()
