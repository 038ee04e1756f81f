"""Clocks."""

from __future__ import annotations

import datetime

import pytest

from policysched import clock


def test_manual_clock_moves_when_told() -> None:
    """Both of its times advance together, and only forward."""
    start = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC)
    manual = clock.ManualClock(start)
    manual.advance(90)
    assert manual.monotonic_seconds() == 90
    assert manual.now() == start + datetime.timedelta(seconds=90)
    with pytest.raises(ValueError, match="does not go back"):
        manual.advance(-1)


def test_manual_clock_needs_a_time_zone() -> None:
    """A time that means something else on every machine is refused."""
    with pytest.raises(ValueError, match="time zone"):
        clock.ManualClock(datetime.datetime(2026, 1, 5))  # noqa: DTZ001 - the refused case


def test_system_clock_agrees_with_the_machine() -> None:
    """Wall-clock times carry a zone, and the monotonic clock does not go back."""
    system = clock.SystemClock()
    assert system.now().utcoffset() == datetime.timedelta(0)
    assert system.monotonic_seconds() <= system.monotonic_seconds()


def test_a_clock_that_is_set_is_told_once() -> None:
    """By how much, forward or back; time that passes and corrections are no jumps."""
    manual = clock.ManualClock(datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC))
    jumps = clock.ClockJumpDetector(manual)
    found = []
    for jump_seconds in (0.0, 3600.0, 0.0, -7200.0, 0.5):
        manual.advance(10)
        manual.jump_wall_clock(jump_seconds)
        found.append(round(jumps.measure_jump_seconds(), 6))
    assert found == [0.0, 3600.0, 0.0, -7200.0, 0.0]
    manual.jump_wall_clock(0.6)
    assert jumps.measure_jump_seconds() == pytest.approx(1.1), "corrections add up"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("2026-03-02T10:00:00+01:00", "2026-03-02T10:00:00+01:00"),
        ("2026-03-02", "2026-03-02T00:00:00+00:00"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00+00:00"),
        ("9998-12-31T23:59:59", "9998-12-31T23:59:59+00:00"),
        ("9999-12-31T23:59:59Z", None),
        ("1969-12-31T23:59:59Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("2026-13-01", None),
        ("", None),
    ],
)
def test_a_time_is_read_if_days_can_be_added_to_it(text: str, expected: str | None) -> None:
    """An ISO time of our age, in UTC without an offset."""
    found = clock.parse_time(text)
    assert (found and found.isoformat()) == expected
