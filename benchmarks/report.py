"""Measurements as tables of ratios, for a terminal."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping

from benchmarks import estimates, goals, measurements, ratios

_ARRIVES_IN_TIME = 0.95
_DISTURBED_SHARE = 0.05
"""Of the machine, from which on other processes may have decided."""
_APART_SECONDS = 1800.0
"""Between runs that are compared, from which on the machine may have been another one."""
_SHORT_SECONDS = 2.0
"""A backlog that is bound in less says little: a pause of the machine may be half of it."""
_SUMMED_UP = (
    ratios.PODS,
    ratios.TOLD,
    ratios.CPU,
    ratios.CPU_WITH_START,
    ratios.CPU_OF_ALL,
    ratios.MEMORY,
    ratios.P99,
)

_LEGEND = """
pods/s     bindings a second, from the first (with preemption: from the first victim) to the last:
           median, smallest and largest of all runs
told/s     the same until the last event was written
CPU ms     of the scheduler for each pod, from the first binding to the last event (CPU without
           start); with start: since its process was started; servers: of kube-apiserver and etcd;
           where the machine is busy, the ratio of both together (CPU of all) sets that of pods/s
p50, p99   ms until pods were bound: arriving pods from when they were due, those of a backlog from
           the start of the scheduler
start s    from the start of the process to the first binding, which nothing else but CPU with
           start and the waits of a backlog counts
cpu, mem   shares of nodes that pods request: standard deviation and largest of all nodes
points     how well a pod is placed, 0 to 100 (benchmarks/quality.py); broken: rules in the end
others     what other processes took of the machine's CPU time meanwhile
stolen     what a hypervisor took of it for other virtual machines, as far as it tells
goals      of medians of three runs; with fewer it is said how many there are\
"""


@dataclasses.dataclass(frozen=True)
class _Column:
    """A figure of a run: its head, its width, how it is shown and where it comes from."""

    head: str
    width: int
    form: str
    value: ratios.Value


_COLUMNS = (
    _Column("told/s", 8, ".0f", ratios.FIGURES[ratios.TOLD]),
    _Column("CPU ms", 8, ".2f", lambda one: 1000 * one.cpu_seconds / one.bound),
    _Column("with start", 12, ".2f", lambda one: 1000 * one.total_cpu_seconds / one.bound),
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
    _Column("stolen", 7, ".0%", lambda one: one.known_stolen_share),
)


def text(made: ratios.Runs, left_out: Mapping[str, int] | None = None) -> str:
    """Return a table for each case with ratios below, and one of all ratios.

    Args:
        made: what is shown.
        left_out: how many runs are not, by the reason.
    """
    notes = list(left_out_notes(left_out or {}))
    if not made:
        return "\n".join(["nothing has been measured", *notes])
    lines = []
    for case, runs in ratios.by_case(made).items():
        lines += [*_case_lines(case, runs), ""]
    return "\n".join([*lines, *_summary(made), _LEGEND, *notes])


def left_out_notes(left_out: Mapping[str, int]) -> Iterator[str]:
    """Give a line for each reason why runs of the file are not shown."""
    for reason, count in left_out.items():
        yield f"left out: {count} {'run' if count == 1 else 'runs'} {reason}"
    if left_out:
        yield "          `--report --all-versions` shows runs whatever they were made with"


def _case_lines(case: measurements.Case, runs: ratios.Runs) -> Iterator[str]:
    yield str(case)
    heads = "".join(f"{column.head:>{column.width}}" for column in _COLUMNS)
    yield f"  {'':<28}{'runs':>4}{'pods/s':>8}{'min-max':>12}{heads}"
    for name, own in ratios.by_scheduler(case, runs).items():
        speeds = [one.pods_per_second for one in own]
        spread = f"{min(speeds):.0f}-{max(speeds):.0f}"
        cells = "".join(f"{_cell(column, own):>{column.width}{column.form}}" for column in _COLUMNS)
        yield f"  {name:<28}{len(own):>4}{statistics.median(speeds):>8.0f}{spread:>12}{cells}"
    for note in notes(case, runs):
        yield f"  {note}"
    for pair in ratios.pairs_of_case(case, runs):
        shown = [f"{what} {ratio(pair, what)}" for what in ratios.FIGURES]
        yield f"  {pair.scheduler} / {pair.baseline}: {', '.join(shown[:5])},"
        yield f"    {', '.join(shown[5:])}"


def _cell(column: _Column, own: ratios.Runs) -> float:
    """Return the median, and of broken rules the most, for none may be hidden."""
    if column.head == "broken":
        return max(column.value(one) for one in own)
    return ratios.median(own, column.value)


def notes(case: measurements.Case, runs: ratios.Runs) -> Iterator[str]:
    """Give what a reader has to know before believing the figures."""
    slowest = min(one.arrived_per_second for one in runs)
    if slowest < _ARRIVES_IN_TIME * case.arrivals_per_second:
        yield f"the machine was too busy for the rate: pods came at {slowest:.0f}/s"
    for name, own in ratios.by_scheduler(case, runs).items():
        shortest = min(one.bind_seconds for one in own)
        if case.arrivals_per_second:
            late = max(one.sent_late_p99_ms for one in own)
            yield f"{name}: pods were sent {late:.0f} ms late (p99), which waits include"
        elif shortest < _SHORT_SECONDS:
            yield f"{name} was measured for {shortest:.1f} s only: more pods would say more"
        others = max(one.others_share for one in own)
        if others > _DISTURBED_SHARE:
            yield f"{name}: other processes took up to {others:.0%} of the machine in a run"
        stolen = max(one.stolen_share or 0.0 for one in own)
        if stolen > _DISTURBED_SHARE:
            yield f"{name}: other machines got up to {stolen:.0%} of the processors in a run"
        turns = [one.churn_turns for one in own]
        if any(turns):
            told = f"{min(turns)} to {max(turns)}" if min(turns) < max(turns) else f"{turns[0]}"
            yield f"{name} met {told} turns of churn"
    for pair in ratios.pairs_of_case(case, runs):
        apart = pair.most_seconds_apart()
        if apart > _APART_SECONDS:
            told = estimates.duration(apart)
            yield f"{pair.scheduler}: up to {told} lie between its run and that of {pair.baseline}"


def ratio(pair: ratios.Pair, figure: str) -> str:
    """Return `median (smallest-largest)` of the ratios, or "" if the baseline's figure is 0."""
    found = pair.ratios(figure)
    if not found:
        return ""
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})"


def _summary(made: ratios.Runs) -> Iterator[str]:
    """Give a line for each case and scheduler that has been compared, with its goals."""
    heads = "".join(f"{what:>20}" for what in _SUMMED_UP)
    yield f"{'medians of ratios':<72}{'n':>3}{heads}{'broken':>8}  goals"
    for pair in ratios.pairs(made):
        shown = "".join(f"{ratio(pair, what):>20}" for what in _SUMMED_UP)
        broken = f"{ratios.broken_rules(pair.runs):>8}"
        told = ", ".join(_told_goals(pair))
        yield f"{_name(pair):<72}{pair.repeats:>3}{shown}{broken}  {told}".rstrip()
    broken_rules = ratios.broken_rules(made)
    if broken_rules:
        yield f"RULES BROKEN: {broken_rules} in all runs together, which no speed is worth"


def _name(pair: ratios.Pair) -> str:
    beside = f" / {pair.baseline}" if pair.is_beside_base else ""
    return f"{pair.case}: {pair.scheduler}{beside}"


def _told_goals(pair: ratios.Pair) -> Iterator[str]:
    for goal in goals.of(pair):
        found = pair.ratios(goal.figure)
        if found:
            yield f"{goal.figure} {goal.verdict(found)}"
