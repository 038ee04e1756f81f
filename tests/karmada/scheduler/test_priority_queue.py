"""The queue of the gate PriorityBasedScheduling."""

from __future__ import annotations

import dataclasses

import pytest

from policysched import clock as clocks
from policysched.karmada.scheduler import priority_queue
from tests import builders


@dataclasses.dataclass
class Bench:
    """A queue with a clock that is moved by hand."""

    priorities: dict[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = clocks.ManualClock(builders.EPOCH)
        self.queue = priority_queue.BindingPriorityQueue(
            self.clock, lambda key: self.priorities.get(key, 0)
        )

    def popped(self) -> list[str]:
        """Take all that is ready."""
        self.queue.run_timers()
        found = []
        while (key := self.queue.pop()) is not None:
            found.append(key)
        return found

    def fails(self, key: str, *, has_no_room: bool = False) -> float | None:
        """Let the work on a key fail, and return after how many seconds it comes again."""
        self.queue.retry(key, has_no_room=has_no_room)
        self.queue.done(key)
        due_seconds = self.queue.next_timer_seconds()
        return None if due_seconds is None else due_seconds - self.clock.monotonic_seconds()


@pytest.fixture
def bench() -> Bench:
    """One with two priorities."""
    return Bench({"high": 10, "higher": 20, "negative": -1})


def test_higher_priority_comes_first_then_who_came_first(bench: Bench) -> None:
    """However late it came."""
    for key in ("a", "negative", "high", "b", "higher", "a"):
        bench.queue.add(key)
    assert len(bench.queue) == 5
    assert bench.popped() == ["higher", "high", "a", "b", "negative"]


def test_priority_is_that_of_the_time_when_it_came(bench: Bench) -> None:
    """A binding that changes while it is ready keeps its place, as in Karmada."""
    bench.queue.add("a")
    bench.queue.add("high")
    bench.priorities["a"] = 100
    bench.queue.add("a")
    assert bench.popped() == ["high", "a"]


def test_who_is_worked_on_comes_again_after_that(bench: Bench) -> None:
    """Never twice at once."""
    bench.queue.add("a")
    assert bench.popped() == ["a"]
    bench.queue.add("a")
    assert bench.popped() == []
    assert "a" in bench.queue
    bench.queue.done("a")
    assert bench.popped() == ["a"]


def test_failures_wait_one_second_and_double_to_ten(bench: Bench) -> None:
    """Until the binding succeeds, from when it came into the queue."""
    bench.queue.add("a")
    pauses = []
    for _ in range(6):
        assert bench.popped() == ["a"]
        pause = bench.fails("a")
        assert pause is not None
        pauses.append(pause)
        assert bench.popped() == []
        assert bench.queue.delayed_count == 1
        bench.clock.advance(pause)
    assert pauses == [1, 2, 4, 8, 10, 10]
    bench.popped()
    bench.queue.forget("a")
    bench.queue.done("a")
    bench.queue.add("a")
    bench.popped()
    assert bench.fails("a") == 1


def test_the_wait_counts_from_when_it_came(bench: Bench) -> None:
    """Time in the queue is part of it."""
    bench.queue.add("a")
    bench.clock.advance(0.75)
    bench.popped()
    assert bench.fails("a") == 0.25


def test_no_room_waits_five_minutes(bench: Bench) -> None:
    """Nothing about clusters ends that, as in Karmada."""
    bench.queue.add("a")
    bench.popped()
    assert bench.fails("a", has_no_room=True) == 300
    bench.clock.advance(299)
    assert bench.popped() == []
    bench.clock.advance(1)
    assert bench.popped() == ["a"]


@pytest.mark.parametrize("has_no_room", [False, True])
def test_an_event_ends_the_wait_and_the_count(bench: Bench, has_no_room: bool) -> None:
    """The binding has changed, so it may fit now."""
    bench.queue.add("a")
    bench.popped()
    bench.fails("a", has_no_room=has_no_room)
    bench.queue.add("a")
    assert bench.queue.delayed_count == 0
    assert bench.popped() == ["a"]
    bench.clock.advance(1000)
    bench.queue.run_timers()
    assert bench.popped() == []
    bench.queue.done("a")
    bench.queue.add("a")
    bench.popped()
    assert bench.fails("a") == 1


def test_an_event_while_it_fails_goes_before_the_wait(bench: Bench) -> None:
    """It comes again as soon as the work has ended."""
    bench.queue.add("a")
    bench.popped()
    bench.queue.add("a")
    assert bench.fails("a") is None
    assert bench.popped() == ["a"]


def test_clearing_leaves_nothing_but_who_is_worked_on(bench: Bench) -> None:
    """A new term looks at everything again."""
    for key in ("a", "b", "c"):
        bench.queue.add(key)
    bench.queue.pop()
    bench.queue.pop()
    bench.fails("b")
    bench.queue.clear()
    assert (len(bench.queue), bench.queue.delayed_count) == (0, 0)
    bench.queue.add("a")
    assert bench.popped() == []
    bench.queue.done("a")
    assert bench.popped() == ["a"]
