"""Measurements as tables of ratios."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks import goals, measurements

Value: TypeAlias = Callable[[measurements.Measurement], float]
_ARRIVES_IN_TIME = 0.95
_SUMMED_UP = ("pods/s", "CPU", "CPU of all", "memory", "p99")

_LEGEND = """
pods/s     bindings a second, from the first (with preemption: from the first victim) to the last:
           median, smallest and largest of all runs
told/s     the same until the last event was written
CPU ms     of the scheduler for each pod; servers: of kube-apiserver and etcd; where the machine is
           busy, the ratio of both together (CPU of all) is what sets that of pods/s
p50, p99   ms until pods were bound: arriving pods from when they were sent, those of a backlog from
           the start of the scheduler
start s    from the start of the process to the first binding, which nothing else counts
cpu, mem   shares of nodes that pods request: standard deviation and largest of all nodes
points     how well a pod is placed, 0 to 100 (benchmarks/quality.py); broken: rules in the end
others     what other processes took of the machine's CPU time meanwhile\
"""


@dataclasses.dataclass(frozen=True)
class _Column:
    """A figure of a run: its head, its width, how it is shown and where it comes from."""

    head: str
    width: int
    form: str
    value: Value


_COLUMNS = (
    _Column("told/s", 8, ".0f", lambda one: one.told_per_second),
    _Column("CPU ms", 8, ".2f", lambda one: 1000 * one.cpu_seconds / one.bound),
    _Column("servers", 8, ".2f", lambda one: 1000 * one.server_cpu_seconds / one.bound),
    _Column("MiB", 6, ".0f", lambda one: one.peak_memory_mib),
    _Column("p50", 7, ".0f", lambda one: one.latency.p50_ms),
    _Column("p99", 7, ".0f", lambda one: one.latency.p99_ms),
    _Column("start s", 8, ".1f", lambda one: one.start_seconds),
    _Column("cpu std", 8, ".4f", lambda one: one.quality.cpu_std),
    _Column("max", 6, ".2f", lambda one: one.quality.cpu_max),
    _Column("mem std", 8, ".4f", lambda one: one.quality.memory_std),
    _Column("max", 6, ".2f", lambda one: one.quality.memory_max),
    _Column("points", 7, ".2f", lambda one: one.quality.score / one.bound),
    _Column("broken", 7, ".0f", lambda one: one.quality.broken_rules),
    _Column("others", 7, ".0%", lambda one: one.others_share),
)
RATIOS: Mapping[str, Value] = {
    "pods/s": lambda one: one.pods_per_second,
    "told/s": lambda one: one.told_per_second,
    "CPU": lambda one: one.cpu_seconds / one.bound,
    "servers": lambda one: one.server_cpu_seconds / one.bound,
    "CPU of all": lambda one: (one.cpu_seconds + one.server_cpu_seconds) / one.bound,
    "memory": lambda one: one.peak_memory_mib,
    "p50": lambda one: one.latency.p50_ms,
    "p99": lambda one: one.latency.p99_ms,
    "points": lambda one: one.quality.score / one.bound,
}


def text(made: Sequence[measurements.Measurement]) -> str:
    """Return a table for each case with ratios below, and one of all ratios."""
    if not made:
        return "nothing has been measured"
    lines = []
    for case, runs in _by_case(made).items():
        lines += [*_case_lines(case, runs), ""]
    return "\n".join([*lines, *_summary(made), _LEGEND])


def markdown(made: Sequence[measurements.Measurement]) -> str:
    """Return a table of ratios for documents: a line for each case and scheduler."""
    heads = ["case", "scheduler", "pods/s", "p99 ms", "CPU ms/pod", "MiB"]
    heads += ["ratio of pods/s", "of CPU", "of p99"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for case, runs in _by_case(made).items():
        for name, own in _by_scheduler(case, runs).items():
            figures = [
                f"{_median(own, RATIOS['pods/s']):.0f}",
                f"{_median(own, RATIOS['p99']):,.0f}",
                f"{1000 * _median(own, RATIOS['CPU']):.2f}",
                f"{_median(own, RATIOS['memory']):.0f}",
            ]
            shown = [_ratio(case, runs, name, RATIOS[what]) for what in ("pods/s", "CPU", "p99")]
            lines.append(f"| {case} | {name} | {' | '.join([*figures, *shown])} |")
    return "\n".join(lines)


def ratios(
    case: measurements.Case,
    runs: Sequence[measurements.Measurement],
    name: str,
    value: Value,
) -> list[float]:
    """Return a scheduler's value over that of the baseline, one ratio a repeat."""
    theirs = {one.repeat: value(one) for one in runs if one.scheduler == case.baseline}
    ours = [one for one in runs if one.scheduler == name]
    return [value(one) / theirs[one.repeat] for one in ours if theirs.get(one.repeat)]


def _by_case(
    made: Sequence[measurements.Measurement],
) -> dict[measurements.Case, list[measurements.Measurement]]:
    by_case: dict[measurements.Case, list[measurements.Measurement]] = {}
    for one in made:
        by_case.setdefault(one.case, []).append(one)
    return by_case


def _by_scheduler(
    case: measurements.Case, runs: Sequence[measurements.Measurement]
) -> dict[str, list[measurements.Measurement]]:
    """Return the runs by scheduler, the baseline first."""
    names = dict.fromkeys(one.scheduler for one in runs)
    ordered = sorted(names, key=lambda name: name != case.baseline)
    return {name: [one for one in runs if one.scheduler == name] for name in ordered}


def _case_lines(case: measurements.Case, runs: Sequence[measurements.Measurement]) -> Iterator[str]:
    yield str(case)
    heads = "".join(f"{column.head:>{column.width}}" for column in _COLUMNS)
    yield f"  {'':<24}{'runs':>4}{'pods/s':>8}{'min-max':>12}{heads}"
    by_scheduler = _by_scheduler(case, runs)
    for name, own in by_scheduler.items():
        speeds = [one.pods_per_second for one in own]
        spread = f"{min(speeds):.0f}-{max(speeds):.0f}"
        cells = "".join(
            f"{_median(own, column.value):>{column.width}{column.form}}" for column in _COLUMNS
        )
        yield f"  {name:<24}{len(own):>4}{statistics.median(speeds):>8.0f}{spread:>12}{cells}"
    slowest = min(one.arrived_per_second for one in runs)
    if slowest < _ARRIVES_IN_TIME * case.arrivals_per_second:
        yield f"  the machine was too busy for the rate: pods came at {slowest:.0f}/s"
    for name in by_scheduler:
        if name != case.baseline and ratios(case, runs, name, RATIOS["pods/s"]):
            shown = [f"{what} {_ratio(case, runs, name, RATIOS[what])}" for what in RATIOS]
            yield f"  {name} / {case.baseline}: {', '.join(shown[:5])},"
            yield f"    {', '.join(shown[5:])}"


def _ratio(
    case: measurements.Case,
    runs: Sequence[measurements.Measurement],
    name: str,
    value: Value,
) -> str:
    """Return `median (smallest-largest)` of the ratios, or nothing for the baseline itself."""
    found = ratios(case, runs, name, value)
    if not found or name == case.baseline:
        return ""
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


def _summary(made: Sequence[measurements.Measurement]) -> Iterator[str]:
    """Give a line for each case and scheduler that has been compared, with its goals."""
    heads = "".join(f"{what:>20}" for what in _SUMMED_UP)
    yield f"{'medians of ratios':<72}{'n':>3}{heads}  goals"
    for case, runs in _by_case(made).items():
        for name in _by_scheduler(case, runs):
            repeats = len(ratios(case, runs, name, RATIOS["pods/s"]))
            if name == case.baseline or not repeats:
                continue
            shown = [f"{_ratio(case, runs, name, RATIOS[what]):>20}" for what in _SUMMED_UP]
            told = ", ".join(_told_goals(case, runs, name))
            yield f"{f'{case}: {name}':<72}{repeats:>3}{''.join(shown)}  {told}".rstrip()


def _told_goals(
    case: measurements.Case, runs: Sequence[measurements.Measurement], name: str
) -> Iterator[str]:
    for goal in goals.of(case, name):
        found = ratios(case, runs, name, RATIOS[goal.figure])
        if found:
            yield f"{goal} {'met' if goal.is_met(statistics.median(found)) else 'MISSED'}"


def _median(runs: Sequence[measurements.Measurement], value: Value) -> float:
    return statistics.median(value(one) for one in runs)
