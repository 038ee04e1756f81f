"""The times at which a rule is active: weekly windows (`during`) until a date (`expires`)."""

from __future__ import annotations

import bisect
import dataclasses
import datetime
import math
import zoneinfo

MINUTES_PER_DAY = 24 * 60
_SECONDS_PER_DAY = 24 * 60 * 60
_LOOK_AHEAD_DAYS = 15
"""Days to search for the next change: two weeks, because clocks that go forward may skip a window,
and one more day for overnight windows."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time range that repeats on some weekdays.

    Attributes:
        weekdays: days on which the window starts; Monday is 0.
        start_minute: minutes after midnight, 0..1439.
        end_minute: 1..1440, exclusive. If it is not after `start_minute`, the window ends on the
            next day.
    """

    weekdays: frozenset[int]
    start_minute: int
    end_minute: int

    def contains_local_time(self, weekday: int, minute: int) -> bool:
        """Return whether a local time is inside the window; `minute` counts from midnight."""
        if self.start_minute < self.end_minute:
            return weekday in self.weekdays and self.start_minute <= minute < self.end_minute
        if minute >= self.start_minute:
            return weekday in self.weekdays
        return minute < self.end_minute and (weekday - 1) % 7 in self.weekdays


@dataclasses.dataclass(frozen=True, slots=True)
class RuleActivation:
    """The times at which a rule is active.

    Attributes:
        windows: the rule is active inside any of these; always active if empty.
        timezone: IANA name of the time zone of the windows.
        expires_at: time in seconds since the epoch at which the rule expires; None for no expiry.
        is_outside: whether the rule is active outside the windows instead.
    """

    windows: tuple[TimeWindow, ...]
    timezone: str
    expires_at: float | None
    is_outside: bool = False

    def is_active(self, now: float) -> bool:
        """Return whether the rule is active at `now`, in seconds since the epoch."""
        if self.expires_at is not None and now >= self.expires_at:
            return False
        if not self.windows:
            return True
        local = datetime.datetime.fromtimestamp(now, _get_time_zone(self.timezone))
        minute = local.hour * 60 + local.minute
        is_inside = any(each.contains_local_time(local.weekday(), minute) for each in self.windows)
        return is_inside is not self.is_outside

    def find_next_change(self, now: float) -> float | None:
        """Return the first time after `now` at which `is_active` changes; None if it never does."""
        times = sorted(time for time in self._list_boundaries(now) if time > now)
        before = self.is_active(now)
        return next((time for time in times if self.is_active(time) != before), None)

    def _list_boundaries(self, now: float) -> list[float]:
        """Return all times near `now` at which `is_active` can change, in seconds since the epoch.

        These are the expiry, the changes of the UTC offset, and each window boundary: both times if
        clocks show it twice, and a harmless extra time if clocks skip it.
        """
        times = [] if self.expires_at is None else [self.expires_at]
        if not self.windows:
            return times
        zone = _get_time_zone(self.timezone)
        times += _list_offset_changes(zone, now)
        minutes = {each.start_minute for each in self.windows}
        minutes |= {each.end_minute for each in self.windows}
        today = datetime.datetime.fromtimestamp(now, zone).date()
        for offset in range(-1, _LOOK_AHEAD_DAYS + 1):
            midnight = datetime.datetime.combine(
                today + datetime.timedelta(days=offset), datetime.time(), zone
            )
            for minute in minutes:
                # Adding to an aware datetime is wall-clock arithmetic: windows keep their local
                # times when DST begins or ends.
                local = midnight + datetime.timedelta(minutes=minute)
                times += (local.timestamp(), local.replace(fold=1).timestamp())
        return times


def _list_offset_changes(zone: datetime.tzinfo, now: float) -> list[float]:
    """Return the times after `now` at which the UTC offset changes, as when DST begins.

    Zones keep an offset for days at least (the shortest time is four days, in 1939).
    """
    first = math.floor(now)
    times = []
    for day in range(_LOOK_AHEAD_DAYS + 1):
        start = first + day * _SECONDS_PER_DAY
        seconds = range(start, start + _SECONDS_PER_DAY + 1)
        before, after = (_get_offset(zone, seconds[each]) for each in (0, -1))
        if before != after:
            at = bisect.bisect_left(
                seconds, True, key=lambda time: _get_offset(zone, time) != before
            )
            times.append(float(seconds[at]))
    return times


def _get_offset(zone: datetime.tzinfo, time: float) -> datetime.timedelta | None:
    return datetime.datetime.fromtimestamp(time, zone).utcoffset()


def _get_time_zone(name: str) -> datetime.tzinfo:
    """Return the time zone; UTC works even if the machine has no time zone database."""
    return datetime.UTC if name == "UTC" else zoneinfo.ZoneInfo(name)
