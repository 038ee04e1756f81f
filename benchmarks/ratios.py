"""Figures of runs, and their ratios to those of the baseline in the same repeat."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks import measurements

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


def by_case(made: Runs) -> dict[measurements.Case, list[measurements.Measurement]]:
    """Return the runs of each case, in the order of the first ones."""
    found: dict[measurements.Case, list[measurements.Measurement]] = {}
    for one in made:
        found.setdefault(one.case, []).append(one)
    return found


def by_scheduler(case: measurements.Case, runs: Runs) -> dict[str, list[measurements.Measurement]]:
    """Return the runs by scheduler, the baseline first."""
    names = dict.fromkeys(one.scheduler for one in runs)
    ordered = sorted(names, key=lambda name: name != case.baseline)
    return {name: [one for one in runs if one.scheduler == name] for name in ordered}


def compared(made: Runs) -> Iterator[tuple[measurements.Case, Runs, str]]:
    """Give each case with its runs and a scheduler that has repeats with its baseline."""
    for case, runs in by_case(made).items():
        for name in by_scheduler(case, runs):
            if name != case.baseline and of(case, runs, name, FIGURES[PODS]):
                yield case, runs, name


def of(case: measurements.Case, runs: Runs, name: str, value: Value) -> list[float]:
    """Return a scheduler's value over that of the baseline, one ratio a repeat."""
    theirs = {one.repeat: value(one) for one in runs if one.scheduler == case.baseline}
    ours = [one for one in runs if one.scheduler == name]
    return [value(one) / theirs[one.repeat] for one in ours if theirs.get(one.repeat)]


def most_seconds_apart(case: measurements.Case, runs: Runs, name: str) -> float:
    """Return how long lay between a scheduler's run and the baseline's of its repeat, at most.

    Runs that do not say when they ended count as 0.
    """
    theirs = {one.repeat: one.ended_at for one in runs if one.scheduler == case.baseline}
    ours = {one.repeat: one.ended_at for one in runs if one.scheduler == name}
    pairs = [(theirs.get(repeat), ended) for repeat, ended in ours.items()]
    known = [abs(b - a) for a, b in pairs if a is not None and b is not None]
    return max(known, default=0.0)


def median(runs: Runs, value: Value) -> float:
    """Return the median of a figure."""
    return statistics.median(value(one) for one in runs)


def broken_rules(runs: Runs) -> int:
    """Return how many rules were broken in all runs together."""
    return sum(one.quality.broken_rules for one in runs)
