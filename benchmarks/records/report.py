"""Measurements as tables of ratios, for a terminal."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator, Mapping

from benchmarks.comparison import estimates
from benchmarks.records import goals, measurements, ratios

_ARRIVES_IN_TIME = 0.95
_DISTURBED_SHARE = 0.05
"""Share of the machine above which a note reports other processes."""
_APART_SECONDS = 1800.0
"""Time between compared runs above which a note reports it: the machine may have changed."""
_SHORT_SECONDS = 2.0
"""Duration of a backlog below which a note reports it: half of it may be one pause."""
_SUMMARY_FIGURES = (
    ratios.PODS,
    ratios.TOLD,
    ratios.CPU,
    ratios.CPU_WITH_START,
    ratios.CPU_OF_ALL,
    ratios.MEMORY,
    ratios.P99,
)

_LEGEND = """
pods/s     bindings per second, from the first (with preemption: from the first victim) to the last:
           median, smallest and largest of all runs
told/s     bindings per second, until the last event was written
CPU ms     of the scheduler per pod, from the first binding to the last event (CPU without start);
           with start: since its process was started; servers: of kube-apiserver and etcd; on a busy
           machine the ratio of both together (CPU of all) determines the ratio of pods/s
p50, p99   ms until pods were bound: from the due time of an arriving pod, or from the start of the
           scheduler for a pod of a backlog
start s    from the start of the process to the first binding; only CPU with start and the waits of
           a backlog include it
cpu, mem   requested shares of the nodes: standard deviation and maximum
points     quality of a placement, 0 to 100 (benchmarks/comparison/quality.py); broken: rules
           that the final state violates
others     share of the machine's CPU time that other processes used meanwhile
stolen     share that a hypervisor gave to other virtual machines, if the hypervisor reports it
goals      for medians of three runs; if there are fewer, their number is added\
"""


@dataclasses.dataclass(frozen=True)
class _Column:
    """A figure of a run: heading, width, format, and the function that computes it."""

    head: str
    width: int
    form: str
    value: ratios.Value


_COLUMNS = (
    _Column("told/s", 8, ".0f", ratios.FIGURES[ratios.TOLD]),
    _Column("CPU ms", 8, ".2f", lambda run: 1000 * run.cpu_seconds / run.bound),
    _Column("with start", 12, ".2f", lambda run: 1000 * run.total_cpu_seconds / run.bound),
    _Column("servers", 8, ".2f", lambda run: 1000 * run.server_cpu_seconds / run.bound),
    _Column("MiB", 6, ".0f", lambda run: run.peak_memory_mib),
    _Column("p50", 7, ".0f", lambda run: run.latency.p50_ms),
    _Column("p99", 7, ".0f", lambda run: run.latency.p99_ms),
    _Column("start s", 8, ".1f", lambda run: run.start_seconds),
    _Column("cpu std", 8, ".4f", lambda run: run.quality.cpu_std),
    _Column("max", 6, ".2f", lambda run: run.quality.cpu_max),
    _Column("mem std", 8, ".4f", lambda run: run.quality.memory_std),
    _Column("max", 6, ".2f", lambda run: run.quality.memory_max),
    _Column("points", 7, ".2f", lambda run: run.quality.score / run.bound),
    _Column("broken", 7, ".0f", lambda run: run.quality.broken_rules),
    _Column("others", 7, ".0%", lambda run: run.others_share),
    _Column("stolen", 7, ".0%", lambda run: run.known_stolen_share),
)


def text(all_runs: ratios.Runs, excluded: Mapping[str, int] | None = None) -> str:
    """Return a table for each case with ratios below, and a table of all ratios.

    Args:
        all_runs: the runs to show.
        excluded: number of excluded runs by reason.
    """
    notes = list(format_excluded(excluded or {}))
    if not all_runs:
        return "\n".join(["nothing has been measured", *notes])
    lines = []
    for case, runs in ratios.by_case(all_runs).items():
        lines += [*_format_case(case, runs), ""]
    return "\n".join([*lines, *_format_summary(all_runs), _LEGEND, *notes])


def format_excluded(excluded: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each reason for which runs of the file are excluded."""
    for reason, count in excluded.items():
        yield f"excluded: {count} {'run' if count == 1 else 'runs'} {reason}"
    if excluded:
        yield "          `--report --all-versions` also shows them"


def _format_case(case: measurements.Case, runs: ratios.Runs) -> Iterator[str]:
    yield str(case)
    heads = "".join(f"{column.head:>{column.width}}" for column in _COLUMNS)
    yield f"  {'':<28}{'runs':>4}{'pods/s':>8}{'min-max':>12}{heads}"
    for name, own in ratios.by_scheduler(case, runs).items():
        speeds = [run.pods_per_second for run in own]
        spread = f"{min(speeds):.0f}-{max(speeds):.0f}"
        cells = "".join(
            f"{_compute_cell(column, own):>{column.width}{column.form}}" for column in _COLUMNS
        )
        yield f"  {name:<28}{len(own):>4}{statistics.median(speeds):>8.0f}{spread:>12}{cells}"
    for note in notes(case, runs):
        yield f"  {note}"
    for pair in ratios.pairs_of_case(case, runs):
        shown = [f"{figure} {format_ratio(pair, figure)}" for figure in ratios.FIGURES]
        yield f"  {pair.scheduler} / {pair.baseline}: {', '.join(shown[:5])},"
        yield f"    {', '.join(shown[5:])}"


def _compute_cell(column: _Column, own: ratios.Runs) -> float:
    """Return the median; for broken rules the maximum, so that none is hidden."""
    if column.head == "broken":
        return max(column.value(run) for run in own)
    return ratios.median(own, column.value)


def notes(case: measurements.Case, runs: ratios.Runs) -> Iterator[str]:
    """Yield notes about the reliability of the figures."""
    slowest = min(run.arrived_per_second for run in runs)
    if slowest < _ARRIVES_IN_TIME * case.arrivals_per_second:
        yield f"the machine was too busy for the rate: pods arrived at {slowest:.0f}/s"
    for name, own in ratios.by_scheduler(case, runs).items():
        shortest = min(run.bind_seconds for run in own)
        if case.arrivals_per_second:
            late = max(run.sent_late_p99_ms for run in own)
            yield f"{name}: pods were sent {late:.0f} ms late (p99); waits include this delay"
        elif shortest < _SHORT_SECONDS:
            yield f"{name} was measured for only {shortest:.1f} s; use more pods"
        others = max(run.others_share for run in own)
        if others > _DISTURBED_SHARE:
            yield f"{name}: other processes used up to {others:.0%} of the machine in a run"
        stolen = max(run.stolen_share or 0.0 for run in own)
        if stolen > _DISTURBED_SHARE:
            yield f"{name}: other machines got up to {stolen:.0%} of the processors in a run"
        turns = [run.churn_turns for run in own]
        if any(turns):
            count = f"{min(turns)} to {max(turns)}" if min(turns) < max(turns) else f"{turns[0]}"
            yield f"{name} met {count} cycles of churn"
    for pair in ratios.pairs_of_case(case, runs):
        apart = pair.most_seconds_apart()
        if apart > _APART_SECONDS:
            time = estimates.duration(apart)
            yield f"{pair.scheduler}: up to {time} between its run and that of {pair.baseline}"


def format_ratio(pair: ratios.Pair, figure: str) -> str:
    """Return `median (smallest-largest)` of the ratios, or "" if the baseline's figure is 0."""
    pair_ratios = pair.ratios(figure)
    if not pair_ratios:
        return ""
    return f"{statistics.median(pair_ratios):.2f} ({min(pair_ratios):.2f}-{max(pair_ratios):.2f})"


def _format_summary(all_runs: ratios.Runs) -> Iterator[str]:
    """Yield a line with ratios and goals for each compared pair."""
    heads = "".join(f"{figure:>20}" for figure in _SUMMARY_FIGURES)
    yield f"{'medians of ratios':<72}{'n':>3}{heads}{'broken':>8}  goals"
    for pair in ratios.pairs(all_runs):
        shown = "".join(f"{format_ratio(pair, figure):>20}" for figure in _SUMMARY_FIGURES)
        broken = f"{ratios.broken_rules(pair.runs):>8}"
        verdicts = ", ".join(_format_goals(pair))
        yield f"{_format_pair(pair):<72}{pair.repeats:>3}{shown}{broken}  {verdicts}".rstrip()
    broken_rules = ratios.broken_rules(all_runs)
    if broken_rules:
        yield f"RULES BROKEN: {broken_rules} in all runs together"


def _format_pair(pair: ratios.Pair) -> str:
    beside = f" / {pair.baseline}" if pair.is_beside_base else ""
    return f"{pair.case}: {pair.scheduler}{beside}"


def _format_goals(pair: ratios.Pair) -> Iterator[str]:
    for goal in goals.of(pair):
        pair_ratios = pair.ratios(goal.figure)
        if pair_ratios:
            yield f"{goal.figure} {goal.verdict(pair_ratios)}"
