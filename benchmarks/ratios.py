"""Figures of runs, and their ratios to those of a baseline in the same repeat."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks import measurements, schedulers

Value: TypeAlias = Callable[[measurements.Measurement], float]
Runs: TypeAlias = Sequence[measurements.Measurement]

PODS, TOLD = "pods/s", "told/s"
CPU, CPU_WITH_START = "CPU without start", "CPU with start"
CPU_OF_ALL, MEMORY, P99 = "CPU of all", "memory", "p99"
FIGURES: Mapping[str, Value] = {
    PODS: lambda one: one.pods_per_second,
    TOLD: lambda one: one.told_per_second,
    CPU: lambda one: one.cpu_seconds / one.bound,
    CPU_WITH_START: lambda one: one.total_cpu_seconds / one.bound,
    "servers": lambda one: one.server_cpu_seconds / one.bound,
    CPU_OF_ALL: lambda one: (one.cpu_seconds + one.server_cpu_seconds) / one.bound,
    MEMORY: lambda one: one.peak_memory_mib,
    "p50": lambda one: one.latency.p50_ms,
    P99: lambda one: one.latency.p99_ms,
    "points": lambda one: one.quality.score / one.bound,
}
"""By the names that tables and goals.yaml have; `pods/s` is until the last binding, `told/s` until
the last event; CPU is seconds a pod, without what came before the first binding, or since the start
of the process."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """A scheduler and its baseline in a case, with all runs of the case."""

    case: measurements.Case
    runs: Runs
    scheduler: str
    baseline: str

    def ratios(self, figure: str) -> list[float]:
        """Return the scheduler's figure over that of the baseline, one ratio a repeat."""
        return self.divide(FIGURES[figure])

    def divide(self, value: Value) -> list[float]:
        """Return the same for a value of runs."""
        theirs = {one.repeat: value(one) for one in self.runs if one.scheduler == self.baseline}
        ours = [one for one in self.runs if one.scheduler == self.scheduler]
        return [value(one) / theirs[one.repeat] for one in ours if theirs.get(one.repeat)]

    @property
    def repeats(self) -> int:
        """How many repeats both have."""
        return len(self.ratios(PODS))

    @property
    def is_beside_base(self) -> bool:
        """Whether the baseline is the same scheduler from the second checkout."""
        return self.baseline == schedulers.of_base(self.scheduler)

    def most_seconds_apart(self) -> float:
        """Return the longest time between the ends of both runs of a repeat.

        Runs that do not say when they ended count as 0.
        """
        theirs = {one.repeat: one.ended_at for one in self.runs if one.scheduler == self.baseline}
        ours = {one.repeat: one.ended_at for one in self.runs if one.scheduler == self.scheduler}
        ends = [(theirs.get(repeat), ended) for repeat, ended in ours.items()]
        return max((abs(b - a) for a, b in ends if a is not None and b is not None), default=0.0)


def by_case(made: Runs) -> dict[measurements.Case, list[measurements.Measurement]]:
    """Return the runs of each case, in the order of the first ones."""
    found: dict[measurements.Case, list[measurements.Measurement]] = {}
    for one in made:
        found.setdefault(one.case, []).append(one)
    return found


def by_scheduler(case: measurements.Case, runs: Runs) -> dict[str, list[measurements.Measurement]]:
    """Return the runs by scheduler, those with the fewest baselines first."""
    names = dict.fromkeys(one.scheduler for one in runs)
    ordered = sorted(names, key=lambda name: len(case.baselines(name)))
    return {name: [one for one in runs if one.scheduler == name] for name in ordered}


def pairs(made: Runs) -> Iterator[Pair]:
    """Give each scheduler with each of its baselines that has run in the same repeat."""
    for case, runs in by_case(made).items():
        yield from pairs_of_case(case, runs)


def pairs_of_case(case: measurements.Case, runs: Runs) -> Iterator[Pair]:
    """Give the same for one case."""
    for name in by_scheduler(case, runs):
        for baseline in case.baselines(name):
            pair = Pair(case, runs, name, baseline)
            if pair.repeats:
                yield pair


def median(runs: Runs, value: Value) -> float:
    """Return the median of a figure."""
    return statistics.median(value(one) for one in runs)


def broken_rules(runs: Runs) -> int:
    """Return how many rules were broken in all runs together."""
    return sum(one.quality.broken_rules for one in runs)
