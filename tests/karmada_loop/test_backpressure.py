"""`karmada_loop/backpressure.py`: decisions wait for events, as long as these get on."""

from __future__ import annotations

import dataclasses

import pytest

from policysched import clock as clocks
from policysched.karmada_loop import backpressure
from tests import builders


@dataclasses.dataclass
class Telling:
    """A clock, events that wait, and what follows from both."""

    clock: clocks.ManualClock = dataclasses.field(
        default_factory=lambda: clocks.ManualClock(builders.EPOCH)
    )
    waiting: int = 0

    def __post_init__(self) -> None:
        """Begin with nothing that waits."""
        self.pace = backpressure.EventBackpressure(lambda: self.waiting, self.clock)

    def is_held_back(self, waiting: int, after_seconds: float = 0.0) -> bool:
        """Say whether decisions wait while so many events do."""
        self.waiting = waiting
        self.clock.advance(after_seconds)
        return self.pace.is_event_backlog_full()


@pytest.mark.parametrize(
    "waiting, is_held_back",
    [(0, False), (backpressure.LIMIT, False), (backpressure.LIMIT + 1, True)],
)
def test_decisions_wait_while_many_events_do(waiting: int, *, is_held_back: bool) -> None:
    """Up to the limit nothing waits."""
    assert Telling().is_held_back(waiting) is is_held_back


def test_decisions_wait_as_long_as_events_get_on() -> None:
    """However long it takes."""
    telling = Telling()
    for waiting in range(backpressure.LIMIT + 20, backpressure.LIMIT, -1):
        assert telling.is_held_back(waiting, after_seconds=0.9 * backpressure.PATIENCE_SECONDS)
    assert not telling.is_held_back(backpressure.LIMIT, after_seconds=0.1)


def test_events_that_do_not_get_on_hold_nothing_back() -> None:
    """Events that nobody takes keep no workload from being placed."""
    telling = Telling()
    assert telling.is_held_back(backpressure.LIMIT + 5)
    assert not telling.is_held_back(
        backpressure.LIMIT + 5, after_seconds=backpressure.PATIENCE_SECONDS
    )
    assert not telling.is_held_back(backpressure.LIMIT + 50, after_seconds=60.0)
    assert telling.is_held_back(backpressure.LIMIT + 1)  # they get on again
