"""Windows of time around the moments at which clocks go forward or back."""

from __future__ import annotations

import bisect
import datetime
import zoneinfo
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.lang.checked import activation
from policysched.lang.checking import timetable

MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60
WEEK = frozenset(range(7))
FIRST, LAST = (
    int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp()) for year in (1990, 2038)
)


class ClockChange(NamedTuple):
    """A change of the UTC offset at `at`, by which clocks go from `before` to `after`."""

    zone: str
    at: int
    before: datetime.datetime
    after: datetime.datetime


def _list_clock_changes(zone: str) -> Iterator[ClockChange]:
    info = zoneinfo.ZoneInfo(zone)

    def get_offset(time: int) -> datetime.timedelta | None:
        return datetime.datetime.fromtimestamp(time, info).utcoffset()

    for start in range(FIRST, LAST, 3 * DAY):
        first = get_offset(start)
        if get_offset(start + 3 * DAY) == first:
            continue
        seconds = range(start, start + 3 * DAY)
        at = start + bisect.bisect_left(seconds, True, key=lambda time: get_offset(time) != first)
        local = datetime.datetime.fromtimestamp(at, info).replace(tzinfo=None)
        last_second = datetime.datetime.fromtimestamp(at - 1, info).replace(tzinfo=None)
        yield ClockChange(zone, at, last_second + datetime.timedelta(seconds=1), local)


def _find_next_change(active: activation.RuleActivation, now: int, end: int) -> int | None:
    """Return the first minute with another answer; offsets since 1990 are whole minutes."""
    first = active.is_active(now)
    minutes = range(now // MINUTE * MINUTE + MINUTE, end, MINUTE)
    return next((time for time in minutes if active.is_active(time) != first), None)


def _make_window(start: int, end: int) -> activation.TimeWindow:
    return activation.TimeWindow(WEEK, start % (24 * 60), end % (24 * 60) or 24 * 60)


def _list_windows(change: ClockChange) -> Iterator[activation.TimeWindow]:
    """Yield windows with an end between the two local times, and with an end at each."""
    before, after = (each.hour * 60 + each.minute for each in (change.before, change.after))
    between = (before + after) // 2 if abs(before - after) < 12 * 60 else before + 15
    yield _make_window(between, between + 150)
    yield _make_window(between - 270, between)
    yield _make_window(before, after)
    yield _make_window(after, before)


@pytest.mark.slow
def test_windows_begin_and_end_when_clocks_show_their_times() -> None:
    """In all time zones, whether clocks skip the time, show it once or show it twice."""
    kinds: dict[object, ClockChange] = {}
    for zone in sorted(zoneinfo.available_timezones()):
        for change in _list_clock_changes(zone):
            kinds.setdefault((change.before.time(), change.after - change.before), change)
    assert len(kinds) > 40
    for change in kinds.values():
        for window in _list_windows(change):
            active = activation.RuleActivation((window,), change.zone, None)
            for now in (change.at - 2 * HOUR, change.at, change.at + 20 * MINUTE):
                expected = _find_next_change(active, now, now + 12 * HOUR)
                found = active.find_next_change(now)
                if expected is None:
                    assert found is None or found >= now + 12 * HOUR, (change, window, now)
                else:
                    assert found == expected, (change, window, now)


@given(
    st.sampled_from(["Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia"]),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.integers(0, 24 * 60 - 1),
    st.integers(1, 24 * 60),
    st.integers(FIRST, LAST),
)
def test_the_next_change_is_found_minute_by_minute(
    zone: str, weekdays: frozenset[int], start_minute: int, end_minute: int, now: int
) -> None:
    """At any time, a search of single minutes finds the same change."""
    window = activation.TimeWindow(weekdays, start_minute, end_minute)
    active = activation.RuleActivation((window,), zone, None)
    assert active.find_next_change(now) == _find_next_change(active, now, now + 15 * DAY)


@pytest.mark.parametrize(
    "text, now, change",
    [
        # Clocks go back at 01:00Z, from 03:00 to 02:00.
        ("22:00-02:30 Europe/Berlin", "2026-10-25T00:35Z", "2026-10-25T01:00Z"),
        ("22:00-02:30 Europe/Berlin", "2026-10-25T01:10Z", "2026-10-25T01:30Z"),
        ("02:15-02:30 Europe/Berlin", "2026-10-25T00:40Z", "2026-10-25T01:15Z"),
        # Clocks go forward at 01:00Z, from 02:00 to 03:00.
        ("02:30-04:00 Europe/Berlin", "2026-03-29T00:00Z", "2026-03-29T01:00Z"),
        ("01:00-02:30 Europe/Berlin", "2026-03-29T00:30Z", "2026-03-29T01:00Z"),
        # They skip the window of this week.
        ("Sun 02:00-03:00 Europe/Berlin", "2026-03-28T12:00Z", "2026-04-05T00:00Z"),
        # Samoa had no 30 December 2011, a Friday.
        ("Fri 08:00-09:00 Pacific/Apia", "2011-12-24T00:00Z", "2012-01-05T18:00Z"),
    ],
)
def test_clocks_skip_and_repeat_times(text: str, now: str, change: str) -> None:
    """A window holds whenever clocks show a time in it."""
    read = timetable.parse_during(text)
    assert not isinstance(read, str)
    active = activation.RuleActivation(*read, None)
    at, expected = (datetime.datetime.fromisoformat(each).timestamp() for each in (now, change))
    assert active.find_next_change(at) == expected
