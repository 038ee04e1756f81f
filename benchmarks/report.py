"""Measurements as a table of ratios, and as JSON."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence

import orjson

from benchmarks import comparison, schedulers

_HEADER = (
    f"{'workload':<10}{'nodes':>7}{'pods':>7}  {'scheduler':<16}{'pods/s':>9}{'spread':>15}"
    f"{'ms CPU/pod':>12}{'of server':>10}{'MiB':>7}{'start s':>9}{'events +s':>10}"
)


def text(measurements: Sequence[comparison.Measurement]) -> str:
    """Return a table: one line a scheduler and case, medians over the repeats, then ratios."""
    return "\n".join(_lines(measurements))


def json(measurements: Sequence[comparison.Measurement]) -> bytes:
    """Return every measurement."""
    return orjson.dumps(
        [dataclasses.asdict(one) for one in measurements], option=orjson.OPT_INDENT_2
    )


def _lines(measurements: Sequence[comparison.Measurement]) -> Iterator[str]:
    yield _HEADER
    for case, of_case in itertools.groupby(measurements, lambda one: one.case):
        by_scheduler: dict[str, list[comparison.Measurement]] = {}
        for one in of_case:
            by_scheduler.setdefault(one.scheduler, []).append(one)
        for name, runs in by_scheduler.items():
            yield _scheduler_line(case, name, runs)
        ratios = _ratios(by_scheduler, lambda one: one.pods_per_second)
        if ratios:
            yield (
                f"{'':26}policysched / kube-scheduler: {statistics.median(ratios):.2f}"
                f" ({min(ratios):.2f}-{max(ratios):.2f})"
            )


def _scheduler_line(
    case: comparison.Case, name: str, runs: Sequence[comparison.Measurement]
) -> str:
    speeds = [one.pods_per_second for one in runs]
    spread = f"{min(speeds):.0f}-{max(speeds):.0f}"
    cpu_milliseconds = _median(runs, lambda one: 1000 * one.cpu_seconds / case.pods)
    server_milliseconds = _median(runs, lambda one: 1000 * one.server_cpu_seconds / case.pods)
    return (
        f"{case.workload:<10}{case.nodes:>7}{case.pods:>7}  {name:<16}"
        f"{statistics.median(speeds):>9.0f}{spread:>15}{cpu_milliseconds:>12.2f}"
        f"{server_milliseconds:>10.2f}"
        f"{_median(runs, lambda one: one.peak_memory_mib):>7.0f}"
        f"{_median(runs, lambda one: one.start_seconds):>9.1f}"
        f"{_median(runs, lambda one: one.events_behind_seconds):>10.1f}"
    )


def _median(
    runs: Sequence[comparison.Measurement], value: Callable[[comparison.Measurement], float]
) -> float:
    return statistics.median(value(one) for one in runs)


def _ratios(
    by_scheduler: dict[str, list[comparison.Measurement]],
    value: Callable[[comparison.Measurement], float],
) -> list[float]:
    """Return policysched's value over kube-scheduler's, one ratio a repeat."""
    ours = by_scheduler.get(schedulers.POLICYSCHED, [])
    theirs = by_scheduler.get(schedulers.KUBE_SCHEDULER, [])
    by_repeat = {one.repeat: value(one) for one in theirs}
    return [value(one) / by_repeat[one.repeat] for one in ours if one.repeat in by_repeat]
