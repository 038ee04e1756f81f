"""Estimates of the duration of a case, from earlier measurements or its workload."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Sequence

from benchmarks import workload_files
from benchmarks.records import measurements

_START_SECONDS = 8.0
"""To start a control plane."""
_TURN_SECONDS = 8.0
"""To start and end a scheduler and to read the final state."""
_OBJECTS_PER_SECOND = 500.0
"""Nodes and pods that are created or deleted, on two cores."""
_ROUGH_NODES = 5000


class Estimate:
    """Estimates from the speeds of earlier runs."""

    def __init__(self, runs: Sequence[measurements.Measurement]) -> None:
        """Collect the speeds of earlier runs."""
        speeds: dict[tuple[str, int, str], list[float]] = collections.defaultdict(list)
        for run in runs:
            if not run.case.arrivals_per_second:
                key = (run.case.workload, run.case.nodes, run.scheduler)
                speeds[key].append(run.pods_per_second_with_events)
        self._speeds = {key: statistics.median(all_speeds) for key, all_speeds in speeds.items()}

    def seconds(self, case: measurements.Case, names: Sequence[str]) -> float:
        """Return the duration of a case; a scheduler runs as often as it is named."""
        workload = workload_files.load(case.workload)
        initial = case.nodes * workload.initial_per_node
        seconds = _START_SECONDS + (case.nodes + initial) / _OBJECTS_PER_SECOND
        for name in names:
            binding = case.pods / self._estimate_speed(case, workload, name)
            seconds += _TURN_SECONDS + 2 * case.pods / _OBJECTS_PER_SECOND + binding
        return seconds

    def _estimate_speed(
        self, case: measurements.Case, workload: workload_files.Workload, name: str
    ) -> float:
        speed = self._speeds.get((case.workload, case.nodes, name))
        if speed is None:
            slower = max(1.0, case.nodes / _ROUGH_NODES)
            speed = workload.rough_pods_per_second / slower
        rate = case.arrivals_per_second
        return min(speed, rate) if rate else speed


def duration(seconds: float) -> str:
    """Return a duration in minutes, or in hours and minutes."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02} min"
    return f"{max(1, minutes)} min"
