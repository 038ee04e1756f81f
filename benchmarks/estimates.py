"""How long a case takes, roughly: from what was measured before, or from what its workload says."""

from __future__ import annotations

import collections
import statistics
from collections.abc import Sequence

from benchmarks import measurements, workload_files

_START_SECONDS = 8.0
"""Of a control plane."""
_TURN_SECONDS = 8.0
"""To start and end a scheduler and to read the final state."""
_OBJECTS_PER_SECOND = 500.0
"""Nodes and pods that are created, or deleted, on two cores."""
_ROUGH_NODES = 5000


class Estimate:
    """Knows how fast schedulers were."""

    def __init__(self, made: Sequence[measurements.Measurement]) -> None:
        """Take earlier measurements."""
        speeds: dict[tuple[str, int, str], list[float]] = collections.defaultdict(list)
        for one in made:
            if not one.case.arrivals_per_second:
                key = (one.case.workload, one.case.nodes, one.scheduler)
                speeds[key].append(one.told_per_second)
        self._speeds = {key: statistics.median(all_speeds) for key, all_speeds in speeds.items()}

    def seconds(self, case: measurements.Case, names: Sequence[str]) -> float:
        """Return how long these schedulers need for a case, once for each time they are named."""
        workload = workload_files.load(case.workload)
        initial = case.nodes * workload.initial_per_node
        seconds = _START_SECONDS + (case.nodes + initial) / _OBJECTS_PER_SECOND
        for name in names:
            binding = case.pods / self._speed(case, workload, name)
            seconds += _TURN_SECONDS + 2 * case.pods / _OBJECTS_PER_SECOND + binding
        return seconds

    def _speed(
        self, case: measurements.Case, workload: workload_files.Workload, name: str
    ) -> float:
        known = self._speeds.get((case.workload, case.nodes, name))
        if known is None:
            slower = max(1.0, case.nodes / _ROUGH_NODES)
            known = workload.rough_pods_per_second / slower
        rate = case.arrivals_per_second
        return min(known, rate) if rate else known


def duration(seconds: float) -> str:
    """Return a duration for people."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02} min"
    return f"{max(1, minutes)} min"
