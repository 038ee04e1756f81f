"""Check the length of windows over metrics (`over 10m max`)."""

from __future__ import annotations

from policysched.lang.checked import checked_expr

MAX_SAMPLES = 1000
"""Maximum number of samples of one node in a window; all of them are kept in memory."""


def find_window_problem(window: checked_expr.MetricWindow, refresh_seconds: float) -> str:
    """Return why a window is invalid for a metric with this refresh interval, or ""."""
    refreshes = window.seconds / refresh_seconds
    if refreshes <= 1:
        return "a window must be longer than the refresh interval"
    if refreshes > MAX_SAMPLES:
        return (
            f"a window can contain at most {MAX_SAMPLES} refresh intervals; "
            f"this one contains {refreshes:.0f}"
        )
    return ""


def is_doubtful_window(seconds: float, refresh_seconds: float) -> bool:
    """Return whether a window is valid but contains at most two samples."""
    return 1 < seconds / refresh_seconds < 2  # noqa: PLR2004 - two refreshes, see the docstring
