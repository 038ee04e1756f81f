"""Figures of runs, and their ratios to the figures of a baseline in the same repeat."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks.comparison import schedulers
from benchmarks.records import measurements

Value: TypeAlias = Callable[[measurements.Measurement], float]
Runs: TypeAlias = Sequence[measurements.Measurement]

PODS, TOLD = "pods/s", "told/s"
CPU, CPU_WITH_START = "CPU without start", "CPU with start"
CPU_OF_ALL, MEMORY, P99 = "CPU of all", "memory", "p99"
FIGURES: Mapping[str, Value] = {
    PODS: lambda run: run.pods_per_second,
    TOLD: lambda run: run.pods_per_second_with_events,
    CPU: lambda run: run.cpu_seconds / run.bound,
    CPU_WITH_START: lambda run: run.total_cpu_seconds / run.bound,
    "servers": lambda run: run.server_cpu_seconds / run.bound,
    CPU_OF_ALL: lambda run: (run.cpu_seconds + run.server_cpu_seconds) / run.bound,
    MEMORY: lambda run: run.peak_memory_mib,
    "p50": lambda run: run.latency.p50_ms,
    P99: lambda run: run.latency.p99_ms,
    "points": lambda run: run.quality.score / run.bound,
}
"""Figures by their names in tables and in goals.yaml.

`pods/s` is until the last binding, `told/s` until the last event. CPU is in seconds per pod, either
from the first binding on or since the start of the process.
"""


@dataclasses.dataclass(frozen=True)
class Pair:
    """A scheduler and its baseline in a case, with all runs of the case."""

    case: measurements.Case
    runs: Runs
    scheduler: str
    baseline: str

    def ratios(self, figure: str) -> list[float]:
        """Return the scheduler's figure divided by the baseline's, one ratio per repeat."""
        return self.divide(FIGURES[figure])

    def divide(self, value: Value) -> list[float]:
        """Return the ratios of a value of runs, as `ratios` does for a figure."""
        theirs = {run.repeat: value(run) for run in self.runs if run.scheduler == self.baseline}
        ours = [run for run in self.runs if run.scheduler == self.scheduler]
        return [value(run) / theirs[run.repeat] for run in ours if theirs.get(run.repeat)]

    @property
    def repeats(self) -> int:
        """Number of repeats that both have run."""
        return len(self.ratios(PODS))

    @property
    def is_beside_base(self) -> bool:
        """Whether the baseline is the same scheduler from the second checkout."""
        return self.baseline == schedulers.of_base(self.scheduler)

    def most_seconds_apart(self) -> float:
        """Return the longest time between the ends of both runs of a repeat.

        Repeats count as 0 if the end of a run is not recorded.
        """
        theirs = {run.repeat: run.ended_at for run in self.runs if run.scheduler == self.baseline}
        ours = {run.repeat: run.ended_at for run in self.runs if run.scheduler == self.scheduler}
        ends = [(theirs.get(repeat), ended) for repeat, ended in ours.items()]
        known = [(a, b) for a, b in ends if a is not None and b is not None]
        return max((abs(b - a) for a, b in known), default=0.0)


def by_case(all_runs: Runs) -> dict[measurements.Case, list[measurements.Measurement]]:
    """Return the runs of each case, in the order of their first runs."""
    found: dict[measurements.Case, list[measurements.Measurement]] = {}
    for run in all_runs:
        found.setdefault(run.case, []).append(run)
    return found


def by_scheduler(case: measurements.Case, runs: Runs) -> dict[str, list[measurements.Measurement]]:
    """Return the runs by scheduler, those with the fewest baselines first."""
    names = dict.fromkeys(run.scheduler for run in runs)
    ordered = sorted(names, key=lambda name: len(case.baselines(name)))
    return {name: [run for run in runs if run.scheduler == name] for name in ordered}


def pairs(all_runs: Runs) -> Iterator[Pair]:
    """Yield each scheduler with each of its baselines that has run in the same repeat."""
    for case, runs in by_case(all_runs).items():
        yield from pairs_of_case(case, runs)


def pairs_of_case(case: measurements.Case, runs: Runs) -> Iterator[Pair]:
    """Yield the pairs of one case."""
    for name in by_scheduler(case, runs):
        for baseline in case.baselines(name):
            pair = Pair(case, runs, name, baseline)
            if pair.repeats:
                yield pair


def median(runs: Runs, value: Value) -> float:
    """Return the median of a figure."""
    return statistics.median(value(run) for run in runs)


def broken_rules(runs: Runs) -> int:
    """Return the number of rules broken in all runs together."""
    return sum(run.quality.broken_rules for run in runs)
