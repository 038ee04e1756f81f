"""Keys come once, failures wait, nothing that is being worked on is handed out twice."""

from __future__ import annotations

import pytest

from policysched import clock as clocks
from policysched.karmada.scheduler import work_queue
from policysched.kube.http import rate_limit
from tests import builders


@pytest.fixture
def clock() -> clocks.ManualClock:
    """A clock that stands still."""
    return clocks.ManualClock(builders.EPOCH)


@pytest.fixture
def queue(clock: clocks.ManualClock) -> work_queue.WorkQueue:
    """An empty queue with client-go's limits."""
    return _queue(clock)


def _queue(
    clock: clocks.ManualClock, times: work_queue.RetryLimits | None = None
) -> work_queue.WorkQueue:
    known = times or work_queue.RetryLimits()
    bucket = rate_limit.TokenBucket(known.per_second, known.burst, clock)
    return work_queue.WorkQueue(clock, bucket, known)


def _all(queue: work_queue.WorkQueue) -> list[str]:
    keys = []
    while (key := queue.pop()) is not None:
        keys.append(key)
    return keys


def test_keys_come_in_order_and_once(queue: work_queue.WorkQueue) -> None:
    """A key that is added again while it waits keeps its place."""
    for key in ("a", "b", "a", "c"):
        queue.add(key)
    assert _all(queue) == ["a", "b", "c"]


def test_a_key_that_is_worked_on_comes_again_afterwards(queue: work_queue.WorkQueue) -> None:
    """What happens meanwhile is not lost, and nobody else gets the key before."""
    queue.add("a")
    assert queue.pop() == "a"
    queue.add("a")
    assert queue.pop() is None
    queue.done("a")
    assert queue.pop() == "a"
    queue.done("a")
    assert queue.pop() is None


def test_pauses_double_from_failure_to_failure(
    clock: clocks.ManualClock, queue: work_queue.WorkQueue
) -> None:
    """5 ms, 10 ms, 20 ms, and from the beginning once it is forgotten."""
    waits = []
    for number in range(5):
        if number == 3:
            queue.forget("a")
        queue.retry("a")
        due_seconds = queue.next_timer_seconds()
        assert due_seconds is not None
        waits.append(round(due_seconds - clock.monotonic_seconds(), 6))
        clock.advance(waits[-1] + 1e-9)
        queue.run_timers()
        assert queue.pop() == "a"
        queue.done("a")
    assert waits == [0.005, 0.01, 0.02, 0.005, 0.01]


def test_a_pause_has_a_limit(clock: clocks.ManualClock) -> None:
    """However often it fails."""
    queue = _queue(clock, work_queue.RetryLimits(base_seconds=1.0, max_seconds=3.0))
    for _ in range(2000):
        queue.retry("a")
        clock.advance(3.1)
        queue.run_timers()
        assert queue.pop() == "a"
        queue.done("a")


def test_failures_of_all_share_a_bucket(
    clock: clocks.ManualClock, queue: work_queue.WorkQueue
) -> None:
    """After a hundred at once, ten a second come again."""
    for number in range(120):
        queue.retry(str(number))
    clock.advance(0.006)
    queue.run_timers()
    assert len(_all(queue)) == 100
    clock.advance(1.0)
    queue.run_timers()
    assert len(_all(queue)) == 10
    assert queue.delayed_count == 10


def test_clear_leaves_what_is_worked_on(queue: work_queue.WorkQueue) -> None:
    """A key that somebody has is handed out again only when that one is done."""
    queue.add("a")
    queue.add("b")
    queue.pop()
    queue.retry("c")
    queue.clear()
    assert queue.pop() is None
    assert queue.next_timer_seconds() is None
    queue.add("a")
    assert queue.pop() is None
    queue.done("a")
    assert queue.pop() == "a"


def test_waking_is_told(clock: clocks.ManualClock) -> None:
    """Somebody who waits is told of keys, and of pauses that end sooner."""
    told = []
    bucket = rate_limit.TokenBucket(10, 100, clock)
    queue = work_queue.WorkQueue(clock, bucket, on_ready=lambda: told.append(1))
    queue.add("a")
    queue.retry("b")
    assert len(told) == 2
