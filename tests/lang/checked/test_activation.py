from __future__ import annotations

import dataclasses
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policysched.lang.checked import activation
from policysched.lang.checking import timetable

WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _during(text: str, expires: str | None = None) -> activation.RuleActivation:
    read = timetable.parse_during(text)
    assert not isinstance(read, str)
    at = timetable.parse_expires(expires) if expires is not None else None
    return activation.RuleActivation(*read, at)


def _at(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    "text, time, is_active",
    [
        # 2026-03-02 is a Monday.
        ("Mon-Fri 08:00-20:00", "2026-03-02T08:00:00+00:00", True),
        ("Mon-Fri 08:00-20:00", "2026-03-02T07:59:59+00:00", False),
        ("Mon-Fri 08:00-20:00", "2026-03-02T20:00:00+00:00", False),
        ("Mon-Fri 08:00-20:00", "2026-03-07T12:00:00+00:00", False),
        ("Mon-Fri 08:00-20:00 Europe/Berlin", "2026-03-02T07:30:00+00:00", True),
        ("Mon-Fri 08:00-20:00 Europe/Berlin", "2026-07-06T06:30:00+00:00", True),
        ("Mon 22:00-06:00", "2026-03-03T05:59:00+00:00", True),
        ("Mon 22:00-06:00", "2026-03-02T05:59:00+00:00", False),
        ("Fri-Mon 00:00-24:00", "2026-03-01T23:59:00+00:00", True),
        ("Fri-Mon 00:00-24:00", "2026-03-03T00:00:00+00:00", False),
        ("Tue,Thu 10:00-11:00, Wed 12:00-13:00", "2026-03-04T12:30:00+00:00", True),
        ("08:00-08:00", "2026-03-04T03:00:00+00:00", True),
    ],
)
def test_windows_are_in_local_time(text: str, time: str, is_active: bool) -> None:
    """Days are those on which a window starts; overnight ones reach into the next day."""
    active = _during(text)
    assert active.is_active(_at(time)) is is_active
    outside = dataclasses.replace(active, is_outside=True)
    assert outside.is_active(_at(time)) is not is_active
    assert outside.find_next_change(_at(time)) == active.find_next_change(_at(time))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "always",
        "08:00",
        "8:00-20:00",
        "25:00-26:00",
        "Mo-Fr 08:00-20:00",
        "24:00-08:00",
        "08:00-20:00 Mars/Base",
        "08:00-20:00 ../../etc/passwd",
        "08:00-20:00 localtime",
        "08:00-20:00 Factory",
        "08:00-20:00 posix/Europe/Berlin",
        "08:00-20:00 right/Europe/Berlin",
        "08:00-20:00  Europe/Berlin",
    ],
)
def test_what_is_no_timetable_is_refused_with_a_sentence(text: str) -> None:
    """Nothing about hours is guessed."""
    assert isinstance(timetable.parse_during(text), str)


@pytest.mark.parametrize(
    "text, time",
    [
        ("2026-12-31", "2027-01-01T00:00:00+00:00"),
        ("2026-12-31T18:00:00+01:00", "2026-12-31T17:00:00+00:00"),
        ("2026-12-31T18:00:00Z", "2026-12-31T18:00:00+00:00"),
    ],
)
def test_an_expiry_is_a_moment(text: str, time: str) -> None:
    """A date means through the end of that day, UTC."""
    assert timetable.parse_expires(text) == _at(time)


@pytest.mark.parametrize("text", ["tomorrow", "2026-13-01", "2026-12-31T18:00:00"])
def test_an_expiry_without_a_moment_is_refused(text: str) -> None:
    """A local time without offset names no moment."""
    assert timetable.parse_expires(text) is None


def test_an_expired_rule_never_acts_again() -> None:
    """Expiry is stronger than windows."""
    active = _during("00:00-24:00", "2026-03-01")
    assert active.is_active(_at("2026-03-01T23:59:59+00:00"))
    assert not active.is_active(_at("2026-03-02T00:00:00+00:00"))


@given(
    st.sampled_from(
        [
            "Mon-Fri 08:00-20:00 Europe/Berlin",
            "Mon 22:00-06:00 America/New_York",
            "Sun 01:00-03:00 Europe/Berlin",
            "12:00-12:01",
        ]
    ),
    st.datetimes(datetime.datetime(2026, 1, 1), datetime.datetime(2027, 1, 1)),  # noqa: DTZ001 - the next line makes them UTC
    st.none() | st.just("2026-06-30"),
)
def test_the_next_change_is_the_next_change(
    text: str, start: datetime.datetime, expires: str | None
) -> None:
    """Up to the announced moment nothing changes, and then it does; minute by minute."""
    active = _during(text, expires)
    now = start.replace(tzinfo=datetime.UTC).timestamp()
    change = active.find_next_change(now)
    horizon = min(change or now + 86_400, now + 2 * 86_400)
    minutes = range(int(now // 60) * 60 + 60, int(horizon), 60)
    assert all(active.is_active(minute) == active.is_active(now) for minute in minutes)
    if change is not None:
        assert active.is_active(change) != active.is_active(now)
    if change is None:
        assert expires is not None
        end = _at("2026-07-01T00:00:00+00:00")
        assert now > end - 8 * 86_400  # what recurs does so within a week
        assert not any(active.is_active(time) for time in range(int(now), int(end), 60))
