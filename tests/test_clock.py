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
    jumps = clock.JumpWatch(manual)
    found = []
    for jump_seconds in (0.0, 3600.0, 0.0, -7200.0, 0.5):
        manual.advance(10)
        manual.jump(jump_seconds)
        found.append(round(jumps.jump_seconds(), 6))
    assert found == [0.0, 3600.0, 0.0, -7200.0, 0.0]
    manual.jump(0.6)
    assert jumps.jump_seconds() == pytest.approx(1.1), "corrections add up"
