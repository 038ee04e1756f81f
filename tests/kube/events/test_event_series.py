"""Equal events are one event with a count."""

from __future__ import annotations

import datetime

import pytest

from policysched.kube.events import event_series
from tests import builders

NOW = builders.EPOCH
MINUTE = datetime.timedelta(minutes=1)
POD = event_series.InvolvedObject("default", "web", "uid", "7")


def occurrence(name: str = "web.1", at: datetime.datetime = NOW) -> event_series.CountedEvent:
    """Return a new event."""
    text = ("Warning", "FailedScheduling", "Scheduling", "0/5 nodes", "policysched")
    return event_series.CountedEvent(name, POD, text, first_at=at, last_at=at)


def test_an_event_is_new_once() -> None:
    """The first occurrence starts a series; further ones are counted."""
    series = event_series.RecentEvents()
    assert series.count_repeated_event("key", NOW) is None
    event = occurrence()
    assert series.add_event("key", event) is None
    assert series.count_repeated_event("key", NOW + MINUTE) is event
    assert series.count_repeated_event("other", NOW) is None
    assert (event.count, event.first_at, event.last_at) == (2, NOW, NOW + MINUTE)


def test_a_series_ends() -> None:
    """After six quiet minutes the next equal event is a new one; the old one is handed out."""
    series = event_series.RecentEvents()
    old = occurrence()
    series.add_event("key", old)
    assert series.count_repeated_event("key", NOW + 6 * MINUTE) is None
    assert series.add_event("key", occurrence("web.2", NOW + 6 * MINUTE)) is old


def test_ended_series_are_handed_out_once() -> None:
    """`finish` returns what has been quiet for six minutes and forgets it."""
    series = event_series.RecentEvents()
    quiet, busy = occurrence("quiet"), occurrence("busy")
    series.add_event("quiet", quiet)
    series.add_event("busy", busy)
    series.count_repeated_event("busy", NOW + 3 * MINUTE)
    assert series.pop_idle_events(NOW + 5 * MINUTE) == []
    assert series.pop_idle_events(NOW + 6 * MINUTE) == [quiet]
    assert series.pop_idle_events(NOW + 9 * MINUTE) == [busy]
    assert series.pop_idle_events(NOW + 99 * MINUTE) == []


def test_memory_is_bounded() -> None:
    """Beyond the limit, the event that occurred last the longest ago is forgotten."""
    series = event_series.RecentEvents(limit=2)
    first, second, third = occurrence("1"), occurrence("2"), occurrence("3")
    series.add_event("first", first)
    series.add_event("second", second)
    series.count_repeated_event("first", NOW)
    assert series.add_event("third", third) is second
    assert series.count_repeated_event("first", NOW) is first


@pytest.mark.parametrize(
    "count, written_count, minutes, is_due",
    [
        pytest.param(1, 0, 0, True, id="never written"),
        pytest.param(1, 1, 99, False, id="nothing new"),
        pytest.param(2, 1, 0, True, id="first repetition"),
        pytest.param(3, 2, 1, False, id="further repetition, soon"),
        pytest.param(9, 2, 5, True, id="further repetitions, later"),
        pytest.param(9, 9, 99, False, id="all written"),
    ],
)
def test_when_the_server_is_told(
    count: int, written_count: int, minutes: int, is_due: bool
) -> None:
    """The first repetition is told at once, further ones every five minutes."""
    event = occurrence()
    event.count, event.written_count = count, written_count
    event.written_at = NOW if written_count else None
    assert event.is_count_update_due(NOW + minutes * MINUTE) is is_due
