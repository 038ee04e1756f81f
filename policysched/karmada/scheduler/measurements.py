"""Counts and durations of attempts and plugins, in the buckets of Karmada's metrics.

Source: Karmada v1.18.2 `pkg/scheduler/metrics/metrics.go`.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Final

from policysched import histogram

if TYPE_CHECKING:
    from policysched import clock as clocks
    from policysched.karmada.scheduler import triggers

SCHEDULED: Final = "scheduled"
ERROR: Final = "error"

_ATTEMPT_SECONDS = histogram.make_exponential_buckets(0.001, 2, 15)
_POINT_SECONDS = histogram.make_exponential_buckets(0.0001, 2, 12)
_PLUGIN_SECONDS = histogram.make_exponential_buckets(0.00001, 1.5, 20)
_SUCCESS = "Success"


class BindingMeasurements:
    """Counts and durations since the start of the process.

    Attributes:
        attempts: number of ended attempts, keyed by (result, schedule type).
        durations: durations of attempts, including their writes.
        steps: durations of the steps of a decision.
        points: durations of all plugins together at an extension point.
        plugins: durations of one plugin for all clusters.
    """

    def __init__(self, clock: clocks.Clock) -> None:
        """Start at zero."""
        self._now_seconds = clock.monotonic_seconds
        self.attempts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.durations = histogram.LabelledHistograms(("result", "schedule_type"), _ATTEMPT_SECONDS)
        self.steps = histogram.LabelledHistograms(("schedule_step",), _ATTEMPT_SECONDS)
        self.points = histogram.LabelledHistograms(("extension_point", "result"), _POINT_SECONDS)
        self.plugins = histogram.LabelledHistograms(
            ("plugin", "extension_point", "result"), _PLUGIN_SECONDS
        )
        self._step_began_seconds = 0.0
        self._plugin_began_seconds = 0.0

    def count_attempt(
        self, why: triggers.ScheduleTrigger, seconds: float, *, is_error: bool
    ) -> None:
        """Count an attempt that has ended."""
        result = ERROR if is_error else SCHEDULED
        self.attempts[result, why.value] += 1
        self.durations.observe(seconds, result, why.value)

    # --- DecisionObserver ----------------------------------------------------------------------

    def decision_began(self) -> None:
        """Start the measurement of a decision."""
        self._step_began_seconds = self._plugin_began_seconds = self._now_seconds()

    def plugin_ended(self, plugin: str, point: str) -> None:
        """Record the duration of a plugin."""
        now_seconds = self._now_seconds()
        self.plugins.observe(now_seconds - self._plugin_began_seconds, plugin, point, _SUCCESS)
        self._plugin_began_seconds = now_seconds

    def step_ended(self, step: str) -> None:
        """Record the duration of a step; Filter and Score are also extension points."""
        now_seconds = self._now_seconds()
        seconds = now_seconds - self._step_began_seconds
        self.steps.observe(seconds, step)
        if step in ("Filter", "Score"):
            self.points.observe(seconds, step, _SUCCESS)
        self._step_began_seconds = self._plugin_began_seconds = now_seconds
