"""Represents the times of the week at which rules are active as sets of minutes."""

from __future__ import annotations

from policysched.lang.checked import activation

MINUTES = 7 * activation.MINUTES_PER_DAY
"""The number of minutes in a week."""


def list_week_minutes(window: activation.TimeWindow) -> frozenset[int]:
    """Return the minutes of the week that a window contains, counted from Monday 00:00."""
    length = window.end_minute - window.start_minute
    # A window whose end is not after its start ends on the next day.
    if length <= 0:
        length += activation.MINUTES_PER_DAY
    starts = (day * activation.MINUTES_PER_DAY + window.start_minute for day in window.weekdays)
    return frozenset((start + minute) % MINUTES for start in starts for minute in range(length))


def never_active_together(
    one: activation.RuleActivation | None, other: activation.RuleActivation | None
) -> bool:
    """Return whether two rules are certainly never active at the same time.

    Windows in different time zones are not compared; the result for them is False.
    """
    if one is None or other is None or one.timezone != other.timezone:
        return False
    if not one.windows or not other.windows:
        return False
    return not _list_active_minutes(one) & _list_active_minutes(other)


def _list_active_minutes(active: activation.RuleActivation) -> frozenset[int]:
    inside = frozenset().union(*map(list_week_minutes, active.windows))
    return frozenset(range(MINUTES)) - inside if active.is_outside else inside
